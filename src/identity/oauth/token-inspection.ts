/**
 * Token introspection (RFC 7662) and revocation (RFC 7009), for every kind of token: access, refresh and personal
 * access tokens.
 */
import { decodeJwt } from "jose";
import { sameHash } from "../../platform/auth/opaque-token.js";
import { formatSubject, type Principal, type Subject } from "../../platform/auth/principal.js";
import { parseRefreshToken } from "../../platform/auth/refresh-token.js";
import { AUDIENCES } from "../../platform/auth/token-limits.js";
import { AppError } from "../../platform/errors.js";
import type { IdentityRepository, SessionRecord } from "../repository.js";
import type { TenantAccess } from "../tenants/tenant-access.js";
import { isPersonalToken, type PersonalTokens } from "../tokens/personal-tokens.js";
import type { Sessions } from "../tokens/sessions.js";
import type { GrantHeaders } from "../tokens/token-grants.js";
import type { ClientAuthentication, ClientCredentials } from "./client-authentication.js";
import type { IntrospectionJson, TokenQuestionInput } from "./oauth-schemas.js";

export interface TokenInspectionDependencies {
  readonly repository: IdentityRepository;
  readonly access: TenantAccess;
  readonly clientAuthentication: ClientAuthentication;
  readonly sessions: Sessions;
  readonly personalTokens: PersonalTokens;
  /** Verifies an access token. Throws `unauthorized`. */
  readonly authenticate: (token: string) => Principal | Promise<Principal>;
}

/** A token that is good now. */
interface DescribedToken {
  readonly owner: Subject;
  /** Undefined for a personal access token. */
  readonly session: SessionRecord | undefined;
  /** Id of the session or personal access token. */
  readonly id: string;
  readonly claims: Omit<IntrospectionJson, "active">;
}

/** Whoever asks: a client, the subject of a bearer token, or both when a client holds that token. */
interface Caller {
  readonly clientId?: string;
  readonly subject?: Subject;
}

const INACTIVE: IntrospectionJson = { active: false };
const REFRESH_TOKEN_PREFIX = "prt_";

export class TokenInspection {
  readonly #issuer: string;
  readonly #dependencies: TokenInspectionDependencies;

  /** @param options.issuer `iss` of the tokens */
  constructor(options: { readonly issuer: string }, dependencies: TokenInspectionDependencies) {
    this.#issuer = options.issuer;
    this.#dependencies = dependencies;
  }

  /**
   * Describes a token (RFC 7662). The caller is an authenticated client, or anybody with a token as bearer. A client
   * learns of the tokens that were issued to it and of those of its application, any other caller of its own.
   * @returns `active: false` and nothing else for any text that is not a good token, and for a token that is not the
   *   caller's to know (section 2.2)
   * @throws invalid_client or unauthorized; invalid_request without a token
   */
  async introspect(question: TokenQuestionInput, headers: GrantHeaders): Promise<IntrospectionJson> {
    const { clientAuthentication } = this.#dependencies;
    const caller =
      headers.bearer === undefined
        ? { clientId: (await clientAuthentication.authenticate(credentialsOf(question, headers))).id }
        : await this.#bearerOf(headers.bearer);
    const found = await this.#find(requireToken(question));
    return found === undefined || !this.#mayKnow(caller, found) ? INACTIVE : { active: true, ...found.claims };
  }

  /**
   * Revokes a token (RFC 7009): a client one that it holds, any other caller one of its own. Does nothing for other
   * tokens, as section 2.2 asks.
   * @throws invalid_client or unauthorized; invalid_request without a token
   */
  async revoke(question: TokenQuestionInput, headers: GrantHeaders): Promise<void> {
    const caller = await this.#revokingCaller(question, headers);
    const found = await this.#find(requireToken(question));
    if (found === undefined || !this.#mayKnow(caller, found)) return;
    const { owner, id } = found;
    const { sessions, personalTokens } = this.#dependencies;
    if (!(await sessions.end(owner, id)) && (await personalTokens.revoke(owner, id))) {
      await sessions.endDerived(owner, id);
    }
  }

  /** Public clients, which have no secret, may revoke their tokens too. */
  async #revokingCaller(question: TokenQuestionInput, headers: GrantHeaders): Promise<Caller> {
    if (headers.bearer !== undefined) return this.#bearerOf(headers.bearer);
    const { clientAuthentication } = this.#dependencies;
    return { clientId: (await clientAuthentication.identify(credentialsOf(question, headers))).id };
  }

  async #bearerOf(token: string): Promise<Caller> {
    const { subject, sessionId } = await this.#dependencies.authenticate(token);
    const clientId = this.#dependencies.repository.findSession(subject, sessionId)?.value.client_id;
    return clientId === undefined ? { subject } : { subject, clientId };
  }

  /**
   * True when a token is the caller's: issued to the client, or to its application or a user of that application only.
   * A user's own token reaches every token of the user, but one that a client holds reaches this client's alone.
   */
  #mayKnow({ clientId, subject }: Caller, { owner, session }: DescribedToken): boolean {
    if (subject !== undefined && (owner.kind !== subject.kind || owner.id !== subject.id)) {
      return subject.kind === "application" && this.#isOfApplication(subject.id, owner, session);
    }
    return clientId === undefined || this.#isOfApplication(clientId, owner, session);
  }

  #isOfApplication(applicationId: string, owner: Subject, session: SessionRecord | undefined): boolean {
    if (session?.client_id === applicationId) return true;
    if (owner.kind === "application") return owner.id === applicationId;
    if (owner.kind !== "user" || session?.client_id !== undefined) return false;
    return this.#dependencies.repository.findUser(owner.id)?.value.application_id === applicationId;
  }

  /** Describes a token of any kind; undefined for text that is not a good token now. */
  async #find(text: string): Promise<DescribedToken | undefined> {
    if (isPersonalToken(text)) return this.#describePersonalToken(text);
    if (text.startsWith(REFRESH_TOKEN_PREFIX)) return this.#describeRefreshToken(text);
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
      claims: {
        ...this.#sessionClaims(principal.subject, session),
        token_type: "Bearer",
        exp: principal.expiresAtSec,
        ...(iat === undefined ? {} : { iat }),
        permissions: principal.permissions,
      },
    };
  }

  #describeRefreshToken(text: string): DescribedToken | undefined {
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
      claims: {
        ...this.#sessionClaims(found.subject, session),
        exp: Math.floor(Math.min(session.ends_at_ms, refresh.idle_until_ms) / 1000),
      },
    };
  }

  #describePersonalToken(text: string): DescribedToken | undefined {
    const record = this.#dependencies.personalTokens.findByText(text);
    if (record === undefined) return undefined;
    const owner: Subject = { kind: record.owner_kind, id: record.owner_id };
    const held = this.#dependencies.access.permissionsOf(owner, record);
    if (held === undefined) return undefined;
    return {
      owner,
      session: undefined,
      id: record.id,
      claims: {
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

  #sessionClaims(owner: Subject, session: SessionRecord): Omit<IntrospectionJson, "active"> {
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

function credentialsOf(question: TokenQuestionInput, headers: GrantHeaders): ClientCredentials {
  return {
    client_id: question.client_id,
    client_secret: question.client_secret,
    client_assertion: question.client_assertion,
    client_assertion_type: question.client_assertion_type,
    authorization: headers.authorization,
  };
}

/** `token` is required by RFC 7662 section 2.1 and RFC 7009 section 2.1. */
function requireToken({ token }: TokenQuestionInput): string {
  if (token === undefined || token === "") throw new AppError("invalid_request", { message: "token is required" });
  return token;
}
