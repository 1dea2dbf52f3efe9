/**
 * Reads the message of a request to sign: bytes as hex or text, with their limits, and which options a key has. The
 * form of a message is stated by the caller and never detected.
 */
import { type AppError, invalidMember } from "../../platform/errors.js";
import { findJsonFault, parseJson } from "../../platform/json/json-scan.js";
import { hexBytes, isOverlong, utf8Bytes } from "../keys/validation.js";
import { MESSAGE_BYTES_MAX, type SignOptions } from "../keys/operation-schemas.js";
import type { SignItem } from "./key-spec.js";

type OptionName = keyof SignOptions;

/** The limits of a request's body, so that a structure means the same as an object and as its text. */
const JSON_LIMITS = { depthMax: 32, tokensMax: 50_000, keyBytesMax: 256, numberBytesMax: 80 };

/**
 * Returns the bytes of a text message: up to 64 KiB, and none where the message is empty, which every standard that
 * hashes its message allows (RFC 8032, RFC 8017, FIPS 186-5, EIP-191, RFC 7515).
 * @throws message_required where it is absent, `message_too_long`, `invalid_request`
 */
export function messageBytes({ message, options }: SignItem): Uint8Array {
  if (message === undefined) throw invalidMember("message", "message required", "message_required");
  if (typeof message !== "string")
    throw invalidMember(
      "message",
      "`message` is an object; only typed data, transactions and authorizations may be one",
    );
  const encoding = options?.encoding ?? "hex";
  if (isOverlong(message, encoding, MESSAGE_BYTES_MAX)) throw messageTooLong();
  const bytes = encoding === "utf8" ? utf8Bytes(message, "message") : hexBytes(message, "message");
  if (bytes.length > MESSAGE_BYTES_MAX) throw messageTooLong();
  return bytes;
}

/**
 * Says that a message is empty where it is not hashed but stands for itself.
 * @param what what the message must be, such as `a digest of 32 bytes`
 */
export function emptyMessage(what: string): AppError {
  return invalidMember("message", `message required: it is empty, and must be ${what}`, "message_required");
}

function messageTooLong(): AppError {
  return invalidMember("message", `\`message\` is longer than ${String(MESSAGE_BYTES_MAX)} bytes`, "message_too_long");
}

/**
 * Returns the structure of a message that is an object or the JSON text of one. The text is read as strictly as a body:
 * where a member appears twice, people could see one value while the signature covers the other. Throws
 * `message_required`, `invalid_request`.
 */
export function messageObject({ message }: SignItem): unknown {
  if (message === undefined || message === "") throw invalidMember("message", "message required", "message_required");
  if (typeof message !== "string") return message;
  const bytes = Buffer.from(utf8Bytes(message, "message"));
  const fault = findJsonFault(bytes, JSON_LIMITS);
  if (fault !== undefined)
    throw invalidMember("message", `\`message\` is neither an object nor JSON text of one: ${fault}`);
  return parseJson(bytes);
}

/**
 * Rejects options that a key does not have: to ignore one would sign something other than was asked for. Throws
 * `option_unsupported`.
 */
export function refuseOptions(options: SignOptions | undefined, spec: string, supported: readonly OptionName[]): void {
  const names = Object.keys(options ?? {}) as OptionName[];
  const other = names.find((name) => options?.[name] !== undefined && !supported.includes(name));
  if (other !== undefined)
    throw invalidMember(`options.${other}`, `${spec} keys have no option \`${other}\``, "option_unsupported");
}

/** Returns the requested algorithm, or the first one when none was requested. Throws `algorithm_unsupported`. */
export function chosenAlgorithm<A extends string>(
  options: SignOptions | undefined,
  algorithms: readonly [A, ...A[]],
  spec: string,
): A {
  const asked = options?.algorithm;
  if (asked === undefined) return algorithms[0];
  const found = algorithms.find((algorithm) => algorithm === asked);
  if (found === undefined)
    throw invalidMember(
      "options.algorithm",
      `${spec} keys sign with ${algorithms.join(", ")}`,
      "algorithm_unsupported",
    );
  return found;
}

/**
 * Returns the bytes of a signature in hex, or undefined when its length is none of `lengths`, in bytes. Throws
 * `signature_malformed` for text that is not hex.
 */
export function signatureOfHex(text: string, lengths: readonly number[]): Uint8Array | undefined {
  const bytes = readHexMember(text, "signature", "signature_malformed");
  return lengths.includes(bytes.length) ? bytes : undefined;
}

/** Returns the bytes of hex with or without 0x, and rejects other text with the given code. */
export function readHexMember(
  text: string,
  path: string,
  code: "signature_malformed" | "public_key_invalid",
): Uint8Array {
  try {
    return hexBytes(text, path);
  } catch {
    throw invalidMember(path, `\`${path}\` is not hex: an even number of digits, with or without 0x`, code);
  }
}

/** Returns the bytes of a public key in hex; undefined for other text, so that every bad key is refused alike. */
export function publicKeyOfHex(text: string): Uint8Array | undefined {
  try {
    return hexBytes(text, "public_key");
  } catch {
    return undefined;
  }
}

/** Returns lower-case hex without 0x, as existing clients expect signatures. */
export function plainHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}
