/**
 * Authorization codes (RFC 6749 section 4.1) with PKCE S256 (RFC 7636): issued when a user grants access, redeemed
 * once, within a minute, by the client that they were issued for. Reuse of a code ends the session that it opened.
 */
import { createHash } from "node:crypto";
import { createOpaqueToken, opaqueTokenHash, sameHash } from "../../platform/auth/opaque-token.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { Store, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import { clientSession } from "./client-session.js";
import type { ClientRecord } from "./clients.js";
import { ExpiringRecords, type Expiring } from "../expiring-records.js";
import type { IdentityRepository } from "../repository.js";
import type { PreparedSession, Sessions } from "../tokens/sessions.js";

/** The access that a user granted to a client. */
export interface Consent {
  readonly client: ClientRecord;
  readonly userId: string;
  readonly epoch: number;
  readonly redirectUri: string;
  /** BASE64URL(SHA-256(verifier)). */
  readonly codeChallenge: string;
  /** Granted scope (`grantedClientScope`). */
  readonly scope: string;
  readonly nonce: string | undefined;
  readonly passwordAtMs: number | undefined;
}

type CodeRecord = Expiring & {
  readonly client_id: string;
  readonly user_id: string;
  readonly epoch: number;
  readonly redirect_uri: string;
  readonly code_challenge: string;
  readonly scope: string;
  readonly nonce: string | null;
  readonly password_at_ms: number | null;
  /** The session that the code opened; null until it is redeemed. */
  readonly session_id: string | null;
};

/** The session that a redeemed code opened, and what its id token says. */
export interface RedeemedCode {
  readonly prepared: PreparedSession;
  readonly userId: string;
  readonly scope: string;
  readonly nonce: string | undefined;
  readonly passwordAtMs: number | undefined;
}

export interface AuthorizationCodesDependencies {
  readonly store: Store;
  readonly repository: IdentityRepository;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly log: Log;
}

/** Long enough for a redirect and one request; RFC 6749 section 4.1.2 allows ten minutes. */
const CODE_LIFE_MS = 60_000;
/** A redeemed code is remembered for this long, so that its reuse is noticed. */
const REDEEMED_CODE_LIFE_MS = 10 * 60_000;
/** RFC 7636 section 4.1. */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

export class AuthorizationCodes {
  readonly #dependencies: AuthorizationCodesDependencies;
  readonly #codes: ExpiringRecords<CodeRecord>;

  constructor(dependencies: AuthorizationCodesDependencies) {
    this.#dependencies = dependencies;
    this.#codes = new ExpiringRecords({ table: "authorization_code" }, dependencies);
  }

  /** Returns a new code for a consent. */
  async issue(consent: Consent): Promise<string> {
    const { store, clock } = this.#dependencies;
    const code = createOpaqueToken("authorization_code");
    await store.commit(
      this.#codes.insertCommit(code.hash, {
        expires_at_ms: clock.nowMs() + CODE_LIFE_MS,
        client_id: consent.client.id,
        user_id: consent.userId,
        epoch: consent.epoch,
        redirect_uri: consent.redirectUri,
        code_challenge: consent.codeChallenge,
        scope: consent.scope,
        nonce: consent.nonce ?? null,
        password_at_ms: consent.passwordAtMs ?? null,
        session_id: null,
      }),
    );
    await this.#codes.sweep();
    return code.text;
  }

  /**
   * Exchanges a code for an open session. A code that was redeemed before ends the session that it opened.
   * @throws invalid_grant with the same words for every reason
   */
  async redeem(input: {
    readonly code: string;
    readonly codeVerifier: string;
    readonly redirectUri: string;
    readonly client: ClientRecord;
  }): Promise<RedeemedCode> {
    const { repository, sessions } = this.#dependencies;
    const hash = opaqueTokenHash("authorization_code", input.code);
    if (hash === undefined) throw invalidCode();
    return retryOnConflict(async () => {
      const record = this.#codes.find(hash);
      if (record === undefined || record.value.client_id !== input.client.id) throw invalidCode();
      if (record.value.session_id !== null) return this.#endReused(record);
      const { value } = record;
      const matches =
        value.redirect_uri === input.redirectUri &&
        VERIFIER.test(input.codeVerifier) &&
        sameHash(challengeOf(input.codeVerifier), value.code_challenge);
      const subject: Subject = { kind: "user", id: value.user_id };
      const state = repository.findState(subject)?.value;
      if (!matches || state?.enabled !== true || value.epoch < state.epoch) throw invalidCode();
      const { scope, user_id: userId, password_at_ms: passwordAtMs } = value;
      const prepared = sessions.prepare(
        clientSession({ clientId: input.client.id, userId, epoch: state.epoch, scope, passwordAtMs }),
      );
      const redeemed = this.#codes.replaceCommit(record, {
        ...value,
        expires_at_ms: value.expires_at_ms + REDEEMED_CODE_LIFE_MS,
        session_id: prepared.session.id,
      });
      await repository.commit(mergeCommits(prepared.commit, redeemed));
      return {
        prepared,
        userId: value.user_id,
        scope: value.scope,
        nonce: value.nonce ?? undefined,
        passwordAtMs: value.password_at_ms ?? undefined,
      };
    });
  }

  /** Somebody else has the code too, so the tokens issued from it cannot be trusted (RFC 6749 section 4.1.2). */
  async #endReused(record: StoreRecord<CodeRecord>): Promise<never> {
    const { sessions, log } = this.#dependencies;
    const { user_id: id, session_id: sessionId } = record.value;
    if (sessionId !== null) await sessions.end({ kind: "user", id }, sessionId);
    log.warn("authorization code reused", { subject: `user:${id}` });
    throw invalidCode();
  }
}

function challengeOf(verifier: string): string {
  return createHash("sha256").update(verifier, "ascii").digest("base64url");
}

function invalidCode(): AppError {
  return new AppError("invalid_grant", { message: "the authorization code is not valid" });
}
