/**
 * OAuth 2.0 and OpenID Connect for the clients of applications: authorization by a person's login, id tokens,
 * introspection, revocation and discovery. Sends codes only to addresses that the client registered; keeps no session
 * in the browser.
 */
import { decodeJwt } from "jose";
import { formatSubject, type Principal, type Subject } from "../../platform/auth/principal.js";
import { parseRefreshToken } from "../../platform/auth/refresh-token.js";
import { sameHash } from "../../platform/auth/opaque-token.js";
import type { SigningKeys } from "../../platform/auth/signing-keys.js";
import { AUDIENCES } from "../../platform/auth/token-limits.js";
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { TenantAccess } from "../tenants/tenant-access.js";
import { PersonalTokens } from "../tokens/personal-tokens.js";
import type { AuthorizationCodes, Redeemed } from "./authorization-codes.js";
import { ASSERTION_ALGORITHMS, type ClientAuthentication, type ClientCredentials } from "./client-authentication.js";
import type { ClientRecord, Clients } from "./clients.js";
import type { Login } from "../login/login.js";
import { loginPage, type LoginPage } from "../login/login-page.js";
import type {
  AuthorizeFormInput,
  AuthorizeInput,
  IntrospectionJson,
  OpenIdConfigurationJson,
  TokenQuestionInput,
  UserInfoJson,
} from "./oauth-schemas.js";
import type { IdentityRepository, SessionRecord, UserRecord } from "../repository.js";
import { CLIENT_SCOPES, grantedClientScope, hasScope } from "../tokens/scope.js";
import type { Sessions } from "../tokens/sessions.js";
import { GRANT_TYPES } from "../tokens/token-grants.js";
import type { TenantRepository } from "../tenants/tenant-repository.js";

export interface OAuthDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly access: TenantAccess;
  readonly clients: Clients;
  readonly clientAuthentication: ClientAuthentication;
  readonly codes: AuthorizationCodes;
  readonly login: Login;
  readonly sessions: Sessions;
  readonly personalTokens: PersonalTokens;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  /** Verifies an access token of ours. Throws `unauthorized`. */
  readonly authenticate: (token: string) => Principal | Promise<Principal>;
}

/** Either the person is sent on, or asked (again). */
export type Authorization = { readonly location: string } | { readonly page: LoginPage; readonly failed: boolean };

interface DescribedToken {
  readonly owner: Subject;
  /** Undefined for a personal access token. */
  readonly session: SessionRecord | undefined;
  readonly id: string;
  readonly answer: Omit<IntrospectionJson, "active">;
}

const ID_TOKEN_LIFE_SEC = 5 * 60;
const ID_TOKEN_TYPE = "JWT";
const INACTIVE: IntrospectionJson = { active: false };

export class OAuth {
  readonly #issuer: string;
  readonly #dependencies: OAuthDependencies;

  constructor(options: { readonly issuer: string }, dependencies: OAuthDependencies) {
    this.#issuer = options.issuer;
    this.#dependencies = dependencies;
  }

  /** What a login page may show of a client. Throws `not_found` for an application that takes no logins. */
  applicationDetails(id: string): { client_id: string; name: string; redirect_uris: string[] } {
    const client = this.#dependencies.clients.find(id);
    if (client === undefined || client.redirect_uris.length === 0)
      throw new AppError("not_found", { message: "oauth client application not found" });
    return { client_id: client.id, name: this.#nameOf(client), redirect_uris: [...client.redirect_uris] };
  }

  /**
   * Begins an authorization. With the token of a login as bearer the code is made at once; without, a person is asked.
   * Throws `invalid_request` for a client or redirect address that is not known: nothing is ever sent to such a place.
   */
  async begin(request: AuthorizeInput, bearer: string | undefined): Promise<Authorization> {
    const client = this.#clientFor(request);
    if (bearer !== undefined) return { location: await this.#byBearer(client, request, bearer) };
    if (request.prompt === "none") return { location: this.#failure(request, "login_required") };
    return { page: this.#page(client, request), failed: false };
  }

  /** Ends an authorization with what the person put into the form. A wrong password shows the form again. */
  async submit(form: AuthorizeFormInput, address: string): Promise<Authorization> {
    const client = this.#clientFor(form);
    if (form.decision === "deny") return { location: this.#failure(form, "access_denied") };
    try {
      const user = await this.#dependencies.login.check({ email: form.email, password: form.password }, address);
      return { location: await this.#codeFor(client, form, user.id, this.#dependencies.clock.nowMs()) };
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "invalid_credentials") throw error;
      return { page: this.#page(client, form, "The e-mail address or the password is wrong."), failed: true };
    }
  }

  /** OpenID Connect Core section 2. */
  async idToken(redeemed: Redeemed, clientId: string): Promise<string> {
    const { repository, keys, clock } = this.#dependencies;
    const nowSec = Math.floor(clock.nowMs() / 1000);
    const user = repository.findUser(redeemed.userId)?.value;
    return keys.sign(
      {
        iss: this.#issuer,
        sub: `user:${redeemed.userId}`,
        aud: clientId,
        iat: nowSec,
        exp: nowSec + ID_TOKEN_LIFE_SEC,
        ...(redeemed.passwordAtMs === undefined ? {} : { auth_time: Math.floor(redeemed.passwordAtMs / 1000) }),
        ...(redeemed.nonce === undefined ? {} : { nonce: redeemed.nonce }),
        ...(user === undefined ? {} : personClaims(user, redeemed.scope)),
      },
      ID_TOKEN_TYPE,
    );
  }

  /** OpenID Connect Core section 5.3: what the token's scope lets its client know. */
  userInfo(principal: Principal): UserInfoJson {
    const { repository } = this.#dependencies;
    const user = principal.subject.kind === "user" ? repository.findUser(principal.subject.id)?.value : undefined;
    const session = repository.findSession(principal.subject, principal.sessionId)?.value;
    if (user === undefined) throw new AppError("forbidden", { message: "this needs a token of user" });
    // A token of the user's own login may know all.
    const scope = session?.client_id === undefined && session !== undefined ? "profile email" : (session?.scope ?? "");
    return { sub: `user:${user.id}`, ...personClaims(user, scope) };
  }

  /** RFC 7662. The caller is a client or anybody with a token; `active: false` for whatever is not a good token. */
  async introspect(
    question: TokenQuestionInput,
    headers: { readonly bearer: string | undefined; readonly authorization: string | undefined },
  ): Promise<IntrospectionJson> {
    await this.#requireCaller(question, headers, false);
    const found = await this.#find(requireToken(question));
    if (found === undefined) return INACTIVE;
    return { active: true, ...found.answer };
  }

  /**
   * RFC 7009: a client revokes what it holds, anybody else its own. What cannot be revoked is passed over in silence
   * (section 2.2).
   */
  async revoke(
    question: TokenQuestionInput,
    headers: { readonly bearer: string | undefined; readonly authorization: string | undefined },
  ): Promise<void> {
    const caller = await this.#requireCaller(question, headers, true);
    const found = await this.#find(requireToken(question));
    if (found === undefined) return;
    const { owner, session, id } = found;
    const isHolder =
      "client" in caller
        ? session?.client_id === caller.client.id || (owner.kind === "application" && owner.id === caller.client.id)
        : owner.kind === caller.principal.subject.kind && owner.id === caller.principal.subject.id;
    if (!isHolder) return;
    const { sessions, personalTokens } = this.#dependencies;
    if (!(await sessions.end(owner, id)) && (await personalTokens.revoke(owner, id))) await sessions.endDerived(owner, id);
  }

  /** OpenID Connect Discovery section 3 and RFC 8414. */
  configuration(): OpenIdConfigurationJson {
    const base = this.#issuer.replace(/\/+$/, "");
    const oauth = `${base}/api/v1/oauth`;
    const methods = ["client_secret_basic", "client_secret_post", "private_key_jwt"];
    return {
      issuer: this.#issuer,
      authorization_endpoint: `${oauth}/authorize`,
      token_endpoint: `${oauth}/token`,
      jwks_uri: `${base}/.well-known/jwks.json`,
      userinfo_endpoint: `${oauth}/userinfo`,
      introspection_endpoint: `${oauth}/introspect`,
      revocation_endpoint: `${oauth}/revoke`,
      scopes_supported: [...CLIENT_SCOPES],
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: [...GRANT_TYPES],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: [...new Set(this.#dependencies.keys.publicKeys().map(({ alg }) => alg))],
      token_endpoint_auth_methods_supported: [...methods, "none"],
      token_endpoint_auth_signing_alg_values_supported: [...ASSERTION_ALGORITHMS],
      introspection_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: [...methods, "none"],
      code_challenge_methods_supported: ["S256"],
      claims_supported: ["sub", "name", "given_name", "family_name", "email", "email_verified", "auth_time", "nonce"],
      authorization_response_iss_parameter_supported: true,
      // The second is true where it is left out (OpenID Connect Discovery section 3).
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
      claims_parameter_supported: false,
    };
  }

  #clientFor(request: AuthorizeInput): ClientRecord {
    const client = this.#dependencies.clients.find(request.client_id.toLowerCase());
    if (client?.redirect_uris.includes(request.redirect_uri) !== true) {
      throw new AppError("invalid_request", {
        message: "client_id, redirect_uri: no client is registered with this address",
      });
    }
    return client;
  }

  /**
   * Only the token of a login says yes for its user: one that was cut down, or that another client holds, was not given
   * for this.
   */
  async #byBearer(client: ClientRecord, request: AuthorizeInput, bearer: string): Promise<string> {
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
    return this.#codeFor(client, request, principal.subject.id, session.password_at_ms);
  }

  async #codeFor(client: ClientRecord, request: AuthorizeInput, userId: string, passwordAtMs: number): Promise<string> {
    const { codes, repository } = this.#dependencies;
    const epoch = repository.findState({ kind: "user", id: userId })?.value.epoch ?? 0;
    const code = await codes.issue({
      client,
      userId,
      epoch,
      redirectUri: request.redirect_uri,
      codeChallenge: request.code_challenge,
      scope: grantedClientScope(request.scope),
      nonce: request.nonce,
      passwordAtMs,
    });
    return this.#redirect(request, { code });
  }

  #failure(request: AuthorizeInput, error: string): string {
    return this.#redirect(request, { error });
  }

  /** The client's address with the answer; `iss` after RFC 9207. */
  #redirect(request: AuthorizeInput, answer: Readonly<Record<string, string>>): string {
    const url = new URL(request.redirect_uri);
    for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value);
    if (request.state !== undefined) url.searchParams.set("state", request.state);
    url.searchParams.set("iss", this.#issuer);
    return url.href;
  }

  #page(client: ClientRecord, request: AuthorizeInput, message?: string): LoginPage {
    const scopes = grantedClientScope(request.scope)
      .split(" ")
      .filter((word) => word !== "");
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

  async #requireCaller(
    given: ClientCredentials,
    headers: { readonly bearer: string | undefined; readonly authorization: string | undefined },
    publicToo: boolean,
  ): Promise<{ client: ClientRecord } | { principal: Principal }> {
    if (headers.bearer !== undefined) return { principal: await this.#dependencies.authenticate(headers.bearer) };
    const credentials: ClientCredentials = {
      client_id: given.client_id,
      client_secret: given.client_secret,
      client_assertion: given.client_assertion,
      client_assertion_type: given.client_assertion_type,
      authorization: headers.authorization,
    };
    const { clientAuthentication } = this.#dependencies;
    return {
      client: await (publicToo
        ? clientAuthentication.identify(credentials)
        : clientAuthentication.authenticate(credentials)),
    };
  }

  /** What a token's text stands for, whatever kind it is; undefined for any that is not good now. */
  async #find(text: string): Promise<DescribedToken | undefined> {
    if (PersonalTokens.isPersonalToken(text)) return this.#findPersonal(text);
    if (text.startsWith("prt_")) return this.#findRefresh(text);
    let principal: Principal;
    try {
      principal = await this.#dependencies.authenticate(text);
    } catch (error) {
      if (error instanceof AppError && error.code === "unauthorized") return undefined;
      throw error;
    }
    const session = this.#dependencies.repository.findSession(principal.subject, principal.sessionId)?.value;
    if (session === undefined) return undefined;
    const { iat } = decodeJwt(text);
    return {
      owner: principal.subject,
      session,
      id: session.id,
      answer: {
        ...this.#about(principal.subject, session),
        token_type: "Bearer",
        exp: principal.expiresAtSec,
        ...(iat === undefined ? {} : { iat }),
        permissions: principal.permissions,
      },
    };
  }

  #findRefresh(text: string): DescribedToken | undefined {
    const token = parseRefreshToken(text);
    const found = token === undefined ? undefined : this.#dependencies.repository.findSessionByHandle(token.handleHash);
    const refresh = found?.session.value.refresh;
    if (
      token === undefined ||
      found === undefined ||
      refresh === null ||
      refresh === undefined ||
      !sameHash(token.tokenHash, refresh.current_hash)
    )
      return undefined;
    const session = this.#dependencies.sessions.live(found.subject).find(({ id }) => id === found.session.value.id);
    if (session === undefined) return undefined;
    return {
      owner: found.subject,
      session,
      id: session.id,
      answer: {
        ...this.#about(found.subject, session),
        exp: Math.floor(Math.min(session.ends_at_ms, refresh.idle_until_ms) / 1000),
      },
    };
  }

  #findPersonal(text: string): DescribedToken | undefined {
    const record = this.#dependencies.personalTokens.findByText(text);
    if (record === undefined) return undefined;
    const owner: Subject = { kind: record.owner_kind, id: record.owner_id };
    const held = this.#dependencies.access.permissionsOf(owner, record);
    if (held === undefined) return undefined;
    return {
      owner,
      session: undefined,
      id: record.id,
      answer: {
        sub: formatSubject(owner),
        iss: this.#issuer,
        aud: [...AUDIENCES],
        token_type: "Bearer",
        exp: Math.floor(record.expires_at_ms / 1000),
        permissions: held & record.permissions,
        sid: record.id,
      },
    };
  }

  #about(owner: Subject, session: SessionRecord): Omit<IntrospectionJson, "active"> {
    return {
      sub: formatSubject(owner),
      iss: this.#issuer,
      aud: [...AUDIENCES],
      sid: session.id,
      scope: session.scope,
      ...(session.client_id === undefined ? {} : { client_id: session.client_id }),
    };
  }
}

/** RFC 7662 section 2.1 and RFC 7009 section 2.1: `token` is required. */
function requireToken({ token }: TokenQuestionInput): string {
  if (token === undefined || token === "") throw new AppError("invalid_request", { message: "token is required" });
  return token;
}

function personClaims(user: UserRecord, scope: string): Omit<UserInfoJson, "sub"> {
  return {
    ...(hasScope(scope, "profile")
      ? { name: `${user.first_name} ${user.last_name}`, given_name: user.first_name, family_name: user.last_name }
      : {}),
    ...(hasScope(scope, "email") ? { email: user.email, email_verified: user.email_verified === true } : {}),
  };
}
