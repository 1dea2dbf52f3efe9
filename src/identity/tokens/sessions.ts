/**
 * Sessions (token families): one login and everything refreshed from it. Refresh tokens rotate with reuse detection
 * (RFC 9700 section 4.14.2); ending a session also voids its access tokens. Checks no passwords.
 */
import { accessClaims } from "../../platform/auth/access-token.js";
import { PERMISSIONS, PERMISSIONS_MAX, holdsAll } from "../../platform/auth/permissions.js";
import { sameHash } from "../../platform/auth/opaque-token.js";
import type { Subject } from "../../platform/auth/principal.js";
import {
  createRefreshToken,
  createSuccessorSalt,
  parseRefreshToken,
  succeedingToken,
  type RefreshToken,
} from "../../platform/auth/refresh-token.js";
import type { SigningKeys } from "../../platform/auth/signing-keys.js";
import { ACCESS_TOKEN_LIFE_SEC } from "../../platform/auth/token-limits.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import type { StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import { KeyedMutex } from "../../platform/concurrency/keyed-mutex.js";
import { byCreation } from "../listing.js";
import type { IdentityRepository, RefreshState, SessionRecord } from "../repository.js";
import type { TokenJson } from "../schemas.js";
import type { TenantAccess } from "../tenants/tenant-access.js";
import {
  OFFLINE_ACCESS,
  grantedClientScope,
  grantedScope,
  isNamingNothing,
  isWithinScope,
  scopePermissions,
} from "./scope.js";

export interface SessionsOptions {
  /** `iss` of the access tokens. */
  readonly issuer: string;
}

export interface SessionsDependencies {
  readonly repository: IdentityRepository;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly log: Log;
  readonly access: Pick<TenantAccess, "permissionsOf">;
}

/** A session to be opened. */
export interface NewSession {
  readonly subject: Subject;
  /** The subject's epoch when its right to the session was checked. */
  readonly epoch: number;
  /** Granted scope (`grantedScope`). Only `offline_access` brings a refresh token. */
  readonly scope: string;
  readonly attributes?: Pick<
    SessionRecord,
    "permissions_max" | "acting_user_id" | "acting_organization_id" | "client_id" | "password_at_ms" | "derived"
  >;
}

/** A session that is not committed yet: its records, and what signing its token needs. */
export interface PreparedSession {
  readonly commit: StoreCommit;
  readonly subject: Subject;
  readonly session: SessionRecord;
  readonly refreshToken: string | undefined;
}

/** The longest life of a session with a refresh token, however often it is refreshed. */
export const SESSION_LIFE_MS = 30 * 24 * 3600 * 1000;
/** A session that was not refreshed for this long is over. */
const IDLE_LIFE_MS = 7 * 24 * 3600 * 1000;
/**
 * A replaced token gets its successor again for this long: the response may have been lost, or the windows of one
 * browser refreshed at once.
 */
const REUSE_GRACE_MS = 10_000;
/** Live sessions of one subject; beyond it the oldest ends. Bounds the room that one set of credentials can fill. */
const SESSIONS_MAX = 200;
/** From this many records on, opening a session deletes those that are over. */
const SESSIONS_CLEANUP_FROM = 50;
/** Derived sessions that one commit ends. */
const DERIVED_BATCH = 200;
/** Refreshes with tokens of one family that may wait for each other. */
const REFRESHES_WAITING_MAX = 64;

export class Sessions {
  readonly #issuer: string;
  readonly #repository: IdentityRepository;
  readonly #keys: SigningKeys;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #access: SessionsDependencies["access"];
  readonly #turns = new KeyedMutex({ waitingMax: REFRESHES_WAITING_MAX });

  constructor(options: SessionsOptions, dependencies: SessionsDependencies) {
    this.#issuer = options.issuer;
    this.#repository = dependencies.repository;
    this.#keys = dependencies.keys;
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
    this.#access = dependencies.access;
  }

  /** Returns the records of a new session; it begins when its commit is written. */
  prepare({ subject, epoch, scope, attributes }: NewSession): PreparedSession {
    const now = this.#clock.nowMs();
    const untilMs = attributes?.derived?.until_ms ?? Infinity;
    const token = isWithinScope(OFFLINE_ACCESS, scope) ? createRefreshToken() : undefined;
    const session: SessionRecord = {
      id: newId(),
      created_at: isoTimestamp(now),
      epoch,
      scope,
      ends_at_ms: Math.min(
        untilMs,
        now + (token === undefined ? ACCESS_TOKEN_LIFE_SEC[subject.kind] * 1000 : SESSION_LIFE_MS),
      ),
      refresh: token === undefined ? null : firstRefreshState(token, now),
      ...attributes,
    };
    const commit = mergeCommits(
      this.#repository.createSessionCommit(subject, session),
      this.#cleanupCommit(subject, now),
    );
    return { commit, subject, session, refreshToken: token?.text };
  }

  /**
   * Commits a prepared session and signs its first token.
   * @param permissions the bits that the subject holds
   */
  async open(prepared: PreparedSession, permissions: number): Promise<TokenJson> {
    await this.#repository.commit(prepared.commit);
    return this.issueToken(prepared, permissions);
  }

  /**
   * Signs a token of a session whose records are committed.
   * @param permissions the bits that the subject holds; the token carries those that the session's limit allows
   */
  async issueToken(prepared: PreparedSession, permissions: number): Promise<TokenJson> {
    const { subject, session, refreshToken } = prepared;
    const nowSec = Math.floor(this.#clock.nowMs() / 1000);
    const notAfterSec = Math.floor(session.ends_at_ms / 1000);
    const granted = permissions & (session.permissions_max ?? PERMISSIONS_MAX);
    const { acting_user_id: actingUserId, client_id: clientId, scope } = session;
    // Existing clients take the id of the response for the `jti`; for a session's first token they are the same.
    const tokenId = (session.refresh?.generation ?? 1) === 1 ? session.id : newId();
    const claims = accessClaims({
      issuer: this.#issuer,
      subject,
      permissions: granted,
      epoch: session.epoch,
      tokenId,
      sessionId: session.id,
      nowSec,
      notAfterSec,
      ...(actingUserId === undefined ? {} : { actingUserId }),
      ...(clientId === undefined ? {} : { client: { id: clientId, scope } }),
    });
    return {
      id: session.id,
      access_token: await this.#keys.sign(claims),
      expires_in: claims.exp - nowSec,
      permissions: granted,
      ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
      ...(session.scope === "" ? {} : { scope: session.scope }),
    };
  }

  /**
   * Exchanges a refresh token for a new pair of tokens. The token that was replaced last gets the same refresh token
   * again for ten seconds; any other use of a replaced token ends the session.
   * @param isHolder tells whether the caller is the OAuth client with this id; called for sessions of clients only
   * @throws invalid_grant for a token that is unknown, expired, reused or of another client; permission_escalation for
   *   a wider scope than the session's, and for a client's scope of unknown words only
   */
  async refresh(
    text: string,
    requestedScope: string | undefined,
    isHolder: (clientId: string) => boolean,
  ): Promise<TokenJson> {
    const token = parseRefreshToken(text);
    if (token === undefined) throw invalidGrant();
    const { prepared, permissions } = await this.#turns.run(token.handleHash, () =>
      retryOnConflict(() => this.#rotate(token, requestedScope, isHolder)),
    );
    return this.issueToken(prepared, permissions);
  }

  /**
   * Ends one session: its access and refresh tokens, and the sessions derived from them, are void from now on.
   * @returns false when there is no such session
   */
  async end(subject: Subject, sessionId: string): Promise<boolean> {
    return retryOnConflict(async () => {
      const session = this.#repository.findSession(subject, sessionId);
      if (session === undefined) return false;
      await this.#endWithDerived(subject, session);
      return true;
    });
  }

  /**
   * Ends the sessions that were derived from a subject's tokens, so that a void token leaves nothing behind.
   * @param tokenId only sessions derived from this token; undefined for all
   */
  async endDerived(subject: Subject, tokenId?: string): Promise<void> {
    for (;;) {
      const more = await retryOnConflict(async () => {
        const { commit, count } = this.#derivedCommit(subject, tokenId);
        if (count > 0) await this.#repository.commit(commit);
        return count === DERIVED_BATCH;
      });
      if (!more) return;
    }
  }

  /** Ends the sessions of a subject for which `isEnding` returns true, and the sessions derived from them. */
  async endWhere(subject: Subject, isEnding: (session: SessionRecord) => boolean): Promise<void> {
    const ended = await retryOnConflict(async () => {
      const ending = this.#repository.listSessions(subject).filter(({ value }) => isEnding(value));
      if (ending.length > 0)
        await this.#repository.commit(
          mergeCommits(...ending.map((session) => this.#repository.deleteSessionCommit(session))),
        );
      return ending;
    });
    for (const { value } of ended) await this.endDerived(subject, value.id);
  }

  /** Returns the sessions of a subject that are not over, oldest first. */
  live(subject: Subject): SessionRecord[] {
    const now = this.#clock.nowMs();
    const epoch = this.#repository.findState(subject)?.value.epoch ?? 0;
    return this.#repository
      .listSessions(subject)
      .map(({ value }) => value)
      .filter((session) => !isOver(session, epoch, now))
      .sort(byCreation);
  }

  /**
   * Returns the commit that ends every session of a subject and up to 200 derived ones, for merging into another;
   * `endDerived` must follow it and ends the rest.
   */
  endAllCommit(subject: Subject): StoreCommit {
    const state = this.#repository.findState(subject);
    if (state === undefined) return {};
    // The new epoch voids sessions and tokens alike; the records of the sessions are deleted later, by `prepare`.
    return mergeCommits(
      this.#repository.replaceStateCommit(state, { ...state.value, epoch: state.value.epoch + 1 }),
      this.#derivedCommit(subject, undefined).commit,
    );
  }

  async #rotate(
    token: RefreshToken,
    requestedScope: string | undefined,
    isHolder: (clientId: string) => boolean,
  ): Promise<{ prepared: PreparedSession; permissions: number }> {
    const found = this.#repository.findSessionByHandle(token.handleHash);
    const refresh = found?.session.value.refresh;
    if (found === undefined || refresh === null || refresh === undefined) throw invalidGrant();
    const { subject, session } = found;
    const clientId = session.value.client_id;
    if (clientId !== undefined && !isHolder(clientId)) throw invalidGrant();
    const now = this.#clock.nowMs();
    const permissions = this.#livePermissions(subject, session.value, refresh, now);
    if (permissions === undefined) return this.#endAtRefresh(subject, session, "session over");
    const state = nextRefreshState(token, refresh, now);
    if (state === undefined) return this.#endAtRefresh(subject, session, "refresh token reused");
    const grant = clientId === undefined ? grantedScope : grantedClientScope;
    const isUnknown = clientId !== undefined && isNamingNothing(requestedScope ?? "");
    if (isUnknown || (requestedScope !== undefined && !isWithinScope(grant(requestedScope), session.value.scope))) {
      throw new AppError("permission_escalation", { message: "a refresh cannot widen the session's scope" });
    }
    const value: SessionRecord = { ...session.value, refresh: state.refresh };
    const commit = this.#repository.replaceSessionCommit(session, value);
    if (!state.isRepeated) await this.#repository.commit(commit);
    // A client that requests a narrower scope gets a token of fewer bits; the session keeps its scope.
    const isNarrower = clientId !== undefined && requestedScope !== undefined;
    const narrowed = isNarrower ? permissions & scopePermissions(requestedScope) : permissions;
    const answered = isNarrower ? { ...value, scope: grantedClientScope(requestedScope) } : value;
    return { prepared: { commit, subject, session: answered, refreshToken: state.token.text }, permissions: narrowed };
  }

  /**
   * Returns the permissions that the subject holds now; undefined when the session is over, or its subject is deleted,
   * disabled or of a later epoch.
   */
  #livePermissions(subject: Subject, session: SessionRecord, refresh: RefreshState, nowMs: number): number | undefined {
    if (nowMs >= session.ends_at_ms || nowMs >= refresh.idle_until_ms) return undefined;
    const state = this.#repository.findState(subject)?.value;
    if (state === undefined || !state.enabled || session.epoch < state.epoch) return undefined;
    const permissions = this.#access.permissionsOf(subject, session);
    // Only users log in, so only they hold the bit `authenticate`.
    return permissions !== undefined && (subject.kind !== "user" || holdsAll(permissions, PERMISSIONS.authenticate))
      ? permissions
      : undefined;
  }

  async #endAtRefresh(subject: Subject, session: StoreRecord<SessionRecord>, reason: string): Promise<never> {
    await this.#endWithDerived(subject, session);
    this.#log.warn("session ended at refresh", { subject: `${subject.kind}:${subject.id}`, state: reason });
    throw invalidGrant();
  }

  /** Uses one commit unless there are very many, so that no derived session survives a crash. */
  async #endWithDerived(subject: Subject, session: StoreRecord<SessionRecord>): Promise<void> {
    const derived = this.#derivedCommit(subject, session.value.id);
    await this.#repository.commit(mergeCommits(this.#repository.deleteSessionCommit(session), derived.commit));
    if (derived.count === DERIVED_BATCH) await this.endDerived(subject, session.value.id);
  }

  #derivedCommit(
    subject: Subject,
    tokenId: string | undefined,
  ): { readonly commit: StoreCommit; readonly count: number } {
    const batch = this.#repository.someDerived(subject, tokenId, DERIVED_BATCH);
    // A session derived from several tokens of the subject occurs several times.
    const sessions = new Map(
      batch.flatMap(({ session }) => (session === undefined ? [] : [[session.key.join(" "), session] as const])),
    );
    const stale = batch.filter(({ session }) => session === undefined).map(({ entry }) => entry);
    return {
      commit: mergeCommits(...[...sessions.values()].map((session) => this.#repository.deleteSessionCommit(session)), {
        deletes: stale,
      }),
      count: batch.length,
    };
  }

  /** Deletes the sessions that are over, and the oldest ones beyond the limit. */
  #cleanupCommit(subject: Subject, nowMs: number): StoreCommit {
    if (this.#repository.countSessions(subject) < SESSIONS_CLEANUP_FROM) return {};
    const epoch = this.#repository.findState(subject)?.value.epoch ?? 0;
    const sessions = this.#repository
      .listSessions(subject)
      .sort((a, b) => b.value.created_at.localeCompare(a.value.created_at));
    const live = sessions.filter(({ value }) => !isOver(value, epoch, nowMs));
    const ending = [...sessions.filter(({ value }) => isOver(value, epoch, nowMs)), ...live.slice(SESSIONS_MAX - 1)];
    return mergeCommits(...ending.map((session) => this.#repository.deleteSessionCommit(session)));
  }
}

function isOver(session: SessionRecord, epoch: number, nowMs: number): boolean {
  return nowMs >= session.ends_at_ms || nowMs >= (session.refresh?.idle_until_ms ?? Infinity) || session.epoch < epoch;
}

function firstRefreshState(token: RefreshToken, nowMs: number): RefreshState {
  return {
    handle_hash: token.handleHash,
    generation: 1,
    current_hash: token.tokenHash,
    previous_hash: null,
    previous_until_ms: 0,
    idle_until_ms: nowMs + IDLE_LIFE_MS,
  };
}

/**
 * Returns the family's next state and token; undefined when the presented token may no longer be used. `isRepeated`
 * when it was replaced a moment ago and its successor, unused yet, is answered again.
 */
function nextRefreshState(
  presented: RefreshToken,
  state: RefreshState,
  nowMs: number,
): { readonly refresh: RefreshState; readonly token: RefreshToken; readonly isRepeated: boolean } | undefined {
  const isCurrent = sameHash(presented.tokenHash, state.current_hash);
  const isRetry =
    state.previous_hash !== null &&
    sameHash(presented.tokenHash, state.previous_hash) &&
    nowMs < state.previous_until_ms;
  if (!isCurrent && !isRetry) return undefined;
  if (isRetry && state.successor_salt !== undefined)
    return { refresh: state, token: succeedingToken(presented, state.successor_salt), isRepeated: true };
  const salt = createSuccessorSalt();
  const token = succeedingToken(presented, salt);
  const refresh: RefreshState = {
    ...state,
    generation: state.generation + 1,
    current_hash: token.tokenHash,
    successor_salt: salt,
    idle_until_ms: nowMs + IDLE_LIFE_MS,
    ...(isCurrent ? { previous_hash: presented.tokenHash, previous_until_ms: nowMs + REUSE_GRACE_MS } : {}),
  };
  return { refresh, token, isRepeated: false };
}

function invalidGrant(): AppError {
  return new AppError("invalid_grant", { message: "the refresh token is not valid" });
}
