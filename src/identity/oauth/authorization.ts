/**
 * The OAuth authorization endpoint (RFC 6749 section 4.1, OpenID Connect Core section 3.1.2): a user logs in and grants
 * access, and the client gets a code. Sends codes and errors only to addresses that the client registered; keeps no
 * session in the browser.
 */
import type { Principal } from "../../platform/auth/principal.js";
import type { Clock } from "../../platform/clock.js";
import { AppError, invalidMember, notFound } from "../../platform/errors.js";
import { isUuid } from "../../platform/ids.js";
import type { HtmlPage } from "../login/html-page.js";
import type { Login } from "../login/login.js";
import { loginPage } from "../login/login-page.js";
import { loginRefusal } from "../login/login-refusal.js";
import type { IdentityRepository } from "../repository.js";
import type { TenantRepository } from "../tenants/tenant-repository.js";
import { isWithinScope, scopeNames } from "../tokens/scope.js";
import type { Sessions } from "../tokens/sessions.js";
import type { AuthorizationCodes } from "./authorization-codes.js";
import { readAuthorizationRequest, refusalOfRepeats, type AuthorizationRequest } from "./authorization-request.js";
import type { ClientRecord, Clients } from "./clients.js";
import { COMMAND_LINE_CLIENT_ID, COMMAND_LINE_NAME } from "./command-line-client.js";
import { CONSOLE_CLIENT_ID, CONSOLE_NAME } from "./console-client.js";
import type { IdTokens } from "./id-tokens.js";
import type { AuthorizeFormInput, AuthorizeInput } from "./oauth-schemas.js";
import { isRegisteredUri, withQuery } from "./redirect-addresses.js";

export interface AuthorizationDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly clients: Clients;
  readonly codes: AuthorizationCodes;
  readonly sessions: Sessions;
  readonly idTokens: IdTokens;
  readonly login: Login;
  readonly clock: Clock;
  /** Verifies the bearer of a request. Throws `unauthorized`. */
  readonly authenticate: (token: string) => Principal | Promise<Principal>;
}

/**
 * Either the address of the client to redirect to, or the page on which the user logs in; `isRetry` after a failed
 * login.
 */
export type AuthorizationResult =
  { readonly location: string } | { readonly page: HtmlPage; readonly isRetry: boolean };

/** How a request came. */
export interface AuthorizationCaller {
  readonly bearer: string | undefined;
  /** Names of parameters that are given more than once. */
  readonly repeated?: readonly string[] | undefined;
}

/** A login, and when its password was entered. */
interface UserLogin {
  readonly userId: string;
  readonly passwordAtMs: number;
}

/** A request of a registered client, with the input that it was read from. */
interface Attempt {
  readonly client: ClientRecord;
  readonly redirectUri: string;
  readonly input: AuthorizeInput;
  readonly request: AuthorizationRequest;
  /** The user whom `id_token_hint` names; undefined without one. */
  readonly expectedUserId: string | undefined;
}

/** Where the client is told of the outcome. */
type Target = Pick<Attempt, "redirectUri" | "input">;
type Told = { readonly error: string; readonly error_description?: string } | { readonly code: string };

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
   * Begins an authorization. With the token of a login as bearer the client gets its code at once, unless `prompt`,
   * `max_age` or `id_token_hint` asks for another login; otherwise the user gets the login page.
   * @throws invalid_request for an unregistered client or redirect address, which never gets a redirect; unauthorized
   *   or forbidden for a bearer that is not the token of a login
   */
  async begin(input: AuthorizeInput, { bearer, repeated }: AuthorizationCaller): Promise<AuthorizationResult> {
    const attempt = await this.#attemptOf(input, repeated);
    if ("location" in attempt) return attempt;
    const login = bearer === undefined ? undefined : await this.#loginOf(bearer);
    const isSilent = attempt.request.prompts.has("none");
    if (login === undefined || !this.#isEnough(login, attempt)) {
      if (isSilent) return this.#redirect(attempt, { error: "login_required" });
      return { page: this.#page(attempt), isRetry: false };
    }
    if (isSilent && !this.#hasGrant(login.userId, attempt))
      return this.#redirect(attempt, { error: "consent_required" });
    return this.#redirectWithCode(attempt, login);
  }

  /**
   * Ends an authorization with what the user put into the form; a form without any of that begins one, as OpenID
   * Connect asks of POST. A wrong password, or an address that must be confirmed first, shows the form again.
   * @param caller.address network address, for throttling
   * @throws too_many_requests; otherwise as `begin` does
   */
  async submit(
    form: AuthorizeFormInput,
    caller: AuthorizationCaller & { readonly address: string },
  ): Promise<AuthorizationResult> {
    const { email, password, decision } = form;
    if (email === undefined && password === undefined && decision === undefined) return this.begin(form, caller);
    const attempt = await this.#attemptOf(form, caller.repeated);
    if ("location" in attempt) return attempt;
    if (decision === "deny") return this.#redirect(attempt, { error: "access_denied" });
    const retry = (message: string): AuthorizationResult => ({
      page: this.#page(
        { ...attempt, input: { ...form, ...(email === undefined ? {} : { login_hint: email }) } },
        message,
      ),
      isRetry: true,
    });
    try {
      const { login, clock } = this.#dependencies;
      const user = await login.check({ email: email ?? "", password: password ?? "" }, caller.address);
      if (attempt.expectedUserId !== undefined && attempt.expectedUserId !== user.id)
        return retry("The application asks for the account with which you used it before.");
      return await this.#redirectWithCode(attempt, { userId: user.id, passwordAtMs: clock.nowMs() });
    } catch (error) {
      const refusal = loginRefusal(error);
      if (refusal === undefined) throw error;
      return retry(refusal);
    }
  }

  /** Reads a request; a redirect with the error when the client is known and its request is faulty. */
  async #attemptOf(
    input: AuthorizeInput,
    repeated: readonly string[] = [],
  ): Promise<Attempt | { readonly location: string }> {
    const target = { ...this.#targetOf(input, repeated), input };
    if (repeated.length > 0) return this.#redirect(withoutRepeatedState(target, repeated), refusalOfRepeats(repeated));
    const request = readAuthorizationRequest(input);
    if ("error" in request) return this.#redirect(target, request);
    const { id_token_hint: hint } = input;
    if (hint === undefined) return { ...target, request, expectedUserId: undefined };
    const hinted = await this.#dependencies.idTokens.read(hint);
    if (hinted?.clientId !== target.client.id)
      return this.#redirect(target, {
        error: "invalid_request",
        error_description: "id_token_hint is no id token that this server made for the client",
      });
    return { ...target, request, expectedUserId: hinted.userId };
  }

  #targetOf(input: AuthorizeInput, repeated: readonly string[]): Pick<Attempt, "client" | "redirectUri"> {
    for (const name of ["client_id", "redirect_uri"])
      if (repeated.includes(name)) throw invalidMember(name, `${name}: given more than once`);
    const clientId = input.client_id?.toLowerCase();
    const client = clientId !== undefined && isUuid(clientId) ? this.#dependencies.clients.find(clientId) : undefined;
    const { redirect_uri: redirectUri } = input;
    if (client === undefined || redirectUri === undefined || !isAddressOf(client, redirectUri)) {
      throw new AppError("invalid_request", {
        message: "client_id, redirect_uri: no client is registered with this address",
      });
    }
    return { client, redirectUri };
  }

  /** Accepts only the token of a login: a restricted one, or one that another client holds, was not given for this. */
  async #loginOf(bearer: string): Promise<UserLogin> {
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
    return { userId: principal.subject.id, passwordAtMs: session.password_at_ms };
  }

  /** True when a login will do for a request: recent enough, of the right user, and no prompt asks for more. */
  #isEnough(login: UserLogin, { request, expectedUserId }: Attempt): boolean {
    const { prompts, maxAgeSec } = request;
    if (["login", "consent", "select_account"].some((prompt) => prompts.has(prompt))) return false;
    if (expectedUserId !== undefined && expectedUserId !== login.userId) return false;
    if (maxAgeSec === undefined) return true;
    // OpenID Connect Core gives 0 the meaning of `prompt=login`.
    return maxAgeSec > 0 && this.#dependencies.clock.nowMs() - login.passwordAtMs <= maxAgeSec * 1000;
  }

  /** True while the client holds a session of the user with at least this scope: the user has agreed to it before. */
  #hasGrant(userId: string, { client, request }: Attempt): boolean {
    return this.#dependencies.sessions
      .live({ kind: "user", id: userId })
      .some((session) => session.client_id === client.id && isWithinScope(request.scope, session.scope));
  }

  async #redirectWithCode(attempt: Attempt, login: UserLogin): Promise<{ readonly location: string }> {
    const { codes, repository } = this.#dependencies;
    const { client, redirectUri, request } = attempt;
    const epoch = repository.findState({ kind: "user", id: login.userId })?.value.epoch ?? 0;
    const { codeChallenge, scope, nonce } = request;
    const code = await codes.issue({ client, ...login, epoch, redirectUri, codeChallenge, scope, nonce });
    return this.#redirect(attempt, { code });
  }

  /** The client's address with the result; `state` as the client sent it, `iss` by RFC 9207. */
  #redirect(target: Target, told: Told): { readonly location: string } {
    const { state } = target.input;
    const members = { ...told, ...(state === undefined ? {} : { state }), iss: this.#issuer };
    return { location: withQuery(target.redirectUri, members) };
  }

  #page({ client, redirectUri, input, request }: Attempt, message?: string): HtmlPage {
    return loginPage({
      applicationName: this.#nameOf(client),
      request: input,
      redirectUri,
      scopes: scopeNames(request.scope),
      message,
    });
  }

  #nameOf(client: ClientRecord): string {
    if (client.id === CONSOLE_CLIENT_ID) return CONSOLE_NAME;
    if (client.id === COMMAND_LINE_CLIENT_ID) return COMMAND_LINE_NAME;
    return this.#dependencies.tenants.applications.get([client.id])?.value.name ?? "";
  }
}

/** The console gets a whole login, so that no other program on the same machine may stand in for it: ports count. */
function isAddressOf(client: ClientRecord, redirectUri: string): boolean {
  if (client.id === CONSOLE_CLIENT_ID) return client.redirect_uris.includes(redirectUri);
  return isRegisteredUri(client.redirect_uris, redirectUri);
}

/** Of two values of `state` neither is the client's for sure. */
function withoutRepeatedState(target: Target, repeated: readonly string[]): Target {
  const { state: _state, ...input } = target.input;
  return repeated.includes("state") ? { ...target, input } : target;
}
