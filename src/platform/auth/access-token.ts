/**
 * Access tokens: JWTs of type `at+jwt` (RFC 9068), verified as RFC 8725 recommends. A token that is not written exactly
 * as this service writes its tokens is rejected before any signature is computed. A token that passed is cached for a
 * minute, because a verification costs 0.1 ms.
 */
import { hash } from "node:crypto";
import type { JWTPayload } from "jose";
import { LRUCache } from "lru-cache";
import type { Clock } from "../clock.js";
import type { Area } from "../contract/route.js";
import { AppError } from "../errors.js";
import { isUuid } from "../ids.js";
import { PerTickCache } from "../concurrency/per-tick-cache.js";
import { PERMISSIONS_MAX } from "./permissions.js";
import { formatSubject, parseSubject, type Principal, type Subject } from "./principal.js";
import { claimsOf, readOwnJws } from "./own-jws.js";
import type { VerificationKeys } from "./signing-keys.js";
import {
  ACCESS_TOKEN_CHARACTERS_MAX,
  ACCESS_TOKEN_LIFE_SEC,
  AUDIENCES,
  CLOCK_TOLERANCE_SEC,
  TOKEN_LIFE_SEC_MAX,
  type Audience,
} from "./token-limits.js";

/**
 * The state of a token's subject and session, checked at each use of the token. Answers from memory or in microseconds.
 */
export interface TokenStateLookup {
  /**
   * A number that changes whenever this process may have changed an answer below; while it stays the same, a use within
   * the same second skips the reads.
   */
  revision(): number;
  /** Epoch of a subject that exists and is enabled; undefined otherwise. A token of an older epoch is void. */
  epochOf(subject: Subject): number | undefined;
  /** True while the session (token family) exists and is not revoked or expired. */
  isSessionLive(subject: Subject, sessionId: string): boolean;
}

/** The claims that this service signs; a token with any other claim is rejected. */
export interface AccessClaims extends JWTPayload {
  readonly iss: string;
  readonly aud: Audience[];
  readonly sub: string;
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
  readonly jti: string;
  /** Session that the token belongs to. */
  readonly sid: string;
  /** Permission bits. */
  readonly perm: number;
  /** Epoch of the subject when the token was signed. */
  readonly ep: number;
  /** The user on whose behalf an application or organization token acts. */
  readonly act?: string;
  /** The OAuth client that the token was issued to, and the scope that it was granted (RFC 9068 section 2.2). */
  readonly client_id?: string;
  readonly scope?: string;
}

export interface AccessTokenOptions {
  /** The one exact `iss`. */
  readonly issuer: string;
  /** Verified tokens in the cache. */
  readonly cachedTokensMax?: number;
}

export interface AccessTokenDependencies {
  readonly clock: Clock;
  readonly keys: VerificationKeys;
  readonly state: TokenStateLookup;
}

/** What is known of a token whose signature and claims were verified, and what each later use checks. */
interface VerifiedToken {
  readonly principal: Principal;
  readonly epoch: number;
  readonly audiences: readonly string[];
  /** When the token must be verified anew, in wall clock milliseconds. */
  readonly cachedUntilMs: number;
  readonly verifiedAtMs: number;
  readonly encodedHeader: string;
  /** When the state of subject and session was last read, and at which revision. */
  stateReadAtMs: number;
  stateRevision: number;
}

/** 10 MB at about 1 KB each: more sessions than one node serves within a minute. */
const CACHED_TOKENS_MAX = 10_000;
/** A cached token is verified anew after this time. */
const CACHE_TTL_MS = 60_000;
/**
 * How old a state may be that was read at the current revision. A change by this process takes effect at once; a change
 * by another process, once there are several, takes effect within this time. Reading costs 6 us of the 8 us of a use.
 */
const STATE_AGE_MAX_MS = 1000;
const CLAIM_NAMES: ReadonlySet<string> = new Set([
  "iss",
  "aud",
  "sub",
  "iat",
  "nbf",
  "exp",
  "jti",
  "sid",
  "perm",
  "ep",
  "act",
  "client_id",
  "scope",
]);
const AUDIENCE_OF_AREA: Readonly<Record<Area, Audience | undefined>> = {
  prover: "privacy",
  vault: "vault",
  chain: "chain",
  identity: "ident",
  service: undefined,
};

/** Verifies access tokens. */
export class AccessTokenVerifier {
  readonly #issuer: string;
  readonly #clock: Clock;
  readonly #keys: VerificationKeys;
  readonly #state: TokenStateLookup;
  /** By a hash of the token, so that a reader of this memory finds no usable token. */
  readonly #cache: LRUCache<string, VerifiedToken>;
  readonly #cacheKeys = new PerTickCache((token) => hash("sha256", token, "base64"));

  constructor(options: AccessTokenOptions, dependencies: AccessTokenDependencies) {
    this.#issuer = options.issuer;
    this.#cache = new LRUCache({ max: options.cachedTokensMax ?? CACHED_TOKENS_MAX });
    this.#clock = dependencies.clock;
    this.#keys = dependencies.keys;
    this.#state = dependencies.state;
  }

  /**
   * Returns the caller that a token stands for. Takes microseconds when the token was verified within the last minute,
   * else a tenth of a millisecond.
   * @param token compact JWS, as it stood after `bearer `
   * @param area area that the request is for; without it the token must be meant for every area
   * @throws unauthorized always with the same message, whichever check failed
   */
  authenticate(token: string, area?: Area): Principal {
    if (token.length > ACCESS_TOKEN_CHARACTERS_MAX) throw refusal();
    const cacheKey = this.#cacheKeys.get(token);
    const cached = this.#cache.get(cacheKey);
    if (cached !== undefined) {
      const nowMs = this.#clock.nowMs();
      if (nowMs < cached.cachedUntilMs && nowMs >= cached.verifiedAtMs) return this.#admit(cached, area, nowMs);
      this.#cache.delete(cacheKey);
    }
    return this.#verify(token, cacheKey, area);
  }

  #verify(token: string, cacheKey: string, area: Area | undefined): Principal {
    const jws = readOwnJws(token);
    const key = jws === undefined ? undefined : this.#keys.findByHeader(jws.encodedHeader);
    // The answer does not tell an attacker which check failed.
    if (jws === undefined || key?.signed(jws.signingInput, jws.signature) !== true) throw refusal();
    const { encodedHeader } = jws;
    const verifiedAtMs = this.#clock.nowMs();
    const claims = readClaims(claimsOf(jws), { issuer: this.#issuer, nowSec: Math.floor(verifiedAtMs / 1000) });
    if (claims === undefined) throw refusal();
    const cachedUntilMs = Math.min(verifiedAtMs + CACHE_TTL_MS, claims.principal.expiresAtSec * 1000);
    const verified: VerifiedToken = {
      ...claims,
      encodedHeader,
      verifiedAtMs,
      cachedUntilMs,
      stateReadAtMs: -Infinity,
      stateRevision: -1,
    };
    const principal = this.#admit(verified, area, this.#clock.nowMs());
    if (verified.cachedUntilMs > verifiedAtMs) this.#cache.set(cacheKey, verified);
    return principal;
  }

  /** The checks of every use: time, key, subject, epoch, session, audience. */
  #admit(token: VerifiedToken, area: Area | undefined, nowMs: number): Principal {
    const { principal } = token;
    if (nowMs >= (principal.expiresAtSec + CLOCK_TOLERANCE_SEC) * 1000) throw refusal();
    if (this.#keys.findByHeader(token.encodedHeader) === undefined) throw refusal();
    this.#requireLiveState(token, nowMs);
    if (!isMeantFor(token.audiences, area)) throw refusal();
    return principal;
  }

  #requireLiveState(token: VerifiedToken, nowMs: number): void {
    const revision = this.#state.revision();
    const ageMs = nowMs - token.stateReadAtMs;
    if (revision === token.stateRevision && ageMs >= 0 && ageMs < STATE_AGE_MAX_MS) return;
    const { subject, sessionId } = token.principal;
    const epoch = this.#state.epochOf(subject);
    if (epoch === undefined || token.epoch < epoch || !this.#state.isSessionLive(subject, sessionId)) throw refusal();
    token.stateReadAtMs = nowMs;
    token.stateRevision = revision;
  }
}

/** Returns the claims of a new access token for a subject, valid from now. */
export function accessClaims(input: {
  readonly issuer: string;
  readonly subject: Subject;
  readonly permissions: number;
  readonly epoch: number;
  readonly tokenId: string;
  readonly sessionId: string;
  readonly nowSec: number;
  /** Unix seconds at which the session ends; the token does not outlive it. */
  readonly notAfterSec?: number;
  /** `act`: the user on whose behalf an application's or organization's token acts. */
  readonly actingUserId?: string;
  /** The OAuth client that gets the token, if any. */
  readonly client?: { readonly id: string; readonly scope: string };
}): AccessClaims {
  const { nowSec } = input;
  const exp = Math.min(
    nowSec + ACCESS_TOKEN_LIFE_SEC[input.subject.kind],
    input.notAfterSec ?? Number.MAX_SAFE_INTEGER,
  );
  return {
    iss: input.issuer,
    aud: [...AUDIENCES],
    sub: formatSubject(input.subject),
    iat: nowSec,
    nbf: nowSec,
    exp,
    jti: input.tokenId,
    sid: input.sessionId,
    perm: input.permissions,
    ep: input.epoch,
    ...(input.actingUserId === undefined ? {} : { act: input.actingUserId }),
    ...(input.client === undefined ? {} : { client_id: input.client.id }),
    ...(input.client === undefined || input.client.scope === "" ? {} : { scope: input.client.scope }),
  };
}

function refusal(): AppError {
  return new AppError("unauthorized", { message: "unauthorized" });
}

function isMeantFor(audiences: readonly string[], area: Area | undefined): boolean {
  if (area === undefined) return AUDIENCES.every((audience) => audiences.includes(audience));
  const needed = AUDIENCE_OF_AREA[area];
  return needed === undefined ? audiences.length > 0 : audiences.includes(needed);
}

/** Checks issuer, times, claim names, types, ids and lifetime. Returns undefined when any of them is wrong. */
function readClaims(
  payload: JWTPayload | undefined,
  { issuer, nowSec }: { readonly issuer: string; readonly nowSec: number },
): Pick<VerifiedToken, "principal" | "epoch" | "audiences"> | undefined {
  if (payload?.iss !== issuer || !Object.keys(payload).every((name) => CLAIM_NAMES.has(name))) return undefined;
  const { aud, iat, nbf, exp, jti, sid, perm, ep, act, client_id: clientId, scope } = payload;
  const subject = parseSubject(payload.sub);
  if (subject === undefined || !isId(jti) || !isId(sid) || !isIdOrAbsent(act)) return undefined;
  if (!isClientPart(clientId, scope)) return undefined;
  if (!isCount(iat) || !isCount(nbf) || !isCount(exp) || !isCount(ep) || !isCount(perm) || perm > PERMISSIONS_MAX)
    return undefined;
  if (
    exp <= iat ||
    exp - iat > ACCESS_TOKEN_LIFE_SEC[subject.kind] ||
    !isAudienceList(aud) ||
    !isTimely({ iat, nbf, exp }, nowSec)
  )
    return undefined;
  const principal: Principal = {
    subject,
    permissions: perm,
    tokenId: jti,
    sessionId: sid,
    expiresAtSec: exp,
    ...(act === undefined ? {} : { actingUserId: act }),
  };
  return { principal, epoch: ep, audiences: aud };
}

/**
 * Checks the times of RFC 7519, sections 4.1.4 to 4.1.6, with tolerance for the clocks of other machines, and rejects a
 * token that was issued in the future or longer ago than any token may live.
 */
function isTimely(
  { iat, nbf, exp }: { readonly iat: number; readonly nbf: number; readonly exp: number },
  nowSec: number,
): boolean {
  const [early, late] = [nowSec - CLOCK_TOLERANCE_SEC, nowSec + CLOCK_TOLERANCE_SEC];
  return exp > early && nbf <= late && iat <= late && iat >= early - TOKEN_LIFE_SEC_MAX;
}

function isAudienceList(value: unknown): value is Audience[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= AUDIENCES.length &&
    value.every((item) => AUDIENCES.some((audience) => audience === item))
  );
}

function isIdOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || isId(value);
}

/** A scope is a client's, and grants nothing by itself: `perm` does. */
function isClientPart(clientId: unknown, scope: unknown): boolean {
  if (clientId === undefined) return scope === undefined;
  return isId(clientId) && (scope === undefined || typeof scope === "string");
}

function isId(value: unknown): value is string {
  return typeof value === "string" && isUuid(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
