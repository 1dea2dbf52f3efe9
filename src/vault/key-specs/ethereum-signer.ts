/**
 * Signing with secp256k1 as Ethereum and JOSE know it: which digest an item asks for, and the forms that its signature takes. Shared by
 * secp256k1 keys and the keys of HD wallets.
 */
import { createHash } from "node:crypto";
import { addressOfPublicKey } from "../../crypto/ethereum/address.js";
import { InvalidPayload } from "../../crypto/ethereum/invalid.js";
import { personalDigest } from "../../crypto/ethereum/personal-message.js";
import { authorizationDigest, readTransaction, serializeSigned, transactionDigest, transactionV, type Transaction } from "../../crypto/ethereum/transaction.js";
import { typedDataDigest } from "../../crypto/ethereum/typed-data.js";
import { keccak256 } from "../../crypto/keccak.js";
import { DIGEST_BYTES, readSignature, signatureBytes, signDigest, verifyDigest, type EcdsaSignature } from "../../crypto/secp256k1.js";
import type { ErrorCode } from "../../platform/errors.js";
import { invalidMember, toHex } from "../text.js";
import { selfCheckFailed, signJws, verifyJws } from "./jws.js";
import type { SignAnswer, SignItem, VerifyItem } from "./key-spec.js";
import { chosenAlgorithm, messageBytes, messageObject, plainHex, refuseOptions, signatureOfHex } from "./messages.js";

export interface EthereumKey {
  readonly keyId: string;
  readonly spec: string;
  readonly privateKey: Uint8Array;
  /** 65-byte uncompressed point. */
  readonly publicKey: Uint8Array;
}

interface ToSign {
  readonly digest: Uint8Array;
  /** What is added to the parity in the last byte of the signature: wallets write 27 and 28 under messages. */
  readonly vOffset: 0 | 27;
  readonly transaction?: Transaction;
}

const ALGORITHM = "ES256K";
const MESSAGE_V_OFFSET = 27;

/** Signs an item; every signature has low S and was verified. */
export function signEthereum(key: EthereumKey, item: SignItem): SignAnswer {
  if (readFormat(item, key.spec) === "jws") {
    return signJws({
      algorithm: ALGORITHM,
      sign: (input) => signatureBytes(signDigest(key.privateKey, sha256(input))),
      verify: (input, signature) => verifyDigest(key.publicKey, sha256(input), readSignature(signature)),
    }, key.keyId, item);
  }
  const toSign = readItem(item, key.spec);
  const { transaction, digest, vOffset } = toSign;
  if (transaction?.from !== undefined && transaction.from !== addressOfPublicKey(key.publicKey)) {
    throw invalidMember("message.from", "`from` is not the address of the key that signs", "transaction_invalid");
  }
  const signature = signDigest(key.privateKey, digest);
  if (!verifyDigest(key.publicKey, digest, signature)) throw selfCheckFailed();
  return { ...signatureForms(signature, vOffset), ...(transaction === undefined ? {} : signedTransaction(transaction, signature)) };
}

/** Whether a signature of 65 bytes (with a recovery byte 0, 1, 27 or 28 that fits) or of 64 is the key's on the item. */
export function verifyEthereum(publicKey: Uint8Array, item: VerifyItem, spec: string): boolean {
  if (readFormat(item, spec) === "jws") return verifyJws({ algorithm: ALGORITHM, verify: (input, bytes) => bytes.length === 64 && verifyDigest(publicKey, sha256(input), readSignature(bytes)) }, item);
  const { digest } = readItem(item, spec);
  const bytes = signatureOfHex(item.signature, [64, 65]);
  if (bytes === undefined) return false;
  const recovery = bytes[64];
  const yParity = recovery === undefined ? undefined : recovery >= MESSAGE_V_OFFSET ? recovery - MESSAGE_V_OFFSET : recovery;
  if (yParity !== undefined && yParity > 1) return false;
  return verifyDigest(publicKey, digest, { ...readSignature(bytes), yParity });
}

function readFormat({ options }: SignItem, spec: string): NonNullable<NonNullable<SignItem["options"]>["format"]> {
  refuseOptions(options, spec, ["format", "encoding", "digest", "algorithm", "header", "hdwallet"]);
  const format = options?.format ?? "raw";
  chosenAlgorithm(options, [ALGORITHM], spec);
  if (options?.digest !== undefined && format !== "raw") throw invalidMember("options.digest", `the format ${format} says itself what is hashed`, "option_unsupported");
  if (options?.header !== undefined && format !== "jws") throw invalidMember("options.header", "only a JWS has a header", "option_unsupported");
  return format;
}

function readItem(item: SignItem, spec: string): ToSign {
  switch (readFormat(item, spec)) {
    case "raw":
      return { digest: rawDigest(item), vOffset: 0 };
    case "personal_sign":
      return { digest: personalDigest(messageBytes(item)), vOffset: MESSAGE_V_OFFSET };
    case "eip712":
      return { digest: structured("typed_data_invalid", () => typedDataDigest(messageObject(item))), vOffset: MESSAGE_V_OFFSET };
    case "authorization":
      return { digest: structured("transaction_invalid", () => authorizationDigest(messageObject(item))), vOffset: 0 };
    case "transaction": {
      const transaction = structured("transaction_invalid", () => readTransaction(messageObject(item)));
      return { digest: transactionDigest(transaction), vOffset: 0, transaction };
    }
    case "jws":
      throw new Error("invariant broken: a JWS is signed as a whole");
  }
}

/** A message is a digest itself unless the caller names the hash; no length is guessed at. Throws `digest_length_invalid`. */
function rawDigest(item: SignItem): Uint8Array {
  const message = messageBytes(item);
  switch (item.options?.digest ?? "none") {
    case "keccak256":
      return keccak256(message);
    case "sha256":
      return sha256(message);
    case "none":
      if (message.length === DIGEST_BYTES) return message;
      throw invalidMember("message", `\`message\` must be a digest of ${String(DIGEST_BYTES)} bytes; name a hash in \`options.digest\` to have it made`, "digest_length_invalid");
  }
}

function structured<T>(code: ErrorCode, read: () => T): T {
  try {
    return read();
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

function signedTransaction(transaction: Transaction, signature: EcdsaSignature): Pick<SignAnswer, "v" | "raw_transaction" | "transaction_hash"> {
  const raw = serializeSigned(transaction, signature);
  return { v: transactionV(transaction, signature), raw_transaction: toHex(raw), transaction_hash: toHex(keccak256(raw)) };
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}
