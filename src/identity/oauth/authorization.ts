/**
 * The OAuth authorization endpoint (RFC 6749 section 4.1): a user logs in and grants access, and the client gets a
 * code. Sends codes only to addresses that the client registered; keeps no session in the browser.
 */
import type { Principal } from "../../platform/auth/principal.js";
import type { Clock } from "../../platform/clock.js";
import { AppError, notFound } from "../../platform/errors.js";
import type { Login } from "../login/login.js";
import { loginPage, type LoginPage } from "../login/login-page.js";
import type { IdentityRepository } from "../repository.js";
import type { TenantRepository } from "../tenants/tenant-repository.js";
import { grantedClientScope } from "../tokens/scope.js";
import type { AuthorizationCodes } from "./authorization-codes.js";
import type { ClientRecord, Clients } from "./clients.js";
import type { AuthorizeFormInput, AuthorizeInput } from "./oauth-schemas.js";

export interface AuthorizationDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly clients: Clients;
  readonly codes: AuthorizationCodes;
  readonly login: Login;
  readonly clock: Clock;
  /** Verifies the bearer of a request. Throws `unauthorized`. */
  readonly authenticate: (token: string) => Principal | Promise<Principal>;
}

/** Either the address of the client to redirect to, or the page on which the user logs in (again). */
export type AuthorizationResult = { readonly location: string } | { readonly page: LoginPage };

export class Authorization {
  readonly #issuer: string;
  readonly #dependencies: AuthorizationDependencies;

  /** @param options.issuer `iss` of every redirect (RFC 9207) */
  constructor(options: { readonly issuer: string }, dependencies: AuthorizationDependencies) {
    this.#issuer = options.issuer;
    this.#dependencies = dependencies;
  }

  /**
   * Returns what a login page may show of a client.
   * @throws not_found for an application without redirect addresses
   */
  applicationDetails(id: string): { client_id: string; name: string; redirect_uris: string[] } {
    const client = this.#dependencies.clients.find(id);
    if (client === undefined || client.redirect_uris.length === 0) throw notFound("oauth client application");
    return { client_id: client.id, name: this.#nameOf(client), redirect_uris: [...client.redirect_uris] };
  }

  /**
   * Begins an authorization. With the token of a login as bearer the client gets its code at once; otherwise the user
   * gets the login page.
   * @throws invalid_request for an unregistered client or redirect address, which never gets a redirect; unauthorized
   *   or forbidden for a bearer that is not the token of a login
   */
  async begin(request: AuthorizeInput, bearer: string | undefined): Promise<AuthorizationResult> {
    const client = this.#clientOf(request);
    if (bearer !== undefined) return { location: await this.#locationForBearer(client, request, bearer) };
    if (request.prompt === "none") return { location: this.#errorLocation(request, "login_required") };
    return { page: this.#page(client, request) };
  }

  /**
   * Ends an authorization with what the user put into the form. A wrong password shows the form again.
   * @param address network address of the caller, for throttling
   * @throws too_many_requests; invalid_request as `begin` does
   */
  async submit(form: AuthorizeFormInput, address: string): Promise<AuthorizationResult> {
    const { login, clock } = this.#dependencies;
    const client = this.#clientOf(form);
    if (form.decision === "deny") return { location: this.#errorLocation(form, "access_denied") };
    try {
      const user = await login.check({ email: form.email, password: form.password }, address);
      return { location: await this.#codeLocation(client, form, { userId: user.id, passwordAtMs: clock.nowMs() }) };
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "invalid_credentials") throw error;
      return { page: this.#page(client, form, "The e-mail address or the password is wrong.") };
    }
  }

  #clientOf(request: AuthorizeInput): ClientRecord {
    const client = this.#dependencies.clients.find(request.client_id.toLowerCase());
    if (client?.redirect_uris.includes(request.redirect_uri) !== true) {
      throw new AppError("invalid_request", {
        message: "client_id, redirect_uri: no client is registered with this address",
      });
    }
    return client;
  }

  /** Accepts only the token of a login: a restricted one, or one that another client holds, was not given for this. */
  async #locationForBearer(client: ClientRecord, request: AuthorizeInput, bearer: string): Promise<string> {
    const principal = await this.#dependencies.authenticate(bearer);
    const session = this.#dependencies.repository.findSession(principal.subject, principal.sessionId)?.value;
    if (
      principal.subject.kind !== "user" ||
      session?.password_at_ms === undefined ||
      session.client_id !== undefined ||
      session.permissions_max !== undefined
    ) {
      throw new AppError("forbidden", { message: "an authorization needs the token of a login" });
    }
    const login = { userId: principal.subject.id, passwordAtMs: session.password_at_ms };
    return this.#codeLocation(client, request, login);
  }

  async #codeLocation(
    client: ClientRecord,
    request: AuthorizeInput,
    login: { readonly userId: string; readonly passwordAtMs: number },
  ): Promise<string> {
    const { codes, repository } = this.#dependencies;
    const epoch = repository.findState({ kind: "user", id: login.userId })?.value.epoch ?? 0;
    const code = await codes.issue({
      client,
      ...login,
      epoch,
      redirectUri: request.redirect_uri,
      codeChallenge: request.code_challenge,
      scope: grantedClientScope(request.scope),
      nonce: request.nonce,
    });
    return this.#redirectLocation(request, { code });
  }

  #errorLocation(request: AuthorizeInput, error: string): string {
    return this.#redirectLocation(request, { error });
  }

  /** The client's address with the result; `iss` by RFC 9207. */
  #redirectLocation(request: AuthorizeInput, result: Readonly<Record<string, string>>): string {
    const url = new URL(request.redirect_uri);
    for (const [name, value] of Object.entries(result)) url.searchParams.set(name, value);
    if (request.state !== undefined) url.searchParams.set("state", request.state);
    url.searchParams.set("iss", this.#issuer);
    return url.href;
  }

  #page(client: ClientRecord, request: AuthorizeInput, message?: string): LoginPage {
    const scopes = grantedClientScope(request.scope)
      .split(" ")
      .filter((name) => name !== "");
    return loginPage({
      applicationName: this.#nameOf(client),
      request,
      scopes,
      ...(message === undefined ? {} : { message }),
    });
  }

  #nameOf(client: ClientRecord): string {
    return this.#dependencies.tenants.applications.get([client.id])?.value.name ?? "";
  }
}
