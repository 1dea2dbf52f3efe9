/**
 * Tokens of other OpenID Connect issuers that the operator trusts. The key set is fetched from the address in the
 * operator's settings, never from an address in a token. Only the keys of a token's own issuer may verify it.
 */
import { readFile } from "node:fs/promises";
import {
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  jwtVerify,
  type FetchImplementation,
  type JWTPayload,
  type JWTVerifyGetKey,
} from "jose";
import Type, { type Static } from "typebox";
import { Compile } from "typebox/compile";
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import { StartError } from "../start-error.js";
import { CLOCK_TOLERANCE_SEC } from "./token-limits.js";

const Text = Type.String({ minLength: 1, maxLength: 500 });
const Issuer = Type.Object(
  {
    issuer: Text,
    jwks_url: Text,
    /** Audience that its tokens must name in `aud`. */
    audience: Text,
    algorithms: Type.Optional(
      Type.Array(
        Type.Union([Type.Literal("EdDSA"), Type.Literal("ES256"), Type.Literal("RS256"), Type.Literal("PS256")]),
        { minItems: 1, maxItems: 4 },
      ),
    ),
    /** `typ` of its access tokens; tokens of another type are refused when it is given. */
    token_type: Type.Optional(Text),
    claims: Type.Optional(
      Type.Object(
        {
          subject: Type.Optional(Text),
          email: Type.Optional(Text),
          first_name: Type.Optional(Text),
          last_name: Type.Optional(Text),
        },
        { additionalProperties: false },
      ),
    ),
    /** Permission bits of its users at their first login; those of any new user by default. */
    permissions: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })),
    /** False: only users who exist already may log in. */
    create_users: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
const issuersFile = Compile(Type.Array(Issuer, { maxItems: 20 }));

export type TrustedIssuer = Static<typeof Issuer>;

/** The claims of a verified token of another issuer, under this service's names. */
export interface ExternalClaims {
  readonly issuer: TrustedIssuer;
  /** The issuer's own id of the user; exact text. */
  readonly subject: string;
  readonly email: string | undefined;
  readonly firstName: string | undefined;
  readonly lastName: string | undefined;
  readonly expiresAtSec: number;
}

/** Shortest time between two fetches that unknown key ids cause, so that forged ids cause no traffic. */
const JWKS_COOLDOWN_MS = 30_000;
const JWKS_MAX_AGE_MS = 10 * 60_000;
const JWKS_TIMEOUT_MS = 5_000;
/**
 * Shortest time between a failed fetch and the next one: until a fetch succeeds, every token would cause one.
 */
const JWKS_RETRY_MS = 10_000;
/** Enough for a hundred keys of 4096 bits. */
const JWKS_CHARACTERS_MAX = 256 * 1024;
/** Access tokens are short-lived: a token issued longer ago is rejected. */
const TOKEN_AGE_SEC_MAX = 24 * 3600;
const SUBJECT_CHARACTERS_MAX = 255;
const NAME_CHARACTERS_MAX = 100;
const ALGORITHMS_DEFAULT: readonly string[] = ["EdDSA", "ES256", "RS256", "PS256"];

/** Reads and checks the operator's list of issuers. Throws a StartError that says what is wrong with it. */
export async function readTrustedIssuers(path: string): Promise<TrustedIssuer[]> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw new StartError(`the file of trusted issuers, ${path}, cannot be read as JSON`, { cause: error });
  }
  if (!issuersFile.Check(value))
    throw new StartError(
      `the file of trusted issuers, ${path}, does not have the expected form, a list of {issuer, jwks_url, audience, ...}`,
    );
  for (const { jwks_url: url } of value) requireSafeUrl(url, path);
  if (new Set(value.map(({ issuer }) => issuer)).size !== value.length)
    throw new StartError(`the file of trusted issuers, ${path}, names an issuer twice`);
  return value;
}

export class ExternalIssuers {
  readonly #clock: Clock;
  readonly #issuers: ReadonlyMap<string, { readonly issuer: TrustedIssuer; readonly keys: JWTVerifyGetKey }>;

  constructor(
    options: { readonly issuers: readonly TrustedIssuer[] },
    dependencies: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#clock = dependencies.clock;
    this.#issuers = new Map(
      options.issuers.map((issuer) => [
        issuer.issuer,
        {
          issuer,
          keys: createRemoteJWKSet(new URL(issuer.jwks_url), {
            cooldownDuration: JWKS_COOLDOWN_MS,
            cacheMaxAge: JWKS_MAX_AGE_MS,
            timeoutDuration: JWKS_TIMEOUT_MS,
            [customFetch]: sparingFetch(dependencies),
          }),
        },
      ]),
    );
  }

  /** True when the token claims to be from a trusted issuer. Nothing is verified or fetched yet. */
  claims(token: string): boolean {
    return this.#issuers.size > 0 && this.#issuers.has(issuerOf(token) ?? "");
  }

  /**
   * Verifies a token of a trusted issuer, and fetches the issuer's keys when they are not cached.
   * @returns undefined for a token that is not valid, and while the keys cannot be fetched
   */
  async verify(token: string): Promise<ExternalClaims | undefined> {
    const trusted = this.#issuers.get(issuerOf(token) ?? "");
    if (trusted === undefined) return undefined;
    const { issuer, keys } = trusted;
    let payload: JWTPayload;
    try {
      ({ payload } = await jwtVerify(token, keys, {
        algorithms: [...(issuer.algorithms ?? ALGORITHMS_DEFAULT)],
        issuer: issuer.issuer,
        audience: issuer.audience,
        clockTolerance: CLOCK_TOLERANCE_SEC,
        maxTokenAge: TOKEN_AGE_SEC_MAX,
        requiredClaims: ["exp", "iat"],
        currentDate: new Date(this.#clock.nowMs()),
        ...(issuer.token_type === undefined ? {} : { typ: issuer.token_type }),
      }));
    } catch {
      // The caller must not learn which check failed. An issuer that cannot be reached means that nobody gets in.
      return undefined;
    }
    return readClaims(issuer, payload);
  }
}

/**
 * Returns a `fetch` for key sets that fails at once for a while after a failure: meanwhile tokens whose key is cached
 * are verified and others are rejected. Logs each failure with the number of failures in a row.
 */
function sparingFetch({ clock, log }: { readonly clock: Clock; readonly log: Log }): FetchImplementation {
  let failures = 0;
  let retryAtMs = -Infinity;
  return async (url, options) => {
    if (clock.monotonicMs() < retryAtMs) throw new Error("the key set could not be fetched a moment ago");
    try {
      const answer = await fetch(url, options);
      const text = answer.status === 200 ? await answer.text() : "";
      if (text.length > JWKS_CHARACTERS_MAX || !isKeySet(text)) throw new Error("the answer is no key set");
      failures = 0;
      return new Response(text, { status: 200 });
    } catch (error) {
      failures += 1;
      retryAtMs = clock.monotonicMs() + JWKS_RETRY_MS;
      log.warn("the keys of a trusted issuer cannot be fetched; its users are rejected unless their key is cached", {
        address: new URL(url).host,
        count: failures,
      });
      throw error;
    }
  };
}

function isKeySet(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "keys" in value && Array.isArray(value.keys);
  } catch {
    return false;
  }
}

function readClaims(issuer: TrustedIssuer, payload: JWTPayload): ExternalClaims | undefined {
  const names = issuer.claims ?? {};
  const subject = payload[names.subject ?? "sub"];
  const { exp } = payload;
  if (
    typeof subject !== "string" ||
    subject === "" ||
    subject.length > SUBJECT_CHARACTERS_MAX ||
    !/^[\x20-\x7e]+$/.test(subject) ||
    exp === undefined ||
    !Number.isSafeInteger(exp)
  )
    return undefined;
  return {
    issuer,
    subject,
    expiresAtSec: exp,
    email: textClaim(payload[names.email ?? "email"], 320),
    firstName: textClaim(payload[names.first_name ?? "given_name"], NAME_CHARACTERS_MAX),
    lastName: textClaim(payload[names.last_name ?? "family_name"], NAME_CHARACTERS_MAX),
  };
}

function textClaim(value: unknown, charactersMax: number): string | undefined {
  return typeof value === "string" &&
    value !== "" &&
    value.length <= charactersMax &&
    !/[\u0000-\u001f\u007f]/.test(value)
    ? value
    : undefined;
}

function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    // Not a JWT, so it has no issuer.
    return undefined;
  }
}

/** Rejects key set addresses without TLS, except on this machine: these keys decide who may log in. */
function requireSafeUrl(text: string, path: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLoopback = url?.protocol === "http:" && ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
  if (url === undefined || (url.protocol !== "https:" && !isLoopback))
    throw new StartError(`${path}: jwks_url must use https (or http on loopback)`);
}
