/**
 * POST /tokens and the OAuth token route: which grant yields a token of whom. A token of an application or organization
 * is made only for those on its access list, and never carries more than they hold there.
 */
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { AppError } from "../../platform/errors.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import { tenantNotFound, type TenantAccess, type Acting } from "../tenants/tenant-access.js";
import type { PersonalTokens } from "./personal-tokens.js";
import type { AuthorizationCodes, Redeemed } from "../oauth/authorization-codes.js";
import type { ClientAuthentication, ClientCredentials } from "../oauth/client-authentication.js";
import type { Clients } from "../oauth/clients.js";
import type { IdentityRepository, SessionRecord, TokenReference } from "../repository.js";
import type { CreateTokenInput, TokenJson } from "../schemas.js";
import {
  CLIENT_SCOPES,
  OFFLINE_ACCESS,
  OPENID,
  grantedClientScope,
  grantedScope,
  hasScope,
  scopePermissions,
} from "./scope.js";
import { SESSION_LIFE_MS, type Sessions } from "./sessions.js";
import type { Member, Tenant, TenantRepository } from "../tenants/tenant-repository.js";

export interface TokenGrantsDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly access: TenantAccess;
  readonly sessions: Sessions;
  readonly personalTokens: PersonalTokens;
  readonly clients: Clients;
  readonly clientAuthentication: ClientAuthentication;
  readonly codes: AuthorizationCodes;
  /** Verifies the bearer of a request. Throws `unauthorized`. */
  readonly authenticate: (token: string) => Principal | Promise<Principal>;
  /** Makes the id token of a redeemed code whose scope has `openid`. */
  readonly idToken: (redeemed: Redeemed, clientId: string) => Promise<string>;
}

export const GRANT_TYPES = ["refresh_token", "client_credentials", "authorization_code"] as const;

/** Where credentials came from, beside the body. */
export interface GrantHeaders {
  readonly bearer: string | undefined;
  readonly authorization: string | undefined;
}

interface Minting {
  readonly subject: Subject;
  readonly acting: Acting;
  /** Bits that the new session may not exceed. */
  readonly limit: number | undefined;
  /** Holds the commit to what was read. */
  readonly commit: StoreCommit;
}

export class TokenGrants {
  readonly #dependencies: TokenGrantsDependencies;

  constructor(dependencies: TokenGrantsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Makes a token. Throws `unsupported_grant`, `invalid_grant`, `invalid_client`, `unauthorized`, `not_found`,
   * `permission_escalation`.
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
    // Whoever asks for something that does not exist here must not get everything instead (RFC 6749 section 3.3).
    if (input.scope !== undefined && input.scope !== "" && grantedClientScope(input.scope) === "")
      throw new AppError("permission_escalation", {
        message: `scope: none of these is known; there are ${CLIENT_SCOPES.join(", ")}`,
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
      marks: { client_id: client.id, permissions_max: input.permissions ?? limit },
    });
    return sessions.open(prepared, held);
  }

  async #byCode(input: CreateTokenInput, headers: GrantHeaders): Promise<TokenJson> {
    const { clientAuthentication, codes, sessions, access, idToken } = this.#dependencies;
    const { code, code_verifier: codeVerifier, redirect_uri: redirectUri } = input;
    if (code === undefined || codeVerifier === undefined || redirectUri === undefined) {
      throw new AppError("invalid_request", {
        message: "authorization_code needs code, code_verifier and redirect_uri",
      });
    }
    const client = await clientAuthentication.identify(credentialsOf(input, headers));
    const redeemed = await codes.redeem({ code, codeVerifier, redirectUri, client });
    const held = access.permissionsOf({ kind: "user", id: redeemed.userId });
    if (held === undefined) throw new AppError("invalid_grant", { message: "the authorization code is not valid" });
    const token = await sessions.issueToken(redeemed.prepared, held);
    return hasScope(redeemed.scope, OPENID) ? { ...token, id_token: await idToken(redeemed, client.id) } : token;
  }

  /** A token for another subject, or a fresh one for the same, by somebody who has a token. */
  async #byBearer(input: CreateTokenInput, bearer: string | undefined): Promise<TokenJson> {
    const { access, sessions, repository } = this.#dependencies;
    if (bearer === undefined) throw new AppError("unauthorized", { message: "unauthorized" });
    const principal = await this.#dependencies.authenticate(bearer);
    const own = repository.findSession(principal.subject, principal.sessionId)?.value;
    // What an OAuth client holds is bounded by the user's consent; new sessions would escape it.
    if (own?.client_id !== undefined && principal.subject.kind === "user")
      throw new AppError("forbidden", { message: "a token of an OAuth client cannot make other tokens" });
    const restricted = access.isRestricted(principal);
    const scope = grantedScope(input.scope);
    if (restricted && hasScope(scope, OFFLINE_ACCESS))
      throw new AppError("forbidden", { message: "a token of limited permissions cannot make a refresh token" });
    if (input.user_id !== undefined && !(principal.subject.kind === "user" && principal.subject.id === input.user_id))
      throw new AppError("not_found", { message: "user not found" });
    return retryOnConflict(async () => {
      const minting = this.#minting(principal, input, restricted);
      const held = access.permissionsOf(minting.subject, minting.acting);
      const state = repository.findState(minting.subject)?.value;
      if (held === undefined || state === undefined)
        throw minting.subject.kind === "user"
          ? new AppError("unauthorized", { message: "unauthorized" })
          : tenantNotFound(minting.subject.kind);
      const within = held & (minting.limit ?? held);
      if (input.permissions !== undefined) access.requireSubset(input.permissions, within);
      const limit = input.permissions ?? minting.limit;
      const parent = this.#parentage(principal, minting.subject);
      const prepared = sessions.prepare({
        subject: minting.subject,
        epoch: state.epoch,
        scope,
        marks: { ...minting.acting, ...parent.marks, ...(limit === undefined ? {} : { permissions_max: limit }) },
      });
      return sessions.open({ ...prepared, commit: mergeCommits(prepared.commit, minting.commit, parent.commit) }, held);
    });
  }

  /** Whose token it will be. Ids that are absent from the body are the bearer's own. */
  #minting(principal: Principal, input: CreateTokenInput, restricted: boolean): Minting {
    const { tenants } = this.#dependencies;
    const { application_id: applicationId, organization_id: organizationId } = input;
    const wanted: Tenant | undefined =
      organizationId !== undefined
        ? { kind: "organization", id: organizationId }
        : applicationId !== undefined
          ? { kind: "application", id: applicationId }
          : undefined;
    if (
      organizationId !== undefined &&
      applicationId !== undefined &&
      tenants.findMembership(
        { kind: "application", id: applicationId },
        { kind: "organization", id: organizationId },
      ) === undefined
    ) {
      throw tenantNotFound("organization");
    }
    const { subject } = principal;
    if (wanted === undefined || (wanted.kind === subject.kind && wanted.id === subject.id))
      return this.#fresh(principal, restricted);
    if (subject.kind === "application") throw tenantNotFound(wanted.kind);
    const member: Member = { kind: subject.kind, id: subject.id };
    const membership = tenants.findMembership(wanted, member);
    const userId = subject.kind === "user" ? subject.id : principal.actingUserId;
    return {
      subject: wanted,
      acting: {
        ...(userId === undefined ? {} : { acting_user_id: userId }),
        ...(subject.kind === "organization" ? { acting_organization_id: subject.id } : {}),
      },
      limit: restricted || subject.kind === "organization" ? principal.permissions : undefined,
      commit: membership === undefined ? {} : { checks: [{ key: membership.key, version: membership.version }] },
    };
  }

  /**
   * The tokens that the new session comes from, which it must not outlive: otherwise whoever has stolen one would go on
   * by what he made of it, whatever its owner does. The chain stays short: a fresh token of the same subject takes the
   * place of the caller's.
   */
  #parentage(
    { subject, sessionId }: Principal,
    wanted: Subject,
  ): { readonly marks: Pick<SessionRecord, "derived">; readonly commit: StoreCommit } {
    const { repository, personalTokens } = this.#dependencies;
    const session = repository.findSession(subject, sessionId);
    const personal = session === undefined ? personalTokens.record(subject, sessionId) : undefined;
    const source = session ?? personal;
    // A token of a trusted issuer: there is nothing of ours to end.
    if (source === undefined) return { marks: {}, commit: {} };
    const state = repository.findState(subject);
    const own: TokenReference = { kind: subject.kind, subject_id: subject.id, id: sessionId };
    const before = session?.value.derived;
    const isFresh = wanted.kind === subject.kind && wanted.id === subject.id;
    const from = before === undefined ? [own] : isFresh ? before.from : [...before.from, own];
    const untilMs =
      before?.until_ms ?? personal?.value.expires_at_ms ?? Date.parse(source.value.created_at) + SESSION_LIFE_MS;
    const checks = [source, ...(state === undefined ? [] : [state])].map(({ key, version }) => ({ key, version }));
    return { marks: { derived: { from, until_ms: untilMs } }, commit: { checks } };
  }

  #fresh(principal: Principal, restricted: boolean): Minting {
    const session = this.#dependencies.repository.findSession(principal.subject, principal.sessionId)?.value;
    // A personal access token of an application or organization names no session to carry on, and with it nobody whose
    // rights bound it.
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
      limit: restricted ? principal.permissions : undefined,
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
    .filter((word) => word !== OFFLINE_ACCESS)
    .join(" ");
}
