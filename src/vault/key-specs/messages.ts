/**
 * Reads what is to be signed: bytes as hex or text, with their limits, and which options a key has. Nothing is guessed
 * or detected.
 */
import type { AppError } from "../../platform/errors.js";
import { findJsonFault, parseJson } from "../../platform/json/json-scan.js";
import { hexBytes, invalidMember, isOverlong, utf8Bytes } from "../keys/validation.js";
import { MESSAGE_BYTES_MAX, type SignOptions } from "../keys/operation-schemas.js";
import type { SignItem } from "./key-spec.js";

type OptionName = keyof SignOptions;

/** The same as those of a request's body, so that a structure means the same as an object and as its text. */
const JSON_LIMITS = { depthMax: 32, tokensMax: 50_000, keyBytesMax: 256, numberBytesMax: 80 };

/** The bytes of a text message: 1 to 64 KiB. Throws `message_required`, `message_too_long`, `invalid_request`. */
export function messageBytes(item: SignItem, limits: { readonly mayBeEmpty?: boolean } = {}): Uint8Array {
  const { message, options } = item;
  if (message === undefined) throw invalidMember("message", "message required", "message_required");
  if (typeof message !== "string")
    throw invalidMember("message", "`message` is an object: only typed data, transactions and authorizations are");
  const encoding = options?.encoding ?? "hex";
  if (isOverlong(message, encoding, MESSAGE_BYTES_MAX)) throw messageTooLong();
  const bytes = encoding === "utf8" ? utf8Bytes(message, "message") : hexBytes(message, "message");
  if (bytes.length === 0 && limits.mayBeEmpty !== true)
    throw invalidMember("message", "message required: it is empty", "message_required");
  if (bytes.length > MESSAGE_BYTES_MAX) throw messageTooLong();
  return bytes;
}

function messageTooLong(): AppError {
  return invalidMember("message", `\`message\` is longer than ${String(MESSAGE_BYTES_MAX)} bytes`, "message_too_long");
}

/**
 * The structure of a message that is no text of bytes: an object, or its JSON, which is read as strictly as a body: of
 * a member that stands there twice people may see one value and the signature cover the other. Throws
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
 * Refuses options that a key does not have: ignoring one would sign something else than was asked for. Throws
 * `option_unsupported`.
 */
export function refuseOptions(options: SignOptions | undefined, spec: string, supported: readonly OptionName[]): void {
  const names = Object.keys(options ?? {}) as OptionName[];
  const other = names.find((name) => options?.[name] !== undefined && !supported.includes(name));
  if (other !== undefined)
    throw invalidMember(`options.${other}`, `${spec} keys have no option \`${other}\``, "option_unsupported");
}

/** The algorithm that was asked for, or the first of those there are. Throws `algorithm_unsupported`. */
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
 * The bytes of a signature in hex, or undefined when it cannot be one by its length. Throws `signature_malformed` for
 * what is not hex.
 */
export function signatureOfHex(text: string, lengths: readonly number[]): Uint8Array | undefined {
  const bytes = readHexMember(text, "signature", "signature_malformed");
  return lengths.includes(bytes.length) ? bytes : undefined;
}

/** Bytes of hex with or without 0x; throws a code of its own. */
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

/** Bytes of a public key in hex; undefined for what is not hex, so that every bad key reads the same. */
export function publicKeyOfHex(text: string): Uint8Array | undefined {
  try {
    return hexBytes(text, "public_key");
  } catch {
    return undefined;
  }
}

/** Lower-case hex without 0x, as existing clients expect signatures. */
export function plainHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}
