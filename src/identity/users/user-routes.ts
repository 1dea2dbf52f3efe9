/** Route definitions of users, login and password reset. Plain values; no server code. */
import { defineRoute } from "../../platform/contract/route.js";
import { IdParams } from "../../platform/contract/schemas.js";
import { RequestResetBody, ResetBody, ResetParams } from "../tenants/invitation-schemas.js";
import {
  AuthenticateBody,
  Authenticated,
  CreateUserBody,
  UpdateUserBody,
  User,
  UserDetail,
  UserList,
  UserQuery,
} from "../schemas.js";

/** Bodies of public routes hold a handful of short texts. */
const CREDENTIAL_BODY_BYTES_MAX = 8 * 1024;
/** More tokens than the largest sound body of these routes has, few enough to bound a parser. */
const CREDENTIAL_JSON_TOKENS_MAX = 64;

const EXAMPLE_EMAIL = "ada@example.com";
const EXAMPLE_PASSWORD = "a long phrase of my own";

const credentials = {
  area: "identity",
  bodyBytesMax: CREDENTIAL_BODY_BYTES_MAX,
  jsonTokensMax: CREDENTIAL_JSON_TOKENS_MAX,
} as const;

export const userRoutes = {
  /*
   * Takes no Idempotency-Key: the hash of this body that a replay check would keep for a day is a fast hash over a
   * password. The unique e-mail already makes a repeat harmless (409).
   */
  createUser: defineRoute({
    ...credentials,
    id: "createUser",
    method: "POST",
    path: "/api/v1/users",
    summary: "Create a user",
    description: [
      "Needs no token. The status code is not shown in the specification; 201 is used. A repeat with the same e-mail answers 409.",
      "With the token of an application as bearer: a virtual user of that application, whose addresses are a namespace of their own and who may do without a password. With `invitation_token`: the invitation is accepted. With the one-use token of a new installation as bearer: the first administrator. `permissions` are for administrators.",
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
    example: { body: { email: EXAMPLE_EMAIL, first_name: "Ada", last_name: "Lovelace", password: EXAMPLE_PASSWORD } },
  }),
  authenticate: defineRoute({
    ...credentials,
    id: "authenticate",
    method: "POST",
    path: "/api/v1/authenticate",
    summary: "Log in with e-mail and password",
    description:
      "How a bearer token is obtained is not shown in the specification. An unknown e-mail and a wrong password get the same answer. With the token of an application as bearer and no password: logs in one of its virtual users that has none.",
    auth: "public",
    body: AuthenticateBody,
    responses: { 201: { description: "The user and a token", schema: Authenticated } },
    errors: ["invalid_credentials", "too_many_requests", "invitation_invalid", "unauthorized", "forbidden"],
    example: { body: { email: EXAMPLE_EMAIL, password: EXAMPLE_PASSWORD, scope: "offline_access" } },
  }),
  listUsers: defineRoute({
    area: "identity",
    id: "listUsers",
    method: "GET",
    path: "/api/v1/users",
    summary: "List users within the authorized scope",
    description:
      "An ordinary user sees itself and the members of its organizations, an application or organization its members, a holder of `user_list` or `sudo` all.",
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
      "Updatable members are not shown in the specification. A new password or address needs `current_password` or a login of the last five minutes; a new password or new permissions void every token of the user. `permissions` are for administrators.",
    auth: { permissions: ["update"] },
    params: IdParams,
    body: UpdateUserBody,
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
    area: "identity",
    id: "deleteUser",
    method: "DELETE",
    path: "/api/v1/users/:id",
    summary: "Delete a user and what it alone owns",
    description:
      "Itself, an application's own user, or anyone for `user_delete` and `sudo`. 503 while the vault is sealed.",
    auth: { permissions: ["delete"] },
    params: IdParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found", "vault_sealed"],
  }),
  requestPasswordReset: defineRoute({
    ...credentials,
    id: "requestPasswordReset",
    method: "POST",
    path: "/api/v1/reset_password",
    summary: "Ask for a mail to reset the password",
    description: "Answers 204 whether there is such an account or not.",
    auth: "public",
    body: RequestResetBody,
    responses: { 204: { description: "A mail is on its way if the address has an account" } },
    errors: ["too_many_requests"],
    example: { body: { email: EXAMPLE_EMAIL } },
  }),
  resetPassword: defineRoute({
    ...credentials,
    id: "resetPassword",
    method: "POST",
    path: "/api/v1/reset_password/:token",
    summary: "Choose a new password with the token of the mail",
    description: "The token is good once, for an hour. Every token of the account is void afterwards.",
    auth: "public",
    params: ResetParams,
    body: ResetBody,
    responses: { 204: { description: "The password is set" } },
    errors: ["reset_token_invalid", "weak_password", "too_many_requests"],
    example: { body: { password: EXAMPLE_PASSWORD } },
  }),
} as const;
