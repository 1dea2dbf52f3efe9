/** Route definitions of users, login and password reset. Plain values; no server code. */
import { defineRoute } from "../../platform/contract/route.js";
import { IdParams } from "../../platform/contract/schemas.js";
import { RequestResetBody, ResetBody, ResetParams } from "../tenants/invitation-schemas.js";
import {
  AuthenticateBody,
  Authenticated,
  CreateUserBody,
  DeleteUserBody,
  UpdateUserBody,
  User,
  UserDetail,
  UserList,
  UserQuery,
} from "../schemas.js";

/** Bodies of public routes hold a few short texts. */
const CREDENTIAL_BODY_BYTES_MAX = 8 * 1024;
/** More JSON tokens than the largest valid body of these routes has; bounds the work of the parser. */
const CREDENTIAL_JSON_TOKENS_MAX = 64;

const EXAMPLE_EMAIL = "ada@example.com";
const EXAMPLE_PASSWORD = "a long phrase of my own";

const credentials = {
  area: "identity",
  bodyBytesMax: CREDENTIAL_BODY_BYTES_MAX,
  jsonTokensMax: CREDENTIAL_JSON_TOKENS_MAX,
} as const;

const EXAMPLE_USER = {
  id: "50b31e9f-d969-42c2-9462-d05bb1ddf1fd",
  created_at: "2026-11-23T06:51:29.586Z",
  name: "Ada Lovelace",
  first_name: "Ada",
  last_name: "Lovelace",
  email: EXAMPLE_EMAIL,
  permissions: 983455,
  privacy_policy_agreed_at: null,
  terms_of_service_agreed_at: null,
} as const;

export const userRoutes = {
  /*
   * Takes no Idempotency-Key: the check would keep a fast hash of the body, and so of the password, for a day. The
   * unique e-mail address already makes a repeated request harmless (409).
   */
  createUser: defineRoute({
    ...credentials,
    id: "createUser",
    method: "POST",
    path: "/api/v1/users",
    summary: "Create a user",
    description: [
      "Needs no token. A second request with the same e-mail address gets 409.",
      "With the token of an application as bearer, the new user is a virtual user of this application: its address needs to be unique only within the application, and the password is optional. With `invitation_token` the new user also accepts the invitation. With the bootstrap token of a new installation as bearer the new user is the first administrator. Only administrators may send `permissions`.",
    ].join("\n\n"),
    auth: "public",
    body: CreateUserBody,
    responses: { 201: { description: "The user", schema: User } },
    errors: [
      "email_taken",
      "weak_password",
      "invalid_email",
      "too_many_requests",
      "invitation_invalid",
      "permission_escalation",
      "unauthorized",
      "forbidden",
    ],
    example: {
      body: { email: EXAMPLE_EMAIL, first_name: "Ada", last_name: "Lovelace", password: EXAMPLE_PASSWORD },
      answer: EXAMPLE_USER,
    },
  }),
  authenticate: defineRoute({
    ...credentials,
    id: "authenticate",
    method: "POST",
    path: "/api/v1/authenticate",
    summary: "Log in with e-mail and password",
    description:
      "Returns the user and a bearer token. An unknown e-mail address and a wrong password get the same response. With the token of an application as bearer and without `password`, logs in one of its virtual users that has no password.",
    auth: "public",
    body: AuthenticateBody,
    responses: { 201: { description: "The user and a token", schema: Authenticated } },
    errors: [
      "invalid_credentials",
      "email_unconfirmed",
      "too_many_requests",
      "invitation_invalid",
      "unauthorized",
      "forbidden",
    ],
    example: {
      body: { email: EXAMPLE_EMAIL, password: EXAMPLE_PASSWORD, scope: "offline_access" },
      answer: {
        user: EXAMPLE_USER,
        token: {
          id: "cb65a01b-d609-40ef-8536-7d6e67b6f7ee",
          access_token: "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ1c2VyIn0.c2lnbmF0dXJl",
          expires_in: 900,
          permissions: 983455,
          refresh_token: "prt_zrKlzQfqwhBfM27ek4j36rY2C9jEwnxS2aBjiVTHRA03Ubt5p",
          scope: "offline_access",
        },
      },
    },
  }),
  listUsers: defineRoute({
    area: "identity",
    id: "listUsers",
    method: "GET",
    path: "/api/v1/users",
    summary: "List the users that the caller may see",
    description:
      "A user sees itself and the members of its organizations, an application or organization its members, and a holder of `user_list` or `sudo` all users.",
    auth: { permissions: ["read"] },
    query: UserQuery,
    list: true,
    responses: { 200: { description: "Users, oldest first", schema: UserList } },
  }),
  getUser: defineRoute({
    area: "identity",
    id: "getUser",
    method: "GET",
    path: "/api/v1/users/:id",
    summary: "Get a user with metadata",
    auth: { permissions: ["read"] },
    params: IdParams,
    responses: { 200: { description: "The user", schema: UserDetail } },
    errors: ["not_found"],
  }),
  updateUser: defineRoute({
    ...credentials,
    id: "updateUser",
    method: "PUT",
    path: "/api/v1/users/:id",
    summary: "Change a user",
    description:
      "Members that are absent stay as they are. A new password or e-mail address needs `current_password` or a login within the last five minutes. A new password and new permissions void every token of the user. Only administrators may change `permissions`. The address from before the change is told by mail of a new password or address. Where the server requires confirmed addresses, a user's own new address takes effect when it is confirmed.",
    auth: { permissions: ["update"] },
    params: IdParams,
    body: UpdateUserBody,
    sendsBack: UserDetail,
    responses: { 204: { description: "Changed" } },
    errors: [
      "not_found",
      "email_taken",
      "weak_password",
      "invalid_email",
      "permission_escalation",
      "invalid_credentials",
      "too_many_requests",
    ],
    example: { body: {} },
  }),
  deleteUser: defineRoute({
    ...credentials,
    id: "deleteUser",
    method: "DELETE",
    path: "/api/v1/users/:id",
    summary: "Delete a user and everything that only it owns",
    description:
      "A user may delete itself, an application its virtual users, and a holder of `user_delete` or `sudo` anyone. A user who deletes itself with a personal access token, or with a token that an OAuth client holds, sends `current_password`, or logs in and uses that token. 503 while the vault is sealed.",
    auth: { permissions: ["delete"] },
    params: IdParams,
    body: DeleteUserBody,
    bodyOptional: true,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found", "permission_escalation", "invalid_credentials", "too_many_requests", "vault_sealed"],
    example: { body: {} },
  }),
  requestPasswordReset: defineRoute({
    ...credentials,
    id: "requestPasswordReset",
    method: "POST",
    path: "/api/v1/reset_password",
    summary: "Request a mail to reset the password",
    description: "The response is 204 whether there is such an account or not.",
    auth: "public",
    body: RequestResetBody,
    responses: { 204: { description: "A mail is sent if the address has an account" } },
    errors: ["too_many_requests"],
    example: { body: { email: EXAMPLE_EMAIL } },
  }),
  resetPassword: defineRoute({
    ...credentials,
    id: "resetPassword",
    method: "POST",
    path: "/api/v1/reset_password/:token",
    summary: "Set a new password with the token from the mail",
    description:
      "The token is good once, for an hour, and until a newer one is made. Every other token of the account is void afterwards.",
    auth: "public",
    params: ResetParams,
    body: ResetBody,
    responses: { 204: { description: "The password is set" } },
    errors: ["reset_token_invalid", "weak_password", "too_many_requests"],
    example: { body: { password: EXAMPLE_PASSWORD } },
  }),
  requestEmailConfirmation: defineRoute({
    ...credentials,
    id: "requestEmailConfirmation",
    method: "POST",
    path: "/api/v1/confirm_email",
    summary: "Request a mail to confirm the e-mail address",
    description: "The response is 204 whether there is such an account or not, and whether it is confirmed or not.",
    auth: "public",
    body: RequestResetBody,
    responses: { 204: { description: "A mail is sent if an account has this address and has not confirmed it" } },
    errors: ["too_many_requests"],
    example: { body: { email: EXAMPLE_EMAIL } },
  }),
  confirmEmail: defineRoute({
    ...credentials,
    id: "confirmEmail",
    method: "POST",
    path: "/api/v1/confirm_email/:token",
    summary: "Confirm the e-mail address with the token from the mail",
    description:
      "The token is good once, for a day, until a newer one is made, and until the password changes. `email_verified` is true afterwards; a new address that waited for its confirmation takes effect.",
    auth: "public",
    params: ResetParams,
    responses: { 204: { description: "The address is confirmed" } },
    errors: ["confirmation_token_invalid", "email_taken", "too_many_requests"],
  }),
} as const;
