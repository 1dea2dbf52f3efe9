/**
 * Sessions (token families): one login and all that is refreshed from it. Refresh tokens rotate with reuse detection
 * (RFC 9700 section 4.14.2); ending a session voids its access tokens too. Asks nobody for a password.
 */
import { accessClaims } from "../../platform/auth/access-token.js";
import { PERMISSIONS, PERMISSIONS_MAX, holdsAll } from "../../platform/auth/permissions.js";
import { sameHash } from "../../platform/auth/opaque-token.js";
import type { Subject } from "../../platform/auth/principal.js";
import { createRefreshToken, parseRefreshToken, type RefreshToken } from "../../platform/auth/refresh-token.js";
import type { SigningKeys } from "../../platform/auth/signing-keys.js";
import { ACCESS_TOKEN_LIFE_SEC } from "../../platform/auth/token-limits.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import type { StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import { KeyedMutex } from "../../platform/concurrency/keyed-mutex.js";
import type { IdentityRepository, RefreshState, SessionRecord } from "../repository.js";
import type { TokenJson } from "../schemas.js";
import { OFFLINE_ACCESS, grantedClientScope, grantedScope, isWithinScope, scopePermissions } from "./scope.js";

export interface SessionsOptions {
  /** `iss` of the access tokens. */
  readonly issuer: string;
}

export interface SessionsDependencies {
  readonly repository: IdentityRepository;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly log: Log;
  /** Permissions that a subject holds now, acting for whom the session says; undefined when it may no longer act so. */
  readonly permissionsOf: (subject: Subject, session: SessionRecord) => number | undefined;
}

/** What a new session is for. */
export interface NewSession {
  readonly subject: Subject;
  /** The subject's epoch, as it was when its right to the session was checked. */
  readonly epoch: number;
  /** Granted scope (`grantedScope`). A refresh token comes only with `offline_access`. */
  readonly scope: string;
  readonly marks?: Pick<
    SessionRecord,
    "permissions_max" | "acting_user_id" | "acting_organization_id" | "client_id" | "password_at_ms" | "derived"
  >;
}

/** A session that is about to begin: its records, and what its token needs. */
export interface PreparedSession {
  readonly commit: StoreCommit;
  readonly subject: Subject;
  readonly session: SessionRecord;
  readonly refreshToken: string | undefined;
}

/** A refreshed session ends after this long, however often it was refreshed. */
export const SESSION_LIFE_MS = 30 * 24 * 3600 * 1000;
/** A session that was not refreshed for this long is over. */
const IDLE_LIFE_MS = 7 * 24 * 3600 * 1000;
/** How long the replaced token may come again, because the answer with its successor may have been lost. */
const REUSE_GRACE_MS = 10_000;
/** Live sessions of one subject; the oldest gives way. Bounds what one set of credentials can fill the store with. */
const SESSIONS_MAX = 200;
/** From this many records on, opening a session clears away those that are over. */
const SESSIONS_TIDY_FROM = 50;
/** Sessions made by other tokens that one commit ends. */
const DERIVED_BATCH = 200;
/** Refreshes with one family's tokens that may stand in line. */
const REFRESHES_WAITING_MAX = 64;

export class Sessions {
  readonly #issuer: string;
  readonly #repository: IdentityRepository;
  readonly #keys: SigningKeys;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #permissionsOf: SessionsDependencies["permissionsOf"];
  readonly #turns = new KeyedMutex({ waitingMax: REFRESHES_WAITING_MAX });

  constructor(options: SessionsOptions, dependencies: SessionsDependencies) {
    this.#issuer = options.issuer;
    this.#repository = dependencies.repository;
    this.#keys = dependencies.keys;
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
    this.#permissionsOf = dependencies.permissionsOf;
  }

  /** Prepares a session; it begins when the commit is done. */
  prepare({ subject, epoch, scope, marks }: NewSession): PreparedSession {
    const now = this.#clock.nowMs();
    const untilMs = marks?.derived?.until_ms ?? Infinity;
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
      ...marks,
    };
    const commit = mergeCommits(this.#repository.createSessionCommit(subject, session), this.#tidyCommit(subject, now));
    return { commit, subject, session, refreshToken: token?.text };
  }

  /** Commits a prepared session and signs its first token. */
  async open(prepared: PreparedSession, permissions: number): Promise<TokenJson> {
    await this.#repository.commit(prepared.commit);
    return this.issueToken(prepared, permissions);
  }

  /** Signs the token of a session whose records are committed; it carries the given bits up to the session's limit. */
  async issueToken(prepared: PreparedSession, permissions: number): Promise<TokenJson> {
    const { subject, session, refreshToken } = prepared;
    const nowSec = Math.floor(this.#clock.nowMs() / 1000);
    const notAfterSec = Math.floor(session.ends_at_ms / 1000);
    const granted = permissions & (session.permissions_max ?? PERMISSIONS_MAX);
    const actingUserId = session.acting_user_id;
    // Existing clients take the answer's id for the `jti`: it is, for the session's first token.
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
   * Replaces a refresh token by a new pair. Throws `invalid_grant` for a token that is unknown, over or used up (and
   * then ends the session) or of another client, `permission_escalation` for a wider scope than the session's.
   * @param mayHold whether the caller is the OAuth client that the session belongs to; asked for sessions of clients
   *   only
   */
  async refresh(
    text: string,
    requestedScope: string | undefined,
    mayHold: (clientId: string) => boolean,
  ): Promise<TokenJson> {
    const token = parseRefreshToken(text);
    if (token === undefined) throw invalidGrant();
    const { prepared, permissions } = await this.#turns.run(token.handleHash, () =>
      retryOnConflict(() => this.#rotate(token, requestedScope, mayHold)),
    );
    return this.issueToken(prepared, permissions);
  }

  /**
   * Ends one session: its access and refresh tokens and what was made by them are void from now on. False when there is
   * no such session.
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
   * Ends the sessions that were made by a subject's tokens, or by one of them; whoever has a token that is void must
   * not go on by another.
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

  /**
   * Ends those of a subject's sessions that the test names, such as the ones of a user who was removed from an
   * organization.
   */
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

  /** A subject's sessions that are not over, oldest first. */
  live(subject: Subject): SessionRecord[] {
    const now = this.#clock.nowMs();
    const epoch = this.#repository.findState(subject)?.value.epoch ?? 0;
    return this.#repository
      .listSessions(subject)
      .map(({ value }) => value)
      .filter((session) => !isOver(session, epoch, now))
      .sort((a, b) => (a.created_at + a.id < b.created_at + b.id ? -1 : 1));
  }

  /**
   * What ends every session of a subject and what was made by them, for others to merge into theirs; `endDerived` after
   * it ends the rest of very many.
   */
  endAllCommit(subject: Subject): StoreCommit {
    const state = this.#repository.findState(subject);
    if (state === undefined) return {};
    // The epoch voids sessions and tokens alike; their records go as they are tidied.
    return mergeCommits(
      this.#repository.replaceStateCommit(state, { ...state.value, epoch: state.value.epoch + 1 }),
      this.#derivedCommit(subject, undefined).commit,
    );
  }

  async #rotate(
    token: RefreshToken,
    requestedScope: string | undefined,
    mayHold: (clientId: string) => boolean,
  ): Promise<{ prepared: PreparedSession; permissions: number }> {
    const found = this.#repository.findSessionByHandle(token.handleHash);
    const refresh = found?.session.value.refresh;
    if (found === undefined || refresh === null || refresh === undefined) throw invalidGrant();
    const { subject, session } = found;
    const clientId = session.value.client_id;
    if (clientId !== undefined && !mayHold(clientId)) throw invalidGrant();
    const now = this.#clock.nowMs();
    const permissions = this.#livePermissions(subject, session.value, refresh, now);
    if (permissions === undefined) return this.#end(subject, session, "session over");
    const state = nextRefreshState(token, refresh, now);
    if (state === undefined) return this.#end(subject, session, "refresh token reused");
    if (
      requestedScope !== undefined &&
      !isWithinScope(
        clientId === undefined ? grantedScope(requestedScope) : grantedClientScope(requestedScope),
        session.value.scope,
      )
    ) {
      throw new AppError("permission_escalation", { message: "a refresh cannot widen the session's scope" });
    }
    const value: SessionRecord = { ...session.value, refresh: state.refresh };
    const commit = this.#repository.replaceSessionCommit(session, value);
    await this.#repository.commit(commit);
    // A client that asks for less scope gets a token of fewer bits; the session keeps its own.
    const isNarrower = clientId !== undefined && requestedScope !== undefined;
    const narrowed = isNarrower ? permissions & scopePermissions(requestedScope) : permissions;
    const answered = isNarrower ? { ...value, scope: grantedClientScope(requestedScope) } : value;
    return { prepared: { commit, subject, session: answered, refreshToken: state.token.text }, permissions: narrowed };
  }

  /**
   * What the subject may do now; undefined when the session is over or its subject gone, disabled or of a later epoch.
   */
  #livePermissions(subject: Subject, session: SessionRecord, refresh: RefreshState, nowMs: number): number | undefined {
    if (nowMs >= session.ends_at_ms || nowMs >= refresh.idle_until_ms) return undefined;
    const state = this.#repository.findState(subject)?.value;
    if (state === undefined || !state.enabled || session.epoch < state.epoch) return undefined;
    const permissions = this.#permissionsOf(subject, session);
    // The bit is about people logging in; applications and organizations hold none.
    return permissions !== undefined && (subject.kind !== "user" || holdsAll(permissions, PERMISSIONS.authenticate))
      ? permissions
      : undefined;
  }

  async #end(subject: Subject, session: StoreRecord<SessionRecord>, reason: string): Promise<never> {
    await this.#endWithDerived(subject, session);
    this.#log.warn("session ended at refresh", { subject: `${subject.kind}:${subject.id}`, state: reason });
    throw invalidGrant();
  }

  /** One commit for all but very many, so that nothing outlives the session by a crash. */
  async #endWithDerived(subject: Subject, session: StoreRecord<SessionRecord>): Promise<void> {
    const derived = this.#derivedCommit(subject, session.value.id);
    await this.#repository.commit(mergeCommits(this.#repository.deleteSessionCommit(session), derived.commit));
    if (derived.count === DERIVED_BATCH) await this.endDerived(subject, session.value.id);
  }

  #derivedCommit(
    subject: Subject,
    tokenId: string | undefined,
  ): { readonly commit: StoreCommit; readonly count: number } {
    const some = this.#repository.someDerived(subject, tokenId, DERIVED_BATCH);
    // A session that was made by several tokens of the subject stands here several times.
    const sessions = new Map(
      some.flatMap(({ session }) => (session === undefined ? [] : [[session.key.join(" "), session] as const])),
    );
    const stale = some.filter(({ session }) => session === undefined).map(({ entry }) => entry);
    return {
      commit: mergeCommits(...[...sessions.values()].map((session) => this.#repository.deleteSessionCommit(session)), {
        deletes: stale,
      }),
      count: some.length,
    };
  }

  /** Clears away sessions that are over, and the oldest ones beyond the limit. */
  #tidyCommit(subject: Subject, nowMs: number): StoreCommit {
    if (this.#repository.countSessions(subject) < SESSIONS_TIDY_FROM) return {};
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

/** The family's next state and token, or undefined when the presented token may no longer be used. */
function nextRefreshState(
  presented: RefreshToken,
  state: RefreshState,
  nowMs: number,
): { refresh: RefreshState; token: RefreshToken } | undefined {
  const isCurrent = sameHash(presented.tokenHash, state.current_hash);
  // The successor was not used yet, or it would be the previous one by now: its answer was lost, so it is replaced.
  const isRetry =
    state.previous_hash !== null &&
    sameHash(presented.tokenHash, state.previous_hash) &&
    nowMs < state.previous_until_ms;
  if (!isCurrent && !isRetry) return undefined;
  const token = createRefreshToken(presented.handle);
  const refresh: RefreshState = {
    ...state,
    generation: state.generation + 1,
    current_hash: token.tokenHash,
    idle_until_ms: nowMs + IDLE_LIFE_MS,
    ...(isCurrent ? { previous_hash: presented.tokenHash, previous_until_ms: nowMs + REUSE_GRACE_MS } : {}),
  };
  return { refresh, token };
}

function invalidGrant(): AppError {
  return new AppError("invalid_grant", { message: "the refresh token is not valid" });
}
