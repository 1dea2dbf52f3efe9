/** Users, applications, organizations, tokens, invitations, the audit log. */
import type { Calls } from "../calls.js";
import type { BodyAt, FiltersAt } from "../endpoints.js";
import type { CallOptions } from "../transport.js";

/** Users. */
export function userCalls(calls: Calls) {
  return {
    /** Creates a user; needs no token. */
    create: (body: BodyAt<"POST /api/v1/users">, options?: CallOptions) =>
      calls.json("POST /api/v1/users", { body }, options),
    /** Reads a user. */
    get: (id: string, options?: CallOptions) => calls.json("GET /api/v1/users/:id", { params: { id } }, options),
    /** Lists the users that the caller may see. */
    list: (query?: FiltersAt<"GET /api/v1/users">, options?: CallOptions) =>
      calls.list("GET /api/v1/users", { ...(query && { query }) }, options),
    /** Changes a user. */
    update: (id: string, body: BodyAt<"PUT /api/v1/users/:id">, options?: CallOptions) =>
      calls.json("PUT /api/v1/users/:id", { params: { id }, body }, options),
    /** Deletes a user. */
    delete: (id: string, body?: BodyAt<"DELETE /api/v1/users/:id">, options?: CallOptions) =>
      calls.json("DELETE /api/v1/users/:id", { params: { id }, ...(body && { body }) }, options),
  };
}

/** Logging in, passwords and e-mail addresses. None of these needs a token. */
export function authCalls(calls: Calls) {
  return {
    /** Logs in; answers the user and a token. */
    login: (body: BodyAt<"POST /api/v1/authenticate">, options?: CallOptions) =>
      calls.json("POST /api/v1/authenticate", { body }, options),
    /** Mails a token to reset a password. */
    requestPasswordReset: (body: BodyAt<"POST /api/v1/reset_password">, options?: CallOptions) =>
      calls.json("POST /api/v1/reset_password", { body }, options),
    /** Sets a password with a mailed token. */
    resetPassword: (token: string, body: BodyAt<"POST /api/v1/reset_password/:token">, options?: CallOptions) =>
      calls.json("POST /api/v1/reset_password/:token", { params: { token }, body }, options),
    /** Mails a token to confirm an address. */
    requestEmailConfirmation: (body: BodyAt<"POST /api/v1/confirm_email">, options?: CallOptions) =>
      calls.json("POST /api/v1/confirm_email", { body }, options),
    /** Confirms an address with a mailed token. */
    confirmEmail: (token: string, options?: CallOptions) =>
      calls.json("POST /api/v1/confirm_email/:token", { params: { token } }, options),
  };
}

/** Applications. */
export function applicationCalls(calls: Calls) {
  return {
    /** Makes an application. */
    create: (body: BodyAt<"POST /api/v1/applications">, options?: CallOptions) =>
      calls.create("POST /api/v1/applications", { body }, options),
    /** Reads an application. */
    get: (id: string, options?: CallOptions) => calls.json("GET /api/v1/applications/:id", { params: { id } }, options),
    /** Lists applications. */
    list: (query?: FiltersAt<"GET /api/v1/applications">, options?: CallOptions) =>
      calls.list("GET /api/v1/applications", { ...(query && { query }) }, options),
    /** Changes an application. */
    update: (id: string, body: BodyAt<"PUT /api/v1/applications/:id">, options?: CallOptions) =>
      calls.json("PUT /api/v1/applications/:id", { params: { id }, body }, options),
    /** Deletes an application. */
    delete: (id: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/applications/:id", { params: { id } }, options),
    /** Lists the users of an application. */
    users: (id: string, query?: FiltersAt<"GET /api/v1/applications/:id/users">, options?: CallOptions) =>
      calls.list("GET /api/v1/applications/:id/users", { params: { id }, ...(query && { query }) }, options),
    /** Adds a user. */
    addUser: (id: string, body: BodyAt<"POST /api/v1/applications/:id/users">, options?: CallOptions) =>
      calls.json("POST /api/v1/applications/:id/users", { params: { id }, body }, options),
    /** Removes a user. */
    removeUser: (id: string, userId: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/applications/:id/users/:user_id", { params: { id, user_id: userId } }, options),
    /** Lists the organizations of an application. */
    organizations: (
      id: string,
      query?: FiltersAt<"GET /api/v1/applications/:id/organizations">,
      options?: CallOptions,
    ) => calls.list("GET /api/v1/applications/:id/organizations", { params: { id }, ...(query && { query }) }, options),
    /** Lists the tokens of an application. */
    tokens: (id: string, query?: FiltersAt<"GET /api/v1/applications/:id/tokens">, options?: CallOptions) =>
      calls.list("GET /api/v1/applications/:id/tokens", { params: { id }, ...(query && { query }) }, options),
    /** Revokes the tokens of an application. */
    deleteTokens: (id: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/applications/:id/tokens", { params: { id } }, options),
    /** Reads the OAuth client of an application. */
    client: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/applications/:id/client", { params: { id } }, options),
    /** Sets the OAuth client of an application. */
    updateClient: (id: string, body: BodyAt<"PUT /api/v1/applications/:id/client">, options?: CallOptions) =>
      calls.json("PUT /api/v1/applications/:id/client", { params: { id }, body }, options),
    /** Removes the OAuth client of an application. */
    deleteClient: (id: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/applications/:id/client", { params: { id } }, options),
    /** Makes a secret for the OAuth client. */
    createClientSecret: (
      id: string,
      body?: BodyAt<"POST /api/v1/applications/:id/client/secret">,
      options?: CallOptions,
    ) => calls.json("POST /api/v1/applications/:id/client/secret", { params: { id }, ...(body && { body }) }, options),
  };
}

/** Organizations. */
export function organizationCalls(calls: Calls) {
  return {
    /** Makes an organization. */
    create: (body: BodyAt<"POST /api/v1/organizations">, options?: CallOptions) =>
      calls.create("POST /api/v1/organizations", { body }, options),
    /** Reads an organization. */
    get: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/organizations/:id", { params: { id } }, options),
    /** Lists organizations. */
    list: (query?: FiltersAt<"GET /api/v1/organizations">, options?: CallOptions) =>
      calls.list("GET /api/v1/organizations", { ...(query && { query }) }, options),
    /** Changes an organization. */
    update: (id: string, body: BodyAt<"PUT /api/v1/organizations/:id">, options?: CallOptions) =>
      calls.json("PUT /api/v1/organizations/:id", { params: { id }, body }, options),
    /** Deletes an organization. */
    delete: (id: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/organizations/:id", { params: { id } }, options),
    /** Lists the members of an organization. */
    users: (id: string, query?: FiltersAt<"GET /api/v1/organizations/:id/users">, options?: CallOptions) =>
      calls.list("GET /api/v1/organizations/:id/users", { params: { id }, ...(query && { query }) }, options),
    /** Adds a member. */
    addUser: (id: string, body: BodyAt<"POST /api/v1/organizations/:id/users">, options?: CallOptions) =>
      calls.json("POST /api/v1/organizations/:id/users", { params: { id }, body }, options),
    /** Changes what a member may do. */
    updateUser: (
      id: string,
      userId: string,
      body: BodyAt<"PUT /api/v1/organizations/:id/users/:user_id">,
      options?: CallOptions,
    ) => calls.json("PUT /api/v1/organizations/:id/users/:user_id", { params: { id, user_id: userId }, body }, options),
    /** Removes a member. */
    removeUser: (id: string, userId: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/organizations/:id/users/:user_id", { params: { id, user_id: userId } }, options),
    /** Lists the tokens of an organization. */
    tokens: (id: string, query?: FiltersAt<"GET /api/v1/organizations/:id/tokens">, options?: CallOptions) =>
      calls.list("GET /api/v1/organizations/:id/tokens", { params: { id }, ...(query && { query }) }, options),
    /** Revokes the tokens of an organization. */
    deleteTokens: (id: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/organizations/:id/tokens", { params: { id } }, options),
    /** Lists the open invitations of an organization. */
    invitations: (id: string, query?: FiltersAt<"GET /api/v1/organizations/:id/invitations">, options?: CallOptions) =>
      calls.list("GET /api/v1/organizations/:id/invitations", { params: { id }, ...(query && { query }) }, options),
  };
}

/** Tokens. */
export function tokenCalls(calls: Calls) {
  return {
    /** Makes a token, for oneself, an application or an organization. */
    create: (body: BodyAt<"POST /api/v1/tokens">, options?: CallOptions) =>
      calls.json("POST /api/v1/tokens", { body }, options),
    /** Makes a personal access token. */
    createPersonal: (body: BodyAt<"POST /api/v1/personal_tokens">, options?: CallOptions) =>
      calls.json("POST /api/v1/personal_tokens", { body }, options),
    /** Reads what is known of a token. */
    get: (id: string, options?: CallOptions) => calls.json("GET /api/v1/tokens/:id", { params: { id } }, options),
    /** Lists tokens. */
    list: (query?: FiltersAt<"GET /api/v1/tokens">, options?: CallOptions) =>
      calls.list("GET /api/v1/tokens", { ...(query && { query }) }, options),
    /** Revokes a token. */
    delete: (id: string, options?: CallOptions) => calls.json("DELETE /api/v1/tokens/:id", { params: { id } }, options),
    /** Revokes all tokens of the caller. */
    deleteAll: (query?: FiltersAt<"DELETE /api/v1/tokens">, options?: CallOptions) =>
      calls.json("DELETE /api/v1/tokens", { ...(query && { query }) }, options),
  };
}

/** Invitations. */
export function invitationCalls(calls: Calls) {
  return {
    /** Invites a person by e-mail. */
    create: (body: BodyAt<"POST /api/v1/invitations">, options?: CallOptions) =>
      calls.json("POST /api/v1/invitations", { body }, options),
    /** Lists the open invitations. */
    list: (query?: FiltersAt<"GET /api/v1/invitations">, options?: CallOptions) =>
      calls.list("GET /api/v1/invitations", { ...(query && { query }) }, options),
    /** Takes an invitation back. */
    delete: (id: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/invitations/:id", { params: { id } }, options),
  };
}

/** The audit log. */
export function auditCalls(calls: Calls) {
  return {
    /** Lists records, newest first. */
    list: (query?: FiltersAt<"GET /api/v1/audit">, options?: CallOptions) =>
      calls.list("GET /api/v1/audit", { ...(query && { query }) }, options),
    /** Exports records, one line of JSON each. */
    export: (query?: FiltersAt<"GET /api/v1/audit/export">, options?: CallOptions) =>
      calls.bytes("GET /api/v1/audit/export", { ...(query && { query }) }, options),
  };
}
