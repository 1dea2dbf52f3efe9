/** Route definitions of the device flow (RFC 8628). Plain values; no server code. */
import { defineRoute } from "../../../platform/contract/route.js";
import { EXAMPLE_ID, HTML, OAUTH_ERRORS, OAUTH_FAILURES, OAUTH_FORM } from "../oauth-form-schemas.js";
import { DeviceAuthorizationAnswer, DeviceAuthorizationForm, DeviceForm, DeviceQuery } from "./device-schemas.js";

export const deviceRoutes = {
  authorizeDevice: defineRoute({
    ...OAUTH_FORM,
    oauthErrors: OAUTH_ERRORS,
    id: "authorizeDevice",
    path: "/api/v1/oauth/device_authorization",
    summary: "Get the codes with which a device or command line waits for a user (RFC 8628)",
    description:
      "The client must have `device_flow` set. The program shows `user_code` and `verification_uri`, and asks the token route with the grant type `urn:ietf:params:oauth:grant-type:device_code` every `interval` seconds.",
    body: DeviceAuthorizationForm,
    bodyOptional: true,
    responses: { 200: { description: "The codes", schema: DeviceAuthorizationAnswer }, ...OAUTH_FAILURES },
    errors: ["too_many_requests"],
    example: { body: { client_id: EXAMPLE_ID, scope: "openid offline_access read" } },
  }),
  showDevice: defineRoute({
    area: "identity",
    id: "showDevice",
    method: "GET",
    path: "/device",
    summary: "Show the page on which a user connects a device",
    auth: "public",
    query: DeviceQuery,
    responses: {
      200: { description: "A form: for the code, or for the decision about the device that has it", bytes: HTML },
      404: { description: "The form for the code again: this one is not good", bytes: HTML },
    },
    errors: ["too_many_requests"],
  }),
  decideDevice: defineRoute({
    ...OAUTH_FORM,
    id: "decideDevice",
    path: "/device",
    summary: "Submit the form on which a user allows or denies a device",
    description: "Has the same limits on failed logins as POST /authenticate, and a limit on codes.",
    body: DeviceForm,
    responses: {
      200: { description: "A page that says what was decided", bytes: HTML },
      401: { description: "The form again: wrong e-mail address or password, or an unconfirmed address", bytes: HTML },
      404: { description: "The form for the code again: this one is not good", bytes: HTML },
    },
    errors: ["email_unconfirmed", "too_many_requests"],
    example: {
      body: {
        user_code: "WDJB-MJHT",
        email: "ada@example.com",
        password: "a long phrase of my own",
        decision: "allow",
      },
    },
  }),
} as const;
