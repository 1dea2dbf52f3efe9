/**
 * POST /tokens and the OAuth token route: answers whose token a grant yields. Only members get a token of an
 * application or organization, and it never carries more than they hold there.
 */
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { AppError, notFound } from "../../platform/errors.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import { tenantNotFound, type TenantAccess, type Acting } from "../tenants/tenant-access.js";
import type { PersonalTokens } from "./personal-tokens.js";
import type { AuthorizationCodes, RedeemedCode } from "../oauth/authorization-codes.js";
import type { ClientAuthentication, ClientCredentials } from "../oauth/client-authentication.js";
import type { ClientRecord, Clients } from "../oauth/clients.js";
import type { DeviceCodes } from "../oauth/device/device-codes.js";
import type { IdTokens } from "../oauth/id-tokens.js";
import type { IdentityRepository, SessionRecord, TokenReference } from "../repository.js";
import type { CreateTokenInput, TokenJson } from "../schemas.js";
import {
  CLIENT_SCOPES,
  OFFLINE_ACCESS,
  OPENID,
  grantedClientScope,
  grantedScope,
  hasScope,
  isNamingNothing,
  scopePermissions,
} from "./scope.js";
import { SESSION_LIFE_MS, type Sessions } from "./sessions.js";
import { namedTenant, type Member, type TenantRepository } from "../tenants/tenant-repository.js";

export interface TokenGrantsDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly access: TenantAccess;
  readonly sessions: Sessions;
  readonly personalTokens: PersonalTokens;
  readonly clients: Clients;
  readonly clientAuthentication: ClientAuthentication;
  readonly codes: AuthorizationCodes;
  readonly deviceCodes: DeviceCodes;
  /** Verifies the bearer of a request. Throws `unauthorized`. */
  readonly authenticate: (token: string) => Principal | Promise<Principal>;
  readonly idTokens: IdTokens;
}

/** RFC 8628 section 3.4. */
const DEVICE_CODE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
export const GRANT_TYPES = ["refresh_token", "client_credentials", "authorization_code", DEVICE_CODE_GRANT] as const;

/** The credentials in the Authorization header: the bearer token, and the whole header for HTTP Basic. */
export interface GrantHeaders {
  readonly bearer: string | undefined;
  readonly authorization: string | undefined;
}

/** The subject of a token to be made by the holder of another. */
interface TokenTarget {
  readonly subject: Subject;
  readonly acting: Acting;
  /** Bits that the new session may not exceed; undefined for no limit. */
  readonly limit: number | undefined;
  /** Checks that nothing has changed since it was read. */
  readonly commit: StoreCommit;
}

/** The bearer of a request for another token. */
interface Maker {
  readonly principal: Principal;
  /** True when its token carries less than its subject holds. */
  readonly isRestricted: boolean;
}

export class TokenGrants {
  readonly #dependencies: TokenGrantsDependencies;

  constructor(dependencies: TokenGrantsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Makes a token.
   * @throws unsupported_grant for an unknown `grant_type`; invalid_grant, invalid_client or invalid_request as RFC 6749
   *   section 5.2 has them; unauthorized without a good bearer; forbidden for a bearer that may not make this token;
   *   not_found for a tenant of which the caller is no member; permission_escalation for more than the caller holds
   */
  async create(input: CreateTokenInput, headers: GrantHeaders): Promise<TokenJson> {
    switch (input.grant_type) {
      case undefined:
        return this.#byBearer(input, headers.bearer);
      case "refresh_token":
        return this.#byRefreshToken(input, headers);
      case "client_credentials":
        return this.#byClient(input, headers);
      case "authorization_code":
        return this.#byCode(input, headers);
      case DEVICE_CODE_GRANT:
        return this.#byDeviceCode(input, headers);
      default:
        throw new AppError("unsupported_grant", { message: `grant_type must be one of: ${GRANT_TYPES.join(", ")}` });
    }
  }

  async #byRefreshToken(input: CreateTokenInput, headers: GrantHeaders): Promise<TokenJson> {
    const { sessions, clients, clientAuthentication } = this.#dependencies;
    const text = input.refresh_token ?? headers.bearer;
    if (text === undefined)
      throw new AppError("invalid_grant", { message: "a refresh token is needed, in the body or as the bearer" });
    const given = credentialsOf(input, headers);
    const proven = hasProof(given) ? (await clientAuthentication.authenticate(given)).id : undefined;
    const named = given.client_id?.toLowerCase();
    return sessions.refresh(
      text,
      input.scope,
      (clientId) => clientId === proven || (clientId === named && clients.find(clientId)?.public === true),
    );
  }

  /** RFC 6749 section 4.4: the application itself; no refresh token, because the client can simply ask again. */
  async #byClient(input: CreateTokenInput, headers: GrantHeaders): Promise<TokenJson> {
    const { repository, access, sessions, clientAuthentication } = this.#dependencies;
    const client = await clientAuthentication.authenticate(credentialsOf(input, headers));
    const subject: Subject = { kind: "application", id: client.id };
    // A scope without any known name must not yield a token of all permissions (RFC 6749 section 3.3).
    if (isNamingNothing(input.scope ?? ""))
      throw new AppError("permission_escalation", {
        message: `scope: none of these is known; use some of ${CLIENT_SCOPES.join(", ")}`,
      });
    const scoped = input.scope === undefined ? 0 : scopePermissions(input.scope);
    const limit = client.permissions & (scoped === 0 ? client.permissions : scoped);
    if (input.permissions !== undefined) access.requireSubset(input.permissions, limit);
    const held = access.permissionsOf(subject);
    const state = repository.findState(subject)?.value;
    if (held === undefined || state === undefined)
      throw new AppError("invalid_client", { message: "the client could not be authenticated" });
    const prepared = sessions.prepare({
      subject,
      epoch: state.epoch,
      scope: withoutRefresh(input.scope),
      attributes: { client_id: client.id, permissions_max: input.permissions ?? limit },
    });
    return sessions.open(prepared, held);
  }

  async #byCode(input: CreateTokenInput, headers: GrantHeaders): Promise<TokenJson> {
    const { clientAuthentication, codes } = this.#dependencies;
    const { code, code_verifier: codeVerifier, redirect_uri: redirectUri } = input;
    if (code === undefined || codeVerifier === undefined || redirectUri === undefined) {
      throw new AppError("invalid_request", {
        message: "authorization_code needs code, code_verifier and redirect_uri",
      });
    }
    const client = await clientAuthentication.identify(credentialsOf(input, headers));
    return this.#clientToken(await codes.redeem({ code, codeVerifier, redirectUri, client }), client);
  }

  /** RFC 8628 section 3.4. */
  async #byDeviceCode(input: CreateTokenInput, headers: GrantHeaders): Promise<TokenJson> {
    const { clientAuthentication, deviceCodes } = this.#dependencies;
    if (input.device_code === undefined)
      throw new AppError("invalid_request", { message: "the device code grant needs device_code" });
    const client = await clientAuthentication.identify(credentialsOf(input, headers));
    const redeemed = await deviceCodes.redeem(input.device_code, client);
    return this.#clientToken({ ...redeemed, nonce: undefined }, client);
  }

  /** The first tokens of a session that a user's consent opened; an id token among them for the scope `openid`. */
  async #clientToken(redeemed: RedeemedCode, client: ClientRecord): Promise<TokenJson> {
    const { access, sessions, idTokens } = this.#dependencies;
    const held = access.permissionsOf({ kind: "user", id: redeemed.userId });
    if (held === undefined) throw new AppError("invalid_grant", { message: "the code is not valid" });
    const token = await sessions.issueToken(redeemed.prepared, held);
    if (!hasScope(redeemed.scope, OPENID)) return token;
    const login = { ...redeemed, sessionId: redeemed.prepared.session.id };
    return { ...token, id_token: await idTokens.sign(login, client, token.access_token) };
  }

  /** A token of another subject, or a fresh one of the same, for the holder of a token. */
  async #byBearer(input: CreateTokenInput, bearer: string | undefined): Promise<TokenJson> {
    const { access, sessions, repository } = this.#dependencies;
    if (bearer === undefined) throw new AppError("unauthorized", { message: "unauthorized" });
    const principal = await this.#dependencies.authenticate(bearer);
    const own = repository.findSession(principal.subject, principal.sessionId)?.value;
    // The user's consent bounds what an OAuth client holds; a new session would escape it.
    if (own?.client_id !== undefined && principal.subject.kind === "user")
      throw new AppError("forbidden", { message: "a token of an OAuth client cannot make other tokens" });
    const maker: Maker = { principal, isRestricted: access.isRestricted(principal) };
    const scope = grantedScope(input.scope);
    if (maker.isRestricted && hasScope(scope, OFFLINE_ACCESS))
      throw new AppError("forbidden", { message: "a token of limited permissions cannot make a refresh token" });
    if (input.user_id !== undefined && !(principal.subject.kind === "user" && principal.subject.id === input.user_id))
      throw notFound("user");
    return retryOnConflict(async () => {
      const target = this.#targetOf(maker, input);
      const held = access.permissionsOf(target.subject, target.acting);
      const state = repository.findState(target.subject)?.value;
      if (held === undefined || state === undefined)
        throw target.subject.kind === "user"
          ? new AppError("unauthorized", { message: "unauthorized" })
          : tenantNotFound(target.subject.kind);
      if (input.permissions !== undefined) access.requireSubset(input.permissions, held & (target.limit ?? held));
      const limit = input.permissions ?? target.limit;
      const origin = this.#originOf(principal, target.subject);
      const prepared = sessions.prepare({
        subject: target.subject,
        epoch: state.epoch,
        scope,
        attributes: {
          ...target.acting,
          ...origin.attributes,
          ...(limit === undefined ? {} : { permissions_max: limit }),
        },
      });
      return sessions.open({ ...prepared, commit: mergeCommits(prepared.commit, target.commit, origin.commit) }, held);
    });
  }

  /** Returns the subject of the token that a request asks for: the bearer's own unless the body names a tenant. */
  #targetOf(maker: Maker, input: CreateTokenInput): TokenTarget {
    const { tenants } = this.#dependencies;
    const { principal, isRestricted } = maker;
    const { subject } = principal;
    if (!tenants.areAssociated(input)) throw tenantNotFound("organization");
    const tenant = namedTenant(input);
    if (tenant === undefined || (tenant.kind === subject.kind && tenant.id === subject.id))
      return this.#sameSubject(maker);
    if (subject.kind === "application") throw tenantNotFound(tenant.kind);
    const member: Member = { kind: subject.kind, id: subject.id };
    const membership = tenants.findMembership(tenant, member);
    const userId = subject.kind === "user" ? subject.id : principal.actingUserId;
    return {
      subject: tenant,
      acting: {
        ...(userId === undefined ? {} : { acting_user_id: userId }),
        ...(subject.kind === "organization" ? { acting_organization_id: subject.id } : {}),
      },
      limit: isRestricted || subject.kind === "organization" ? principal.permissions : undefined,
      commit: membership === undefined ? {} : { checks: [{ key: membership.key, version: membership.version }] },
    };
  }

  /**
   * Returns the tokens from which the new session is derived, and which it must not outlive: otherwise the thief of one
   * token could carry on with those derived from it, whatever its owner does. The chain stays short: a fresh token of
   * the same subject takes over the origin of the caller's.
   */
  #originOf(
    { subject, sessionId }: Principal,
    target: Subject,
  ): { readonly attributes: Pick<SessionRecord, "derived">; readonly commit: StoreCommit } {
    const { repository, personalTokens } = this.#dependencies;
    const session = repository.findSession(subject, sessionId);
    const personal = session === undefined ? personalTokens.record(subject, sessionId) : undefined;
    const source = session ?? personal;
    // A token of a trusted issuer: there is no session here that could end.
    if (source === undefined) return { attributes: {}, commit: {} };
    const state = repository.findState(subject);
    const own: TokenReference = { kind: subject.kind, subject_id: subject.id, id: sessionId };
    const earlier = session?.value.derived;
    const isSameSubject = target.kind === subject.kind && target.id === subject.id;
    const from = earlier === undefined ? [own] : isSameSubject ? earlier.from : [...earlier.from, own];
    const untilMs =
      earlier?.until_ms ?? personal?.value.expires_at_ms ?? Date.parse(source.value.created_at) + SESSION_LIFE_MS;
    const checks = [source, ...(state === undefined ? [] : [state])].map(({ key, version }) => ({ key, version }));
    return { attributes: { derived: { from, until_ms: untilMs } }, commit: { checks } };
  }

  /** The target of a fresh token of the bearer's own subject. */
  #sameSubject({ principal, isRestricted }: Maker): TokenTarget {
    const session = this.#dependencies.repository.findSession(principal.subject, principal.sessionId)?.value;
    // A personal access token of an application or organization belongs to no session, and so names no member whose
    // permissions would bound the new token.
    if (session === undefined && principal.subject.kind !== "user")
      throw new AppError("forbidden", {
        message: "a personal access token of an application or organization cannot make other tokens",
      });
    const { acting_user_id: userId, acting_organization_id: organizationId } = session ?? {};
    return {
      subject: principal.subject,
      acting: {
        ...(userId === undefined ? {} : { acting_user_id: userId }),
        ...(organizationId === undefined ? {} : { acting_organization_id: organizationId }),
      },
      limit: isRestricted ? principal.permissions : undefined,
      commit: {},
    };
  }
}

function credentialsOf(input: CreateTokenInput, headers: GrantHeaders): ClientCredentials {
  return {
    client_id: input.client_id,
    client_secret: input.client_secret,
    client_assertion: input.client_assertion,
    client_assertion_type: input.client_assertion_type,
    authorization: headers.authorization,
  };
}

/** Returns true when a client sent more than its id. */
function hasProof(given: ClientCredentials): boolean {
  return (
    given.client_secret !== undefined ||
    given.client_assertion !== undefined ||
    /^basic /i.test(given.authorization ?? "")
  );
}

function withoutRefresh(scope: string | undefined): string {
  return grantedClientScope(scope)
    .split(" ")
    .filter((name) => name !== OFFLINE_ACCESS)
    .join(" ");
}
