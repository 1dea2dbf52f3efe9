/**
 * Access tokens: JWTs of type `at+jwt` (RFC 9068), verified after RFC 8725. Everything that is not exactly what our own
 * signing writes is refused before any signature is computed; what passed is remembered for a minute, because a
 * verification costs 0.1 ms.
 */
import { hash } from "node:crypto";
import type { JWTPayload } from "jose";
import type { Clock } from "../clock.js";
import type { Area } from "../contract/route.js";
import { AppError } from "../errors.js";
import { isUuid } from "../ids.js";
import { PerTickCache } from "../concurrency/per-tick-cache.js";
import { PERMISSIONS_MAX } from "./permissions.js";
import { SUBJECT_KINDS, formatSubject, type Principal, type Subject, type SubjectKind } from "./principal.js";
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
 * What must hold of a token's subject and session at the moment of each use. Answers from memory or in microseconds.
 */
export interface TokenStateLookup {
  /**
   * Another number whenever this process may have changed an answer below; lets a use within the same second skip the
   * reads.
   */
  revision(): number;
  /** Epoch of a subject that exists and is enabled; undefined otherwise. A token of an older epoch is void. */
  epochOf(subject: Subject): number | undefined;
  /** True while the session (token family) lives. A session that was never seen does not live. */
  isSessionLive(subject: Subject, sessionId: string): boolean;
}

/** The claims that this service signs; nothing else is accepted back. */
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
}

export interface AccessTokenOptions {
  /** The one exact `iss`. */
  readonly issuer: string;
  /** Verified tokens that are remembered. */
  readonly cachedTokensMax?: number;
}

export interface AccessTokenDependencies {
  readonly clock: Clock;
  readonly keys: VerificationKeys;
  readonly state: TokenStateLookup;
}

/** Verified once; what is checked again at each use stands here. */
interface VerifiedToken {
  readonly principal: Principal;
  readonly epoch: number;
  readonly audiences: readonly string[];
  /** When the entry is forgotten, on the wall clock, in milliseconds. */
  readonly forgetAtMs: number;
  readonly verifiedAtMs: number;
  readonly encodedHeader: string;
  /** When the state of subject and session was last read, and at which revision. */
  stateReadAtMs: number;
  stateRevision: number;
}

/** At about 1 KB each 10 MB: more sessions than one node serves within a minute. */
const CACHED_TOKENS_MAX = 10_000;
/** A remembered token is verified anew after this long. */
const CACHE_TTL_MS = 60_000;
/**
 * How old a state may be that was read at the present revision. What this process changes counts at once; what another
 * one changes, once there are several, counts within this time. Reading costs 6 us of the 8 that a use would take.
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
  readonly #cachedTokensMax: number;
  readonly #clock: Clock;
  readonly #keys: VerificationKeys;
  readonly #state: TokenStateLookup;
  /** By a hash of the token, so that nobody who sees this memory can use what he sees. */
  readonly #cache = new Map<string, VerifiedToken>();
  readonly #cacheKeys = new PerTickCache((token) => hash("sha256", token, "base64"));

  constructor(options: AccessTokenOptions, dependencies: AccessTokenDependencies) {
    this.#issuer = options.issuer;
    this.#cachedTokensMax = options.cachedTokensMax ?? CACHED_TOKENS_MAX;
    this.#clock = dependencies.clock;
    this.#keys = dependencies.keys;
    this.#state = dependencies.state;
  }

  /**
   * The caller that a token stands for. Microseconds when the token was verified within the last minute, else a tenth
   * of a millisecond.
   * @param token compact JWS as it stood after `bearer `
   * @param area area that the request is for; without it the token must be good for every area Throws `unauthorized`,
   *   always with the same words.
   */
  authenticate(token: string, area?: Area): Principal {
    if (token.length > ACCESS_TOKEN_CHARACTERS_MAX) throw refusal();
    const cacheKey = this.#cacheKeys.get(token);
    const known = this.#cache.get(cacheKey);
    if (known !== undefined) {
      const nowMs = this.#clock.nowMs();
      if (nowMs < known.forgetAtMs && nowMs >= known.verifiedAtMs) return this.#admit(known, area, nowMs);
      this.#cache.delete(cacheKey);
    }
    return this.#verify(token, cacheKey, area);
  }

  #verify(token: string, cacheKey: string, area: Area | undefined): Principal {
    const jws = readOwnJws(token);
    const key = jws === undefined ? undefined : this.#keys.findByHeader(jws.encodedHeader);
    // Which rule failed is the attacker's question; the answer is the same for all.
    if (jws === undefined || key?.signed(jws.signingInput, jws.signature) !== true) throw refusal();
    const { encodedHeader } = jws;
    const verifiedAtMs = this.#clock.nowMs();
    const claims = readClaims(claimsOf(jws), { issuer: this.#issuer, nowSec: Math.floor(verifiedAtMs / 1000) });
    if (claims === undefined) throw refusal();
    const forgetAtMs = Math.min(verifiedAtMs + CACHE_TTL_MS, claims.principal.expiresAtSec * 1000);
    const verified: VerifiedToken = {
      ...claims,
      encodedHeader,
      verifiedAtMs,
      forgetAtMs,
      stateReadAtMs: -Infinity,
      stateRevision: -1,
    };
    const principal = this.#admit(verified, area, this.#clock.nowMs());
    if (verified.forgetAtMs > verifiedAtMs) this.#remember(cacheKey, verified);
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

  #remember(cacheKey: string, token: VerifiedToken): void {
    if (this.#cache.size >= this.#cachedTokensMax) {
      // A Map keeps insertion order, so the first entry is the one nearest to its end.
      for (const oldest of this.#cache.keys()) {
        this.#cache.delete(oldest);
        break;
      }
    }
    this.#cache.set(cacheKey, token);
  }
}

/** The claims of a new access token for a subject, valid from now. */
export function accessClaims(input: {
  readonly issuer: string;
  readonly subject: Subject;
  readonly permissions: number;
  readonly epoch: number;
  readonly tokenId: string;
  readonly sessionId: string;
  readonly nowSec: number;
  /** Shortens the life, so that a token does not outlive its session. */
  readonly notAfterSec?: number;
  /** `act`: the user on whose behalf an application's or organization's token acts. */
  readonly actingUserId?: string;
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

/** Checks issuer, times, exact types, known names, sound ids, lives. Undefined when anything is off. */
function readClaims(
  payload: JWTPayload | undefined,
  { issuer, nowSec }: { readonly issuer: string; readonly nowSec: number },
): Pick<VerifiedToken, "principal" | "epoch" | "audiences"> | undefined {
  if (payload?.iss !== issuer || !Object.keys(payload).every((name) => CLAIM_NAMES.has(name))) return undefined;
  const { aud, iat, nbf, exp, jti, sid, perm, ep, act } = payload;
  const subject = parseSubject(payload.sub);
  if (subject === undefined || !isId(jti) || !isId(sid) || (act !== undefined && !isId(act))) return undefined;
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
 * RFC 7519 sections 4.1.4 to 4.1.6, with tolerance for clocks of other machines; and no token is from the future or
 * older than any may be.
 */
function isTimely(
  { iat, nbf, exp }: { readonly iat: number; readonly nbf: number; readonly exp: number },
  nowSec: number,
): boolean {
  const [early, late] = [nowSec - CLOCK_TOLERANCE_SEC, nowSec + CLOCK_TOLERANCE_SEC];
  return exp > early && nbf <= late && iat <= late && iat >= early - TOKEN_LIFE_SEC_MAX;
}

function parseSubject(sub: unknown): Subject | undefined {
  const [kind, id, ...rest] = typeof sub === "string" ? sub.split(":") : [];
  if (rest.length > 0 || !isSubjectKind(kind) || !isId(id)) return undefined;
  return { kind, id };
}

function isSubjectKind(value: string | undefined): value is SubjectKind {
  return SUBJECT_KINDS.some((kind) => kind === value);
}

function isAudienceList(value: unknown): value is Audience[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= AUDIENCES.length &&
    value.every((item) => AUDIENCES.some((audience) => audience === item))
  );
}

function isId(value: unknown): value is string {
  return typeof value === "string" && isUuid(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
