/**
 * Opens inputs that nobody but the proving thread reads: those that came encrypted, and those that are in a vault. What
 * the vault gives is sealed to a key that this thread makes for one proof. Messages name members and never values, and
 * those of libraries, which may quote what they could not read, go no further.
 */
import { AuthenticationFailure } from "../../crypto/ciphers/aead.js";
import { openAes256Gcm } from "../../crypto/ciphers/aes-256-gcm.js";
import { newBoxRecipient, type BoxRecipient } from "../../crypto/ciphers/sealed-box.js";
import { askForBoxes } from "../process/closed-channel.js";
import type { ClosedInputs, EncryptedInputs, TaskFailure } from "../protocol.js";
import { distinctReferences, findReferences, nameOfValue, type VaultReference } from "./vault-references.js";

type OpenedInputs = { readonly ok: true; readonly inputs: unknown } | TaskFailure;

/** Of the circuit `eddsa_signature`, as the vault's keys for it answer. */
interface SignatureInputs {
  readonly PublicKey: readonly [string, string];
  readonly Message: string;
  readonly R8: readonly [string, string];
  readonly S: string;
}

const ENCRYPTED = "witness_jwe";
/**
 * Whoever has a prover's public key can write a token, and who sends it on cannot read it. With references in it, its
 * writer would sign with the keys and compute with the secrets of its sender.
 */
const REFERENCES_REFUSED =
  "encrypted inputs name values of vaults ($secret, $sign), which is refused: who wrote them would use the vaults of who sends them. Send inputs that name values of vaults beside them, in witness: it holds ids and no values";
/** As many as a body with inputs may have (prover/routes.ts): they become objects of some fifty bytes each. */
const CONTENT_TOKENS_MAX = 400_000;
const CONTENT_DEPTH_MAX = 64;
const [COMMA, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x2c, 0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Returns the inputs with all their values.
 * @param inputs parsed JSON of the task's message, which is changed; undefined where all came encrypted
 */
export async function openClosedInputs(closed: ClosedInputs, inputs: unknown): Promise<OpenedInputs> {
  const recipient = newBoxRecipient();
  const boxes = await askForBoxes(closed.channel, recipient.publicKey);
  if (boxes === undefined)
    return { ok: false, code: "internal_error", message: "the vault gave no values for the inputs" };
  try {
    if (closed.encrypted === undefined) return withValues(inputs, boxes, recipient);
    const [keyBox = new Uint8Array(), ...valueBoxes] = boxes;
    const sealed = decrypted(closed.encrypted, keyBox, recipient);
    if (!sealed.ok || inputs === undefined) return sealed;
    const named = withValues(inputs, valueBoxes, recipient);
    return named.ok ? joined(named.inputs, sealed.inputs) : named;
  } catch (error) {
    if (error instanceof AuthenticationFailure) return notDecrypted();
    return { ok: false, code: "internal_error", message: "the closed inputs could not be opened" };
  }
}

/**
 * Returns named and encrypted inputs as one. None is in both: who wrote the encrypted ones has decided on them, and who
 * sends them cannot change them.
 */
function joined(named: unknown, sealed: unknown): OpenedInputs {
  if (!isObject(named)) return refused("witness", "beside witness_jwe, witness is an object of the other inputs");
  if (!isObject(sealed)) return refused(ENCRYPTED, "beside witness, the encrypted inputs are an object of inputs");
  if (Object.keys(sealed).some((name) => Object.hasOwn(named, name)))
    return refused(ENCRYPTED, "an input is in witness and in the encrypted inputs: give each once");
  // An assignment would not make `__proto__` a member.
  return { ok: true, inputs: Object.fromEntries([...Object.entries(named), ...Object.entries(sealed)]) };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function withValues(inputs: unknown, boxes: readonly Uint8Array[], recipient: BoxRecipient): OpenedInputs {
  const holder = { inputs };
  const found = findReferences(holder);
  if (!found.ok) return refused(found.details[0]?.path ?? "", found.details[0]?.message ?? "");
  const distinct = distinctReferences(found.references);
  if (distinct.length !== boxes.length) throw new Error("there is a box for each value");
  const texts = new Map(
    distinct.map((reference, i) => {
      const value = recipient.open(boxes[i] ?? new Uint8Array(), reference.kind);
      try {
        return [nameOfValue(reference), textOf(value)];
      } finally {
        value.fill(0);
      }
    }),
  );
  for (const reference of found.references) {
    const value = valueOf(reference, texts.get(nameOfValue(reference)) ?? "");
    if (value === undefined)
      return refused(reference.path, `${reference.path}: the secret is not a value or a JSON list of values`);
    reference.put(value);
  }
  return { ok: true, inputs: holder.inputs };
}

/** Undefined for a secret that is no text of values. Whether they are elements of the field is checked as of others. */
function valueOf(reference: VaultReference, text: string): unknown {
  if (reference.kind === "signature") return partOf(JSON.parse(text) as SignatureInputs, reference.part);
  const trimmed = text.trim();
  if (!trimmed.startsWith("[")) return trimmed;
  try {
    const list: unknown = JSON.parse(trimmed);
    return isListOfValues(list, 0) ? list : undefined;
  } catch {
    return undefined;
  }
}

/** Members of objects would have names, which messages repeat. */
function isListOfValues(list: unknown, depth: number): boolean {
  if (!Array.isArray(list) || depth > CONTENT_DEPTH_MAX) return false;
  return (list as readonly unknown[]).every(
    (item) => typeof item === "string" || typeof item === "number" || isListOfValues(item, depth + 1),
  );
}

function partOf(signature: SignatureInputs, part: Extract<VaultReference, { kind: "signature" }>["part"]): unknown {
  switch (part) {
    case undefined:
      return signature;
    case "Ax":
      return signature.PublicKey[0];
    case "Ay":
      return signature.PublicKey[1];
    case "R8x":
      return signature.R8[0];
    case "R8y":
      return signature.R8[1];
    default:
      return signature[part];
  }
}

/** The inputs as the content of a JSON Web Encryption (RFC 7516, section 5.2, steps 14 to 17). */
function decrypted(encrypted: EncryptedInputs, keyBox: Uint8Array, recipient: BoxRecipient): OpenedInputs {
  const { header, nonce, ciphertext, tag } = encrypted;
  const sealed = Buffer.concat([fromBase64url(ciphertext), fromBase64url(tag)]);
  const key = recipient.open(keyBox, "content_key");
  let content: Uint8Array | undefined;
  try {
    content = openAes256Gcm({ key, nonce: fromBase64url(nonce), aad: Buffer.from(header, "ascii") }, sealed);
    if (isTooLarge(content)) return refused(ENCRYPTED, "the encrypted inputs have too many values, or too deep ones");
    const inputs = parseJson(content);
    if (inputs === undefined) return refused(ENCRYPTED, "the encrypted inputs are not JSON");
    const found = findReferences({ inputs });
    if (!found.ok || found.references.length > 0) return refused(ENCRYPTED, REFERENCES_REFUSED);
    return { ok: true, inputs };
  } finally {
    key.fill(0);
    content?.fill(0);
  }
}

/** Undefined for bytes that are none; the parser's own message would quote them. */
function parseJson(content: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(content)) as unknown;
  } catch {
    return undefined;
  }
}

/** Counts before anything is made of the bytes; those in texts count as well. */
function isTooLarge(content: Uint8Array): boolean {
  let tokens = 0;
  let depth = 0;
  for (const byte of content) {
    if (byte === COMMA) tokens += 1;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      tokens += 1;
      depth += 1;
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth -= 1;
    if (tokens > CONTENT_TOKENS_MAX || depth > CONTENT_DEPTH_MAX) return true;
  }
  return false;
}

/** @throws AuthenticationFailure for text that is not the only spelling of its bytes */
function fromBase64url(text: string): Buffer {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") !== text) throw new AuthenticationFailure();
  return bytes;
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

function refused(path: string, message: string): TaskFailure {
  return { ok: false, code: "witness_invalid", message, details: [{ message, code: "witness_invalid", path }] };
}

function notDecrypted(): TaskFailure {
  const message = "the token was not encrypted to this key, or was changed since";
  return {
    ok: false,
    code: "decryption_failed",
    message,
    details: [{ message, code: "decryption_failed", path: ENCRYPTED }],
  };
}
