/**
 * The keys that sign access tokens, or in a file of their own id tokens: `current` signs, `next` is published before it
 * is used, and `previous` keys verify until the last token they signed has expired. Ed25519 (RFC 8037) unless P-256 or
 * RSA is configured; named by their RFC 7638 thumbprint. Private parts never leave this file, verification-key.ts and
 * the key file.
 */
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import {
  SignJWT,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type CryptoKey,
  type JWK,
  type JWTPayload,
} from "jose";
import { AppError, assert } from "../errors.js";
import { isoTimestamp, type Clock } from "../clock.js";
import type { Log } from "../log.js";
import { CLOCK_TOLERANCE_SEC, TOKEN_LIFE_SEC_MAX } from "./token-limits.js";
import { PrivateFileError } from "../files/private-file.js";
import type { SecretFile } from "../files/secret-file.js";
import {
  createSigningKeyFile,
  readSigningKeyFile,
  replaceSigningKeyFile,
  type SigningKeyFile,
  type StoredSigningKey,
} from "./signing-key-file.js";
import {
  verificationKey,
  withLowS,
  type KeyPair,
  type SigningAlgorithm,
  type VerificationKey,
} from "./verification-key.js";

/** Names of the key files in the data folder. */
export const ACCESS_TOKEN_KEY_FILE = "signing-keys.json";
export const ID_TOKEN_KEY_FILE = "id-token-keys.json";
/** The one algorithm that every OpenID Connect client must know (OpenID Connect Core section 15.1). */
export const ID_TOKEN_ALGORITHM = "RS256";

/** `typ` of RFC 9068: an access token is never mistaken for another kind of JWT. */
const ACCESS_TOKEN_TYPE = "at+jwt";
/** How long a key is published before it may sign, so that every client's cache of the key set has it. */
export const PUBLISH_BEFORE_USE_MS = 15 * 60 * 1000;
/** Rotations within the lifetime of one token; beyond it the oldest key is dropped. */
const PREVIOUS_KEYS_MAX = 8;
/** 112 bits of strength (NIST SP 800-57), and the size that every client accepts. */
const RSA_BITS = 2048;
/** Far shorter than the time for which a key is published before it signs. */
const WATCH_EVERY_MS = 5_000;

interface JwkBase {
  readonly kid: string;
  readonly use: "sig";
}
export type PublicJwk =
  | (JwkBase & { readonly kty: "OKP"; readonly crv: "Ed25519"; readonly x: string; readonly alg: "EdDSA" })
  | (JwkBase & {
      readonly kty: "EC";
      readonly crv: "P-256";
      readonly x: string;
      readonly y: string;
      readonly alg: "ES256";
    })
  | (JwkBase & { readonly kty: "RSA"; readonly n: string; readonly e: string; readonly alg: "RS256" });

/** The part of the signing keys that a verifier of tokens needs. */
export interface VerificationKeys {
  /**
   * Returns the key whose access tokens start with this encoded header, or undefined. Only the exact text that this
   * service writes is found.
   */
  findByHeader(encodedHeader: string): VerificationKey | undefined;
}

export interface SigningKeysOptions {
  readonly file: SecretFile;
  /** Algorithm of new keys; existing keys stay in use until they are rotated out. Default EdDSA. */
  readonly algorithm?: SigningAlgorithm;
}

interface LoadedKey {
  readonly stored: StoredSigningKey;
  readonly verification: VerificationKey;
  readonly encodedHeader: string;
}

/**
 * Opens the key file, and creates it at the first start.
 * @throws PrivateFileError when the file is damaged or other users can read it
 */
export async function openSigningKeys(
  options: SigningKeysOptions,
  dependencies: { readonly clock: Clock; readonly log: Log },
): Promise<SigningKeys> {
  const { clock, log } = dependencies;
  const algorithm = options.algorithm ?? "EdDSA";
  let content = await readSigningKeyFile(options.file);
  if (content === undefined) {
    const [current, next] = await Promise.all([generateKey(algorithm, clock), generateKey(algorithm, clock)]);
    const first: SigningKeyFile = { version: 1, current, next, previous: [] };
    const created = await createSigningKeyFile(options.file, first);
    content = created ? first : await readSigningKeyFile(options.file);
    if (content === undefined)
      throw new PrivateFileError(`signing key file ${options.file.where} vanished while it was opened`);
    if (created) log.info("signing keys created", { kind: "signing_keys" });
  }
  const keys = new SigningKeys(options, dependencies);
  await keys.adopt(content);
  await keys.prepareAlgorithm();
  return keys;
}

/** The signing keys in use. Constructed by `openSigningKeys`. */
export class SigningKeys implements VerificationKeys {
  readonly #file: SecretFile;
  readonly #algorithm: SigningAlgorithm;
  readonly #clock: Clock;
  readonly #log: Log;
  #watch: NodeJS.Timeout | undefined;
  #stopListening: (() => void) | undefined;
  #adoptedVersion: number | undefined;
  #content: SigningKeyFile | undefined;
  #signingKey: CryptoKey | undefined;
  #byHeader = new Map<string, LoadedKey>();
  /** The last of the changes, which run one after the other. */
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(options: SigningKeysOptions, dependencies: { readonly clock: Clock; readonly log: Log }) {
    this.#file = options.file;
    this.#algorithm = options.algorithm ?? "EdDSA";
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
  }

  /**
   * Uses the content of a key file from now on.
   * @throws PrivateFileError when a key's name is not its thumbprint or the two parts of a pair do not match
   */
  async adopt(content: SigningKeyFile): Promise<void> {
    const loaded = await Promise.all([content.current, content.next, ...content.previous].map(loadKey));
    this.#signingKey = await importPrivate(content.current);
    this.#byHeader = new Map(loaded.map((key) => [key.encodedHeader, key]));
    this.#content = content;
  }

  /** See VerificationKeys. Ignores keys that may no longer verify. */
  findByHeader(encodedHeader: string): VerificationKey | undefined {
    const key = this.#byHeader.get(encodedHeader);
    return key !== undefined && isVerifying(key.stored, this.#clock.nowMs()) ? key.verification : undefined;
  }

  /** The algorithm of the tokens that are signed now. */
  get algorithm(): SigningAlgorithm {
    return algorithmOf(this.#opened().current);
  }

  /**
   * Signs claims with the current key, off the calling thread in about 0.1 ms.
   * @returns a compact JWS whose header is exactly `{alg, kid, typ}`
   */
  async sign(claims: JWTPayload, type: string = ACCESS_TOKEN_TYPE): Promise<string> {
    const { current } = this.#opened();
    assert(this.#signingKey !== undefined, "signing keys are opened before they are used");
    const token = await new SignJWT(claims).setProtectedHeader(protectedHeader(current, type)).sign(this.#signingKey);
    return algorithmOf(current) === "ES256" ? tokenWithLowS(token) : token;
  }

  /** Replaces the next key when it is not of the configured algorithm. */
  async prepareAlgorithm(): Promise<void> {
    await this.#exclusively(async () => {
      const content = this.#opened();
      if (algorithmOf(content.next) === this.#algorithm) return;
      await this.#replace({ ...content, next: await generateKey(this.#algorithm, this.#clock) });
      this.#log.info("a signing key of another algorithm is published; it signs after the next rotation", {
        kind: "signing_keys",
      });
    });
  }

  /** Reloads the file every few seconds, so that a rotation by `proofwright rotate-keys` takes effect. */
  startWatching(): void {
    if (this.#watch !== undefined) return;
    this.#watch = setInterval(() => {
      void this.reload();
    }, WATCH_EVERY_MS).unref();
    this.#stopListening = this.#file.onChange(() => this.reload());
  }

  /** Ends `startWatching`. */
  stopWatching(): void {
    clearInterval(this.#watch);
    this.#watch = undefined;
    this.#stopListening?.();
  }

  /**
   * Adopts the file's content when it changed. An unusable file is logged, and the keys in memory stay in use.
   */
  async reload(): Promise<void> {
    try {
      await this.#exclusively(async () => {
        const version = await this.#file.version();
        if (version === this.#adoptedVersion) return;
        const content = await readSigningKeyFile(this.#file);
        if (content === undefined) return;
        await this.adopt(content);
        this.#adoptedVersion = version;
      });
    } catch (error) {
      this.#log.error("the signing key file cannot be read; the keys in memory stay in use", {
        kind: "signing_keys",
        error,
      });
    }
  }

  /** Returns the public keys as JWKs (RFC 7517), the signing key first. */
  publicKeys(): PublicJwk[] {
    const { current, next, previous } = this.#opened();
    const now = this.#clock.nowMs();
    return [current, next, ...previous].filter((key) => isVerifying(key, now)).map(publicJwk);
  }

  /**
   * Signs with the `next` key from now on and publishes a new next key.
   * @throws conflict while the next key has been published for less than 15 minutes
   */
  async rotate(): Promise<void> {
    await this.#exclusively(async () => {
      const { current, next, previous } = this.#opened();
      const now = this.#clock.nowMs();
      const usableFromMs = next.published_at_ms + PUBLISH_BEFORE_USE_MS;
      if (now < usableFromMs) {
        throw new AppError("conflict", {
          message: `the next signing key may be used from ${isoTimestamp(usableFromMs)}: it must be published for 15 minutes first`,
        });
      }
      const retired = { ...current, verifies_until_ms: now + (TOKEN_LIFE_SEC_MAX + CLOCK_TOLERANCE_SEC) * 1000 };
      const stillVerifying = previous.filter((key) => isVerifying(key, now));
      await this.#replace({
        version: 1,
        current: next,
        next: await generateKey(this.#algorithm, this.#clock),
        previous: [retired, ...stillVerifying].slice(0, PREVIOUS_KEYS_MAX),
      });
      this.#log.info("signing keys rotated", { kind: "signing_keys" });
    });
  }

  /**
   * Replaces every key at once, for use after a leak. All access tokens are void from now on; sessions continue with
   * their refresh tokens.
   */
  async replaceAll(): Promise<void> {
    await this.#exclusively(async () => {
      await this.#replace({
        version: 1,
        current: await generateKey(this.#algorithm, this.#clock),
        next: await generateKey(this.#algorithm, this.#clock),
        previous: [],
      });
      this.#log.warn("all signing keys replaced", { kind: "signing_keys" });
    });
  }

  async #replace(content: SigningKeyFile): Promise<void> {
    await replaceSigningKeyFile(this.#file, content);
    await this.adopt(content);
  }

  async #exclusively(work: () => Promise<void>): Promise<void> {
    const run = this.#lastChange.then(work);
    // The next change must run even if this one fails; the caller gets the failure from `run`.
    this.#lastChange = run.catch(() => undefined);
    await run;
  }

  #opened(): SigningKeyFile {
    assert(this.#content !== undefined, "signing keys are opened before they are used");
    return this.#content;
  }
}

/** Returns a public key as SubjectPublicKeyInfo in PEM, for clients that cannot read a JWK. */
export function publicKeyPem(jwk: PublicJwk): string {
  return createPublicKey({ key: { ...jwk }, format: "jwk" })
    .export({ type: "spki", format: "pem" })
    .toString();
}

function tokenWithLowS(token: string): string {
  const dot = token.lastIndexOf(".");
  return `${token.slice(0, dot)}.${Buffer.from(withLowS(Buffer.from(token.slice(dot + 1), "base64url"))).toString("base64url")}`;
}

function isVerifying(key: StoredSigningKey, nowMs: number): boolean {
  return key.verifies_until_ms === undefined || nowMs < key.verifies_until_ms;
}

function algorithmOf(key: StoredSigningKey): SigningAlgorithm {
  return key.alg ?? "EdDSA";
}

function protectedHeader(key: StoredSigningKey, typ: string): { alg: SigningAlgorithm; kid: string; typ: string } {
  return { alg: algorithmOf(key), kid: key.kid, typ };
}

function publicJwk(key: StoredSigningKey): PublicJwk {
  switch (key.alg) {
    case "ES256":
      return { kty: "EC", crv: "P-256", x: key.x, y: key.y, kid: key.kid, use: "sig", alg: "ES256" };
    case "RS256":
      return { kty: "RSA", n: key.n, e: key.e, kid: key.kid, use: "sig", alg: "RS256" };
    default:
      return { kty: "OKP", crv: "Ed25519", x: key.x, kid: key.kid, use: "sig", alg: "EdDSA" };
  }
}

function privateJwk(key: StoredSigningKey): JWK & { kty: string } {
  const jwk = publicJwk(key);
  if (key.alg !== "RS256") return { ...jwk, d: key.d };
  const { d, p, q, dp, dq, qi } = key;
  return { ...jwk, d, p, q, dp, dq, qi };
}

async function generateKey(algorithm: SigningAlgorithm, clock: Clock): Promise<StoredSigningKey> {
  const { privateKey } = await generateKeyPair(algorithm, {
    extractable: true,
    ...(algorithm === "EdDSA" ? { crv: "Ed25519" } : {}),
    ...(algorithm === "RS256" ? { modulusLength: RSA_BITS } : {}),
  });
  const jwk = await exportJWK(privateKey);
  const { d = "", x = "", y = "", n = "", e = "", p = "", q = "", dp = "", dq = "", qi = "" } = jwk;
  const common = { kid: await calculateJwkThumbprint(jwk, "sha256"), published_at_ms: clock.nowMs() };
  switch (algorithm) {
    case "EdDSA":
      return { ...common, alg: "EdDSA", d, x };
    case "ES256":
      return { ...common, alg: "ES256", d, x, y };
    case "RS256":
      return { ...common, alg: "RS256", n, e, d, p, q, dp, dq, qi };
  }
}

async function loadKey(stored: StoredSigningKey): Promise<LoadedKey> {
  const jwk = publicJwk(stored);
  if ((await calculateJwkThumbprint(jwk, "sha256")) !== stored.kid)
    throw new PrivateFileError("a signing key's name is not its thumbprint; the key file is damaged");
  const verification = verificationKey(readPair(stored), algorithmOf(stored));
  return {
    stored,
    verification,
    encodedHeader: Buffer.from(JSON.stringify(protectedHeader(stored, ACCESS_TOKEN_TYPE))).toString("base64url"),
  };
}

/**
 * Imports both parts of a pair into OpenSSL. Signs and verifies a probe: the one test of a pair that works for every
 * kind of key.
 */
function readPair(stored: StoredSigningKey): KeyPair {
  const probe = Buffer.from("proofwright signing key probe");
  const digest = stored.alg === "ES256" || stored.alg === "RS256" ? "sha256" : null;
  try {
    const pair = {
      privateKey: createPrivateKey({ key: privateJwk(stored), format: "jwk" }),
      publicKey: createPublicKey({ key: { ...publicJwk(stored) }, format: "jwk" }),
    };
    if (verify(digest, probe, pair.publicKey, sign(digest, probe, pair.privateKey))) return pair;
  } catch {
    // The library's message may quote key members.
  }
  throw new PrivateFileError(
    "a signing key's private and public parts do not belong together; the key file is damaged",
  );
}

async function importPrivate(stored: StoredSigningKey): Promise<CryptoKey> {
  const key = await importJWK(privateJwk(stored), algorithmOf(stored), { extractable: false });
  assert(!(key instanceof Uint8Array), "a private JWK is imported as a key object");
  return key;
}
