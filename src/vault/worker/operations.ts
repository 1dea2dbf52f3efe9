/**
 * What the vault worker does with a key for callers, item by item: signing, verifying, encrypting, decrypting,
 * rewrapping, agreeing, proving possession. Reads and writes the texts of the API. The refusal of an item is its
 * outcome; only a damaged record or a fault of our own fails the task.
 */
import { AppError, assert, invalidMember } from "../../platform/errors.js";
import { requireAbility, type Ability } from "../key-specs/abilities.js";
import type { KeySpec, SignItem, UnwrappedKey, VerifyItem } from "../key-specs/key-spec.js";
import { plainHex, readHexMember } from "../key-specs/messages.js";
import { keySpecNamed } from "../key-specs/table.js";
import { keyDisabled } from "../keys/key-records.js";
import { contextBytes, hexBytes, isOverlong, toHex, utf8Bytes, type TextEncoding } from "../keys/validation.js";
import type {
  DetachedItem,
  ItemOutcome,
  KeyOperation,
  KeyReference,
  OperateMessage,
  OperationItem,
  VaultReference,
} from "../protocol.js";
import { PLAINTEXT_BYTES_MAX } from "../schemas.js";
import { runBatch, type Deferred } from "../threads/batch.js";
import { outcomesJson, refusalOf } from "../threads/item-batches.js";
import { FRAME_OVERHEAD_BYTES, frameGeneration } from "./ciphertext-frame.js";
import { itemOutcome } from "./item-outcome.js";
import type { WorkerKeys } from "./worker-keys.js";

/** What an operation returns for an item; a text is JSON, see ItemOutcome. */
type Result = object | string;
/** Runs an operation of one key on items; each result comes, or throws, when it is asked for. */
type Operation = (spec: KeySpec, key: UnwrappedKey, items: readonly OperationItem[]) => readonly Deferred<Result>[];

const NO_FRAME = new Uint8Array();

const OPERATIONS: Readonly<Record<Exclude<KeyOperation, "decrypt" | "rewrap">, Operation>> = {
  sign: (spec, key, items) => {
    const signing = requireAbility(spec, "sign");
    if (items.length > 1 && signing.signMany !== undefined) return signing.signMany(key, items);
    return items.map((item) => () => signing.sign(key, item));
  },
  verify: (spec, key, items) => {
    const verifying = requireAbility(spec, "verify");
    const { verifyMany } = verifying;
    if (items.length === 1 || verifyMany === undefined)
      return items.map((item) => () => ({ verified: verifying.verify(key, withSignature(item)) }));
    return runBatch(items, withSignature, (claims) =>
      verifyMany(key, claims).map((verified) => () => ({ verified: verified() })),
    );
  },
  encrypt: (spec, key, items) => {
    const encrypting = requireAbility(spec, "encrypt");
    return items.map((item) => () => {
      const ciphertext = encrypting.encrypt(key, plaintextOf(item), contextBytes(item.context));
      return ciphertextJson(ciphertext);
    });
  },
  prove_possession: (spec, key, items) => {
    const proving = requireAbility(spec, "provePossession");
    return items.map(() => () => ({ public_key: toHex(key.publicKey), proof: plainHex(proving.provePossession(key)) }));
  },
  agree: (spec, key, items) => {
    const agreeing = requireAbility(spec, "agree");
    return items.map(({ public_key: publicKey, context }) => () => {
      if (publicKey === undefined) throw invalidMember("public_key", "public key is required");
      const peer = readHexMember(publicKey, "public_key", "public_key_invalid");
      const shared = agreeing.agree(key, peer, contextBytes(context));
      if (shared === undefined)
        throw invalidMember(
          "public_key",
          "`public_key` is no key of the vault key's curve that can be used for key agreement",
          "public_key_invalid",
        );
      return { shared_key: toHex(shared) };
    });
  },
};

/**
 * Runs one operation of one key on items. The key is lent once for all of them, except for decrypting and rewrapping,
 * where each item names its generation.
 * @throws spec_cannot_... when keys of the spec lack the operation, `key_disabled`, `data_corrupt`
 */
export function operate(
  keys: WorkerKeys,
  { vault, key, earlier, operation, items }: OperateMessage,
): readonly ItemOutcome[] {
  return unlessRefused(items, (accepted) => {
    if (operation !== "decrypt" && operation !== "rewrap")
      return keys.lend(vault, key, (spec, unwrapped) =>
        OPERATIONS[operation](spec, unwrapped, accepted).map(itemOutcome),
      );
    requireUsable(key, "decrypt");
    const run = operation === "decrypt" ? decrypt : rewrap;
    return accepted.map((item) => itemOutcome(() => run(keys, { vault, key, earlier }, item)));
  });
}

/** Runs the work on the items that their schema accepted, and returns an outcome for each item, in order. */
function unlessRefused<Item extends object>(
  items: readonly Item[],
  work: (accepted: readonly Item[]) => readonly ItemOutcome[],
): readonly ItemOutcome[] {
  const refusals = items.map(refusalOf);
  if (refusals.every((refusal) => refusal === undefined)) return work(items);
  const outcomes = work(items.filter((_item, index) => refusals[index] === undefined)).values();
  return refusals.map((refusal) => {
    if (refusal !== undefined) return refusal;
    const next = outcomes.next();
    assert(next.done !== true, "each accepted item has an outcome");
    return next.value;
  });
}

/** Refuses the call rather than each of its items, where the key is not lent once for all of them. */
function requireUsable(key: KeyReference, ability: Ability): void {
  if (key.isDisabled === true) throw keyDisabled();
  requireAbility(keySpecNamed(key.spec), ability);
}

/** Does the same, with the outcomes as JSON in UTF-8: see `outcomesJson`. Throws as `operate` does. */
export function operateBatch(keys: WorkerKeys, message: OperateMessage): Uint8Array {
  return outcomesJson(operate(keys, message));
}

/** Verifies items under the public keys that they name. */
export function verifyDetached(items: readonly DetachedItem[]): readonly ItemOutcome[] {
  return items.map((item) => refusalOf(item) ?? itemOutcome(() => verifyOne(item)));
}

/** Returns the public keys of a vault as JSON Web Keys, each authenticated by opening its record. */
export function jsonWebKeys(
  keys: WorkerKeys,
  vault: VaultReference,
  references: readonly KeyReference[],
): Readonly<Record<string, string>>[] {
  return references.flatMap((reference) => {
    const { jwk } = keySpecNamed(reference.spec);
    if (jwk === undefined) return [];
    return [keys.lend(vault, reference, (_spec, key) => ({ kid: key.keyId, ...jwk(key.publicKey) }))];
  });
}

/** A key in all generations that the items of a call name. */
type Generations = Pick<OperateMessage, "vault" | "key" | "earlier">;

/** Returns the text of a frame, or its bytes as hex where the item asks for that. */
function decrypt(keys: WorkerKeys, generations: Generations, item: OperationItem): object {
  return opened(keys, generations, item, (plaintext) => ({
    data: item.encoding === "hex" ? toHex(plaintext) : plainText(plaintext),
  }));
}

/** Encrypts the plaintext of a frame under the key's present generation, for the same context. */
function rewrap(keys: WorkerKeys, generations: Generations, item: OperationItem): string {
  const { vault, key } = generations;
  return opened(keys, generations, item, (plaintext) =>
    keys.lend(vault, key, (spec, unwrapped) =>
      ciphertextJson(requireAbility(spec, "encrypt").encrypt(unwrapped, plaintext, contextBytes(item.context))),
    ),
  );
}

/**
 * Written as JSON here and by hand: the text is long, the main thread has more to do, and looking through hex for
 * characters that need an escape takes a fifth of the time that encrypting does.
 */
function ciphertextJson(ciphertext: Uint8Array): string {
  return `{"data":"${toHex(ciphertext)}"}`;
}

/**
 * Lends the plaintext of a frame to a function and wipes it afterwards. Tries only the generation that the frame names:
 * one frame, one key. An unknown one fails like every other frame that does not open.
 */
function opened<T>(
  keys: WorkerKeys,
  { vault, key: present, earlier }: Generations,
  item: OperationItem,
  use: (plaintext: Uint8Array) => T,
): T {
  const { text, path } = dataOf(item, "requires data to be decrypted");
  // Encryption never produces a frame of that length: it fails like every other frame that does not open.
  const frame = isOverlong(text, "hex", PLAINTEXT_BYTES_MAX + FRAME_OVERHEAD_BYTES) ? NO_FRAME : hexBytes(text, path);
  const named = frameGeneration(frame);
  const key = earlier.find(({ generation }) => generation === named) ?? present;
  const plaintext = keys.lend(vault, key, (spec, unwrapped) =>
    requireAbility(spec, "decrypt").decrypt(unwrapped, frame, contextBytes(item.context)),
  );
  try {
    return use(plaintext);
  } finally {
    plaintext.fill(0);
  }
}

function verifyOne(item: DetachedItem): object {
  if (item.spec === undefined || item.spec === "") throw invalidMember("spec", "key spec is required");
  const spec = keySpecNamed(item.spec);
  if (spec.detached === undefined)
    throw new AppError("spec_cannot_verify", { message: `keys of the spec ${spec.name} do not verify signatures` });
  if (item.public_key === undefined || item.public_key === "")
    throw invalidMember("public_key", "public key is required", "public_key_invalid");
  const publicKey = spec.detached.readPublicKey(item.public_key);
  if (publicKey === undefined)
    throw invalidMember(
      "public_key",
      `\`public_key\` is not a public key of the spec ${spec.name}`,
      "public_key_invalid",
    );
  return { verified: spec.detached.verify(publicKey, withSignature(item)) };
}

function withSignature(item: SignItem & { readonly signature?: string }): VerifyItem {
  const { signature } = item;
  if (signature === undefined || signature === "")
    throw invalidMember("signature", "signature is required", "signature_malformed");
  return { ...item, signature };
}

/** The bytes to encrypt, at most PLAINTEXT_BYTES_MAX. */
function plaintextOf(item: OperationItem): Uint8Array {
  const { text, path } = dataOf(item, "requires data to be encrypted");
  const encoding: TextEncoding = item.encoding ?? "utf8";
  if (isOverlong(text, encoding, PLAINTEXT_BYTES_MAX)) throw plaintextTooLong(path);
  const plaintext = encoding === "hex" ? hexBytes(text, path) : utf8Bytes(text, path);
  if (plaintext.length > PLAINTEXT_BYTES_MAX) throw plaintextTooLong(path);
  return plaintext;
}

function plaintextTooLong(path: string): AppError {
  return invalidMember(path, `\`${path}\` is longer than ${PLAINTEXT_BYTES_MAX} bytes`, "message_too_long");
}

function plainText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalidMember("encoding", "the plaintext is not UTF-8 text: ask for it with `encoding` hex");
  }
}

/** The text in `data` or, as existing clients send it, in `message`. */
function dataOf({ data, message }: OperationItem, missing: string): { text: string; path: string } {
  if (data !== undefined && message !== undefined) throw invalidMember("message", "give `data` or `message`, not both");
  if (data !== undefined) return { text: data, path: "data" };
  if (typeof message === "string") return { text: message, path: "message" };
  throw invalidMember("data", missing);
}
