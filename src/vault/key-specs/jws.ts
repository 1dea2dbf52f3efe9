/**
 * JSON Web Signatures in compact form (RFC 7515) over a key's own algorithm. The key decides the algorithm: the header
 * of a token is only compared with it, never followed.
 */
import { AppError, invalidMember } from "../../platform/errors.js";
import { messageBytes, plainHex } from "./messages.js";
import type { SignAnswer, SignItem, VerifyItem } from "./key-spec.js";

export interface JwsScheme {
  /** As registered (RFC 7518, 8037, 8812). */
  readonly algorithm: string;
  verify(input: Uint8Array, signature: Uint8Array): boolean;
}

const PART = /^[A-Za-z0-9_-]*$/;
const HEADER_BYTES_MAX = 1024;

/**
 * Returns the signing input in ASCII: header and payload in base64url, joined by a dot (RFC 7515, 5.1). The header
 * names the algorithm, the key and the caller's additions.
 */
export function jwsInput(algorithm: string, keyId: string, item: SignItem): string {
  const payload = messageBytes(item);
  const header = { alg: algorithm, kid: keyId, ...item.options?.header };
  return `${base64url(Buffer.from(JSON.stringify(header), "utf8"))}.${base64url(payload)}`;
}

/**
 * Returns the signature in hex and the compact token.
 * @param input see `jwsInput`
 */
export function jwsAnswer(input: string, signature: Uint8Array): SignAnswer {
  return { signature: plainHex(signature), jws: `${input}.${base64url(signature)}` };
}

/**
 * Whether a compact token was signed with the key: the header has the key's algorithm and no critical extension, and
 * the payload is the message where one is given. Throws `signature_malformed` for text that is no compact JWS.
 */
export function verifyJws(scheme: JwsScheme, item: VerifyItem): boolean {
  const parts = item.signature.split(".");
  const [header, payload, signature] = parts;
  if (
    parts.length !== 3 ||
    header === undefined ||
    payload === undefined ||
    signature === undefined ||
    header === "" ||
    signature === "" ||
    !parts.every(isCanonical)
  ) {
    throw invalidMember(
      "signature",
      "`signature` is not a compact JWS: three parts in base64url",
      "signature_malformed",
    );
  }
  // A detached payload (RFC 7515, appendix F) looks like an empty one and does not verify, because its signature covers
  // another text.
  if (item.message !== undefined && base64url(messageBytes(item)) !== payload) return false;
  return (
    algorithmOf(header) === scheme.algorithm &&
    scheme.verify(Buffer.from(`${header}.${payload}`, "latin1"), Buffer.from(signature, "base64url"))
  );
}

/**
 * Says that a fresh signature did not pass its check: a fault of the machine or of a library. Such a signature must not
 * leave, because one wrong signature can reveal the key.
 */
export function selfCheckFailed(): AppError {
  return new AppError("signature_self_check_failed", {
    message: "a fresh signature did not verify and was thrown away",
  });
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

/** Whether a part is the only spelling of its bytes: without padding, and without stray bits at the end. */
function isCanonical(part: string): boolean {
  return PART.test(part) && base64url(Buffer.from(part, "base64url")) === part;
}

/** Returns the header's algorithm, or undefined when the header has an extension that is not supported here. */
function algorithmOf(part: string): string | undefined {
  const bytes = Buffer.from(part, "base64url");
  if (bytes.length > HEADER_BYTES_MAX) return undefined;
  try {
    const header = JSON.parse(bytes.toString("utf8")) as unknown;
    if (
      typeof header !== "object" ||
      header === null ||
      Array.isArray(header) ||
      "crit" in header ||
      "b64" in header ||
      !("alg" in header)
    )
      return undefined;
    return typeof header.alg === "string" ? header.alg : undefined;
  } catch {
    return undefined;
  }
}
