/**
 * Reads a JSON Web Encryption in compact form (RFC 7516, section 3.1) as far as the main thread does: its header, which
 * is public, and where its parts are. What it may be is narrow: ECDH-ES with X25519 or P-256 and A256GCM, to a key of
 * the prover, whose id is in the protected header as `aud` (RFC 7519, section 5.3).
 */
import {
  JWE_ALGORITHMS,
  JWE_ENCRYPTION,
  type JweAlgorithm,
  type KeyAgreementHeader,
} from "../../crypto/jwe/content-key.js";
import type { EncryptedInputs } from "../../engine/protocol.js";
import { invalidMember, type AppError } from "../../platform/errors.js";
import { isUuid } from "../../platform/ids.js";
import { findJsonFault, parseJson } from "../../platform/json/json-scan.js";

/** A token with its content still encrypted. */
export interface ReadToken {
  /** Of the vault, as `kid` names it. */
  readonly keyId: string;
  readonly agreement: KeyAgreementHeader;
  readonly content: EncryptedInputs;
}

/** Member of the body that holds the token. */
export const TOKEN_MEMBER = "witness_jwe";
const HEADER_CHARS_MAX = 4096;
const HEADER_LIMITS = { depthMax: 4, tokensMax: 64, keyBytesMax: 64, numberBytesMax: 20 };
/** Longest `apu` and `apv`, in bytes: names of two parties. */
const PARTY_BYTES_MAX = 256;
/** Of an X25519 key, and of each coordinate on P-256. */
const COORDINATE_BYTES = 32;
/** Before the coordinates of a point that has both (SEC 1, section 2.3.3). */
const UNCOMPRESSED = 0x04;
const WRAPPED_KEY_BYTES = 40;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Would change what the content is, or name a key that is not the vault's. */
const REFUSED = ["zip", "crit", "b64", "p2s", "p2c", "jku", "x5u", "jwk", "x5c"] as const;

/**
 * Reads a token; whether it was encrypted to the key, only the vault and the proving thread find out.
 * @throws AppError `invalid_request` naming the member of its header that is wrong, never its content
 */
export function readToken(token: string, proverId: string): ReadToken {
  const parts = token.split(".", 6);
  const [header = "", encryptedKey = "", nonce = "", ciphertext = "", tag = ""] = parts;
  if (parts.length !== 5) throw refused("it is no JSON Web Encryption in compact form, which has five parts");
  const said = readHeader(header);
  const member = REFUSED.find((name) => Object.hasOwn(said, name));
  if (member !== undefined) throw refused(`its header has \`${member}\`, which is not taken`);
  const algorithm = algorithmOf(said);
  if (said["aud"] !== proverId) throw refused("`aud` of its header is not the id of this prover");
  const { kid } = said;
  if (typeof kid !== "string" || !isUuid(kid)) throw refused("`kid` of its header is no id of a key");
  bytesOf(nonce, "its initialization vector", NONCE_BYTES);
  bytesOf(tag, "its tag", TAG_BYTES);
  return {
    keyId: kid,
    agreement: {
      algorithm,
      ...ephemeralKeyOf(said["epk"]),
      partyU: partyOf(said, "apu"),
      partyV: partyOf(said, "apv"),
      encryptedKey: bytesOf(encryptedKey, "its encrypted key", algorithm === "ECDH-ES" ? 0 : WRAPPED_KEY_BYTES),
    },
    content: { header, nonce, ciphertext, tag },
  };
}

function readHeader(part: string): Readonly<Record<string, unknown>> {
  if (part.length > HEADER_CHARS_MAX) throw refused(`its header is longer than ${String(HEADER_CHARS_MAX)} characters`);
  const bytes = Buffer.from(bytesOf(part, "its header"));
  if (findJsonFault(bytes, HEADER_LIMITS) !== undefined) throw refused("its header is no JSON object");
  const said = parseJson(bytes);
  if (typeof said !== "object" || said === null || Array.isArray(said)) throw refused("its header is no JSON object");
  return said as Readonly<Record<string, unknown>>;
}

function algorithmOf({ alg, enc }: Readonly<Record<string, unknown>>): JweAlgorithm {
  const algorithm = JWE_ALGORITHMS.find((name) => name === alg);
  if (algorithm === undefined) throw refused(`\`alg\` of its header is none of ${JWE_ALGORITHMS.join(", ")}`);
  if (enc !== JWE_ENCRYPTION) throw refused(`\`enc\` of its header is not ${JWE_ENCRYPTION}`);
  return algorithm;
}

/** Whether a point is on its curve, the vault's thread finds out. */
function ephemeralKeyOf(epk: unknown): Pick<KeyAgreementHeader, "curve" | "ephemeralKey"> {
  const { kty, crv, x, y, d } = (typeof epk === "object" && epk !== null ? epk : {}) as Readonly<
    Record<string, unknown>
  >;
  if (typeof x === "string" && d === undefined) {
    if (kty === "OKP" && crv === "X25519" && y === undefined)
      return { curve: crv, ephemeralKey: bytesOf(x, "`epk` of its header", COORDINATE_BYTES) };
    if (kty === "EC" && crv === "P-256" && typeof y === "string") {
      const [first, second] = [x, y].map((text) => bytesOf(text, "`epk` of its header", COORDINATE_BYTES));
      return { curve: crv, ephemeralKey: Uint8Array.of(UNCOMPRESSED, ...(first ?? []), ...(second ?? [])) };
    }
  }
  throw refused("`epk` of its header is no public key of X25519 or P-256");
}

function partyOf(said: Readonly<Record<string, unknown>>, name: "apu" | "apv"): Uint8Array {
  const text = said[name];
  if (text === undefined) return new Uint8Array();
  if (typeof text !== "string") throw refused(`\`${name}\` of its header is no text`);
  const bytes = bytesOf(text, `\`${name}\` of its header`);
  if (bytes.length > PARTY_BYTES_MAX)
    throw refused(`\`${name}\` of its header is longer than ${String(PARTY_BYTES_MAX)} bytes`);
  return bytes;
}

/** Reads base64url in its only spelling, into memory of its own: it goes to another thread. */
function bytesOf(text: string, what: string, length?: number): Uint8Array {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") !== text) throw refused(`${what} is not base64url`);
  if (length !== undefined && bytes.length !== length)
    throw refused(`${what} has ${String(bytes.length)} bytes, not ${String(length)}`);
  return new Uint8Array(bytes);
}

function refused(reason: string): AppError {
  return invalidMember(TOKEN_MEMBER, `${TOKEN_MEMBER}: ${reason}`);
}
