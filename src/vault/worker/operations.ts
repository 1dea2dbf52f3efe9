/**
 * What the vault worker does with a key for callers, item by item: signing, verifying, encrypting, decrypting,
 * agreeing. Takes and gives the texts of the API. A failing item is an outcome; only a fault of the record or of ours
 * fails the task.
 */
import {
  aggregateBls,
  BLS_PUBLIC_KEY_BYTES,
  BLS_SIGNATURE_BYTES,
  isBlsPublicKey,
  verifyAggregateBls,
} from "../../crypto/signatures/bls.js";
import { AppError, type ErrorCode } from "../../platform/errors.js";
import { FRAME_OVERHEAD_BYTES, frameGeneration } from "./ciphertext-frame.js";
import { answersJson } from "../threads/item-batches.js";
import type { KeySpec, SignItem, UnwrappedKey, VerifyItem } from "../key-specs/key-spec.js";
import { plainHex, readHexMember } from "../key-specs/messages.js";
import { keySpecNamed } from "../key-specs/table.js";
import type {
  BlsAggregateClaim,
  ItemOutcome,
  KeyOperation,
  KeyReference,
  OperateMessage,
  VaultReference,
} from "../protocol.js";
import { CONTEXT_BYTES_MAX, PLAINTEXT_BYTES_MAX, type CipherInput } from "../schemas.js";
import { hexBytes, invalidMember, isOverlong, toHex, utf8Bytes } from "../keys/validation.js";
import { workTogether, type Answer } from "../threads/batch.js";
import type { WorkerKeys } from "./keys.js";

/** Members that the items of all operations may have; the routes' schemas decide which of them do. */
interface Item extends SignItem {
  readonly signature?: string;
  readonly public_key?: string;
  readonly spec?: string;
  readonly context?: string;
}
/** A text is JSON: see ItemOutcome. */
type Run = (spec: KeySpec, key: UnwrappedKey, item: Item) => object | string;
/** Undefined where the spec knows no way that is cheaper than one by one. */
type RunMany = (spec: KeySpec, key: UnwrappedKey, items: readonly Item[]) => readonly Answer<object>[] | undefined;

interface Operation {
  readonly ability: keyof KeySpec;
  readonly code: ErrorCode;
  readonly noun: string;
  readonly run: Run;
  readonly runMany?: RunMany;
}

const BLS_MESSAGE_BYTES = 32;
const NO_FRAME = new Uint8Array();

const OPERATIONS: Readonly<Record<Exclude<KeyOperation, "decrypt">, Operation>> = {
  sign: {
    ability: "sign",
    code: "spec_cannot_sign",
    noun: "signing",
    run: (spec, key, item) => spec.sign?.(key, item) ?? {},
    runMany: (spec, key, items) => spec.signMany?.(key, items),
  },
  verify: {
    ability: "verify",
    code: "spec_cannot_verify",
    noun: "verification",
    run: (spec, key, item) => ({ verified: spec.verify?.(key, withSignature(item)) ?? false }),
    runMany: (spec, key, items) =>
      spec.verifyMany &&
      workTogether(items, withSignature, (all) =>
        (spec.verifyMany?.(key, all) ?? []).map((answer) => () => ({ verified: answer() })),
      ),
  },
  encrypt: {
    ability: "encrypt",
    code: "spec_cannot_encrypt",
    noun: "encryption",
    run: (spec, key, item) => {
      const { text, path } = dataOf(item as CipherInput, "requires data to be encrypted");
      const encoding = (item as CipherInput).encoding ?? "utf8";
      if (isOverlong(text, encoding, PLAINTEXT_BYTES_MAX)) throw plaintextTooLong(path);
      const plaintext = encoding === "hex" ? hexBytes(text, path) : utf8Bytes(text, path);
      if (plaintext.length > PLAINTEXT_BYTES_MAX) throw plaintextTooLong(path);
      // Written here, and by hand: it is long, the main thread has more to do, and to look in hex for what needs an
      // escape takes a fifth of what encrypting does.
      return `{"data":"${toHex(spec.encrypt?.(key, plaintext, contextBytes(item.context)) ?? plaintext.fill(0))}"}`;
    },
  },
  agree: {
    ability: "agree",
    code: "spec_cannot_agree",
    noun: "key agreement",
    run: (spec, key, item) => {
      if (item.public_key === undefined) throw invalidMember("public_key", "public key is required");
      const shared = spec.agree?.(
        key,
        readHexMember(item.public_key, "public_key", "public_key_invalid"),
        contextBytes(item.context),
      );
      if (shared === undefined)
        throw invalidMember(
          "public_key",
          "`public_key` is not an X25519 key that one can agree with",
          "public_key_invalid",
        );
      return { shared_key: toHex(shared) };
    },
  },
};

/**
 * Runs one operation of one key on items. Throws when the spec lacks the operation, the key is disabled or its record
 * is damaged.
 */
export function operate(
  keys: WorkerKeys,
  { vault, key, earlier, operation, items }: OperateMessage,
): readonly ItemOutcome[] {
  if (operation === "decrypt")
    return items.map((item) => outcomeOf(() => decrypt(keys, vault, [key, ...earlier], item as CipherInput)));
  const { ability, code, noun, run, runMany } = OPERATIONS[operation];
  return keys.lend(vault, key, (spec, unwrapped) => {
    if (spec[ability] === undefined) throw new AppError(code, { message: `key does not support ${noun}` });
    const answers = items.length > 1 ? runMany?.(spec, unwrapped, items as readonly Item[]) : undefined;
    return (answers ?? items.map((item) => () => run(spec, unwrapped, item as Item))).map(outcomeOf);
  });
}

/** The same as JSON: see `answersJson`. Throws as `operate` does. */
export function operateBatch(keys: WorkerKeys, message: OperateMessage): Uint8Array {
  return answersJson(operate(keys, message));
}

/** Verifies items under the public keys that they name. */
export function verifyDetached(items: readonly unknown[]): readonly ItemOutcome[] {
  return items.map((item) => outcomeOf(() => verifyOne(item as Item)));
}

/** `{aggregate_signature}`, or `signature_malformed` for what is no signature. */
export function blsAggregate(signatures: readonly string[]): ItemOutcome {
  return outcomeOf(() => ({ aggregate_signature: aggregate(signatures) }));
}

/** `{verified}`, or a failure for messages of another length or that repeat, and for keys that are none. */
export function blsVerify(input: BlsAggregateClaim): ItemOutcome {
  return outcomeOf(() => ({ verified: isAggregateOf(input) }));
}

/** The public keys of a vault as JSON Web Keys, each authenticated by opening its record. */
export function jsonWebKeys(
  keys: WorkerKeys,
  vault: VaultReference,
  references: readonly KeyReference[],
): Readonly<Record<string, string>>[] {
  return references.flatMap((reference) => {
    if (keySpecNamed(reference.spec).jwk === undefined) return [];
    return [keys.lend(vault, reference, (spec, key) => ({ kid: key.keyId, ...spec.jwk?.(key.publicKey) }))];
  });
}

function aggregate(signatures: readonly string[]): string {
  const points = signatures.map((text, index) =>
    readHexMember(text, `signatures[${String(index)}]`, "signature_malformed"),
  );
  const sum = points.every((point) => point.length === BLS_SIGNATURE_BYTES) ? aggregateBls(points) : undefined;
  if (sum === undefined)
    throw invalidMember(
      "signatures",
      `\`signatures\` must be points of G2 in ${String(BLS_SIGNATURE_BYTES)} bytes`,
      "signature_malformed",
    );
  return plainHex(sum);
}

function isAggregateOf({ messages, public_keys: publicKeys, signature }: BlsAggregateClaim): boolean {
  const message = messages.map((text, index) => hexBytes(text, `messages[${String(index)}]`));
  if (message.some((bytes) => bytes.length !== BLS_MESSAGE_BYTES))
    throw invalidMember(
      "messages",
      `each message must have ${String(BLS_MESSAGE_BYTES)} bytes`,
      "digest_length_invalid",
    );
  if (publicKeys.length !== messages.length)
    throw invalidMember("public_keys", "there must be one public key for each message");
  if (new Set(message.map(plainHex)).size !== message.length) {
    throw invalidMember(
      "messages",
      "the messages must all be different: with equal ones a signer could choose a key that cancels another's",
      "messages_not_distinct",
    );
  }
  const keys = publicKeys.map((text, index) =>
    readHexMember(text, `public_keys[${String(index)}]`, "public_key_invalid"),
  );
  const bad = keys.findIndex((key) => key.length !== BLS_PUBLIC_KEY_BYTES || !isBlsPublicKey(key));
  if (bad !== -1)
    throw invalidMember(
      `public_keys[${String(bad)}]`,
      `\`public_keys[${String(bad)}]\` is not a point of G1 in ${String(BLS_PUBLIC_KEY_BYTES)} bytes`,
      "public_key_invalid",
    );
  return verifyAggregateBls(keys, message, readHexMember(signature, "signature", "signature_malformed"));
}

/**
 * Only the named generation is tried: one frame, one key. An unknown one fails like every other frame that does not
 * open.
 */
function decrypt(
  keys: WorkerKeys,
  vault: VaultReference,
  generations: readonly KeyReference[],
  item: CipherInput,
): object {
  const { text, path } = dataOf(item, "requires data to be decrypted");
  // Nothing that encrypting answers is that long: it fails like every other frame that does not open.
  const frame = isOverlong(text, "hex", PLAINTEXT_BYTES_MAX + FRAME_OVERHEAD_BYTES) ? NO_FRAME : hexBytes(text, path);
  const named = frameGeneration(frame);
  const key = generations.find(({ generation }) => generation === named) ?? generations[0];
  if (key === undefined) throw new Error("invariant broken: a key has a present generation");
  const plaintext = keys.lend(vault, key, (spec, unwrapped) => {
    if (spec.decrypt === undefined)
      throw new AppError("spec_cannot_decrypt", { message: "key does not support decryption" });
    return spec.decrypt(unwrapped, frame, contextBytes(item.context));
  });
  try {
    return { data: item.encoding === "hex" ? toHex(plaintext) : plainText(plaintext) };
  } finally {
    plaintext.fill(0);
  }
}

function verifyOne(item: Item): object {
  if (item.spec === undefined || item.spec === "") throw invalidMember("spec", "key spec is required");
  const spec = keySpecNamed(item.spec);
  if (spec.verifyDetached === undefined || spec.readPublicKey === undefined)
    throw new AppError("spec_cannot_verify", { message: `keys of the spec ${spec.name} do not verify signatures` });
  if (item.public_key === undefined || item.public_key === "")
    throw invalidMember("public_key", "public key is required", "public_key_invalid");
  const publicKey = spec.readPublicKey(item.public_key);
  if (publicKey === undefined)
    throw invalidMember(
      "public_key",
      `\`public_key\` is not a public key of the spec ${spec.name}`,
      "public_key_invalid",
    );
  return { verified: spec.verifyDetached(publicKey, withSignature(item)) };
}

function withSignature(item: Item): VerifyItem {
  const { signature } = item;
  if (signature === undefined || signature === "")
    throw invalidMember("signature", "signature is required", "signature_malformed");
  return { ...item, signature };
}

function plaintextTooLong(path: string): AppError {
  return invalidMember(path, `\`${path}\` is longer than ${String(PLAINTEXT_BYTES_MAX)} bytes`, "message_too_long");
}

/** A refusal of an item is its outcome. A damaged record or a bug is not the item's, and fails the task. */
function outcomeOf(run: Answer<object | string>): ItemOutcome {
  try {
    return { ok: true, value: run() };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "data_corrupt" || error.code === "vault_sealed") throw error;
    return { ok: false, code: error.code, message: error.message, details: error.details };
  }
}

function plainText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalidMember("encoding", "the plaintext is not UTF-8 text: ask for it with `encoding` hex");
  }
}

function dataOf(input: CipherInput, missing: string): { text: string; path: string } {
  if (input.data !== undefined && input.message !== undefined)
    throw invalidMember("message", "give `data` or `message`, not both");
  if (input.data !== undefined) return { text: input.data, path: "data" };
  if (input.message !== undefined) return { text: input.message, path: "message" };
  throw invalidMember("data", missing);
}

function contextBytes(context = ""): Uint8Array {
  const bytes = utf8Bytes(context, "context");
  if (bytes.length > CONTEXT_BYTES_MAX)
    throw invalidMember("context", `\`context\` is longer than ${String(CONTEXT_BYTES_MAX)} bytes`);
  return bytes;
}
