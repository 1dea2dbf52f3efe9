/**
 * Signing with secp256k1 for Ethereum and JOSE: which digest an item asks for, and the forms of its signature. Shared
 * by secp256k1 keys and the keys of HD wallets.
 */
import { createHash } from "node:crypto";
import { addressOfPublicKey } from "../../crypto/ethereum/address.js";
import { InvalidPayload } from "../../crypto/ethereum/invalid.js";
import { personalDigest } from "../../crypto/ethereum/personal-message.js";
import {
  authorizationDigest,
  readTransaction,
  serializeSigned,
  transactionDigest,
  transactionV,
  type Transaction,
} from "../../crypto/ethereum/transaction.js";
import { typedDataDigest } from "../../crypto/ethereum/typed-data.js";
import { keccak256 } from "../../crypto/hashes/keccak.js";
import {
  DIGEST_BYTES,
  readSignature,
  signatureBytes,
  verifyDigest,
  verifyDigests,
  type EcdsaClaim,
  type EcdsaSignature,
} from "../../crypto/secp256k1/secp256k1.js";
import { signDigests, type SigningKey } from "../../crypto/secp256k1/signing.js";
import { assert, invalidMember, type ErrorCode } from "../../platform/errors.js";
import { toHex } from "../keys/validation.js";
import { runBatch, type Deferred } from "../threads/batch.js";
import { jwsAnswer, jwsInput, selfCheckFailed, verifyJws } from "./jws.js";
import type { SignAnswer, SignItem, VerifyItem } from "./key-spec.js";
import {
  chosenAlgorithm,
  emptyMessage,
  messageBytes,
  messageObject,
  plainHex,
  refuseOptions,
  signatureOfHex,
} from "./messages.js";

export interface EthereumKey extends SigningKey {
  readonly keyId: string;
  readonly spec: string;
}

interface ToSign {
  readonly digest: Uint8Array;
  /** Added to the parity in the last byte of the signature: signatures of messages end in 27 or 28. */
  readonly vOffset: 0 | 27;
  readonly transaction?: Transaction;
}

/** The digest that an item asks to sign, and how its answer is made from the signature. */
interface Draft {
  readonly digest: Uint8Array;
  readonly answer: (signature: EcdsaSignature) => SignAnswer;
}

const ALGORITHM = "ES256K";
/** Formats whose message is bytes, as hex or as text. */
const OF_BYTES: ReadonlySet<string> = new Set(["raw", "personal_sign", "jws"]);
const MESSAGE_V_OFFSET = 27;

/** Signs an item. Every signature has low S and was verified. */
export function signEthereum(key: EthereumKey, item: SignItem): SignAnswer {
  const [answer] = signEthereumItems(key, [item]);
  assert(answer !== undefined, "each item has an answer");
  return answer();
}

/** Signs items of one key, whose signatures are checked together. */
export function signEthereumItems(key: EthereumKey, items: readonly SignItem[]): Deferred<SignAnswer>[] {
  return runBatch(
    items,
    (item) => draftOf(key, item),
    (drafts) => {
      const signatures = signDigests(
        key,
        drafts.map(({ digest }) => digest),
      );
      return drafts.map((draft, index) => () => {
        const signature = signatures[index];
        if (signature === undefined) throw selfCheckFailed();
        return draft.answer(signature);
      });
    },
  );
}

/**
 * Whether a signature is the key's signature of the item: 65 bytes with a fitting recovery byte 0, 1, 27 or 28, or 64
 * bytes.
 */
export function verifyEthereum(publicKey: Uint8Array, item: VerifyItem, spec: string): boolean {
  const claim = claimOf(publicKey, item, spec);
  return typeof claim === "boolean" ? claim : verifyDigest(publicKey, claim.digest, claim.signature);
}

/** Does the same for items of one key. */
export function verifyEthereumItems(
  publicKey: Uint8Array,
  items: readonly VerifyItem[],
  spec: string,
): Deferred<boolean>[] {
  return runBatch(
    items,
    (item) => claimOf(publicKey, item, spec),
    (claims) => {
      const verified = verifyDigests(
        publicKey,
        claims.filter((claim) => typeof claim !== "boolean"),
      ).values();
      return claims.map((claim) => {
        const answer = typeof claim === "boolean" ? claim : verified.next().value === true;
        return () => answer;
      });
    },
  );
}

function draftOf(key: EthereumKey, item: SignItem): Draft {
  if (readFormat(item, key.spec) === "jws") {
    const input = jwsInput(ALGORITHM, key.keyId, item);
    return {
      digest: sha256(Buffer.from(input, "latin1")),
      answer: (signature) => jwsAnswer(input, signatureBytes(signature)),
    };
  }
  const { transaction, digest, vOffset } = readItem(item, key.spec);
  if (transaction?.from !== undefined && transaction.from !== addressOfPublicKey(key.publicKey)) {
    throw invalidMember("message.from", "`from` is not the address of the key that signs", "transaction_invalid");
  }
  return {
    digest,
    answer: (signature) => ({
      ...signatureForms(signature, vOffset),
      ...(transaction === undefined ? {} : signedTransaction(transaction, signature)),
    }),
  };
}

/** Returns what must be verified, or the result where there is nothing to calculate. */
function claimOf(publicKey: Uint8Array, item: VerifyItem, spec: string): EcdsaClaim | boolean {
  if (readFormat(item, spec) === "jws")
    return verifyJws(
      {
        algorithm: ALGORITHM,
        verify: (input, bytes) => bytes.length === 64 && verifyDigest(publicKey, sha256(input), readSignature(bytes)),
      },
      item,
    );
  const { digest } = readItem(item, spec);
  const bytes = signatureOfHex(item.signature, [64, 65]);
  if (bytes === undefined) return false;
  const recovery = bytes[64];
  const yParity =
    recovery === undefined ? undefined : recovery >= MESSAGE_V_OFFSET ? recovery - MESSAGE_V_OFFSET : recovery;
  if (yParity !== undefined && yParity > 1) return false;
  return { digest, signature: { ...readSignature(bytes), yParity } };
}

function readFormat({ options }: SignItem, spec: string): NonNullable<NonNullable<SignItem["options"]>["format"]> {
  refuseOptions(options, spec, ["format", "encoding", "digest", "algorithm", "header", "hdwallet"]);
  const format = options?.format ?? "raw";
  chosenAlgorithm(options, [ALGORITHM], spec);
  if (options?.digest !== undefined && format !== "raw")
    throw invalidMember("options.digest", `the format ${format} defines its own digest`, "option_unsupported");
  if (options?.encoding !== undefined && !OF_BYTES.has(format))
    throw invalidMember("options.encoding", `the format ${format} signs an object, not bytes`, "option_unsupported");
  if (options?.header !== undefined && format !== "jws")
    throw invalidMember("options.header", "only a JWS has a header", "option_unsupported");
  return format;
}

function readItem(item: SignItem, spec: string): ToSign {
  switch (readFormat(item, spec)) {
    case "raw":
      return { digest: rawDigest(item), vOffset: 0 };
    case "personal_sign":
      return { digest: personalDigest(messageBytes(item)), vOffset: MESSAGE_V_OFFSET };
    case "eip712":
      return { digest: structured("typed_data_invalid", item, typedDataDigest), vOffset: MESSAGE_V_OFFSET };
    case "authorization":
      return { digest: structured("transaction_invalid", item, authorizationDigest), vOffset: 0 };
    case "transaction": {
      const transaction = structured("transaction_invalid", item, readTransaction);
      return { digest: transactionDigest(transaction), vOffset: 0, transaction };
    }
    case "jws":
      assert(false, "a JWS is signed as a whole");
  }
}

/**
 * Takes the message as the digest unless the caller names the hash; the length decides nothing. Throws
 * `digest_length_invalid`, and `message_required` for an empty message that is not hashed.
 */
function rawDigest(item: SignItem): Uint8Array {
  const message = messageBytes(item);
  switch (item.options?.digest ?? "none") {
    case "keccak256":
      return keccak256(message);
    case "sha256":
      return sha256(message);
    case "none":
      if (message.length === DIGEST_BYTES) return message;
      if (message.length === 0) throw emptyMessage(`a digest of ${String(DIGEST_BYTES)} bytes`);
      throw invalidMember(
        "message",
        `\`message\` must be a digest of ${String(DIGEST_BYTES)} bytes; name a hash in \`options.digest\` to have it made`,
        "digest_length_invalid",
      );
  }
}

function structured<T>(code: ErrorCode, item: SignItem, read: (value: unknown) => T): T {
  const value = messageObject(item);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidMember("message", "`message` is not an object", code);
  try {
    return read(value);
  } catch (error) {
    if (error instanceof InvalidPayload) throw invalidMember(`message.${error.path}`, error.message, code);
    throw error;
  }
}

function signatureForms(signature: EcdsaSignature, vOffset: 0 | 27): SignAnswer {
  const bytes = signatureBytes(signature);
  const { yParity } = signature;
  return {
    signature: plainHex(Uint8Array.from([...bytes, yParity + vOffset])),
    r: toHex(bytes.subarray(0, 32)),
    s: toHex(bytes.subarray(32)),
    yParity,
    v: yParity + MESSAGE_V_OFFSET,
  };
}

function signedTransaction(
  transaction: Transaction,
  signature: EcdsaSignature,
): Pick<SignAnswer, "v" | "raw_transaction" | "transaction_hash"> {
  const raw = serializeSigned(transaction, signature);
  return {
    v: transactionV(transaction, signature),
    raw_transaction: toHex(raw),
    transaction_hash: toHex(keccak256(raw)),
  };
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}
