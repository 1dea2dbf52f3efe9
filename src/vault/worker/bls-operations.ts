/**
 * BLS without a private key, inside the vault worker: adding signatures up, verifying their sum on different messages
 * or on the same one, and verifying proofs of possession.
 */
import { invalidMember } from "../../platform/errors.js";
import {
  aggregateBls,
  BLS_PUBLIC_KEY_BYTES,
  BLS_SIGNATURE_BYTES,
  fastVerifyAggregateBls,
  readBlsPublicKey,
  verifyAggregateBls,
  verifyBlsPossession,
  type BlsPublicKey,
} from "../../crypto/signatures/bls.js";
import { messageBytes, plainHex, readHexMember } from "../key-specs/messages.js";
import { hexBytes } from "../keys/validation.js";
import type { BlsAggregateClaim, BlsFastClaim, BlsPossessionClaim, ItemOutcome } from "../protocol.js";
import { itemOutcome } from "./item-outcome.js";

const BLS_MESSAGE_BYTES = 32;

/**
 * Adds signatures up. The outcome is `{aggregate_signature}`, or `signature_malformed` for bytes that are no signature.
 */
export function blsAggregate(signatures: readonly string[]): ItemOutcome {
  return itemOutcome(() => ({ aggregate_signature: aggregate(signatures) }));
}

/**
 * Verifies an aggregate. The outcome is `{verified}`, or a failure for messages of another length, messages that
 * repeat, and bytes that are no public key.
 */
export function blsVerify(claim: BlsAggregateClaim): ItemOutcome {
  return itemOutcome(() => ({ verified: isAggregateOf(claim) }));
}

/**
 * Verifies the sum of signatures on one message. The outcome is `{verified}`, or a failure for bytes that are no public
 * key. The caller has made sure of the keys' possession.
 */
export function blsFastVerify({ message, public_keys: publicKeys, signature }: BlsFastClaim): ItemOutcome {
  return itemOutcome(() => ({
    verified: fastVerifyAggregateBls(
      readKeys(publicKeys),
      messageBytes({ message }),
      readHexMember(signature, "signature", "signature_malformed"),
    ),
  }));
}

/** Verifies a proof of possession. The outcome is `{verified}`, or a failure for bytes that are no public key. */
export function blsVerifyPossession({ public_key: publicKey, proof }: BlsPossessionClaim): ItemOutcome {
  return itemOutcome(() => ({
    verified: verifyBlsPossession(
      readKey(publicKey, "public_key").bytes,
      readHexMember(proof, "proof", "signature_malformed"),
    ),
  }));
}

function aggregate(signatures: readonly string[]): string {
  const points = signatures.map((text, index) => readHexMember(text, `signatures[${index}]`, "signature_malformed"));
  const sum = points.every((point) => point.length === BLS_SIGNATURE_BYTES) ? aggregateBls(points) : undefined;
  if (sum === undefined)
    throw invalidMember(
      "signatures",
      `\`signatures\` must be points of G2 in ${BLS_SIGNATURE_BYTES} bytes`,
      "signature_malformed",
    );
  return plainHex(sum);
}

function isAggregateOf({ messages, public_keys: publicKeys, signature }: BlsAggregateClaim): boolean {
  const message = messages.map((text, index) => hexBytes(text, `messages[${index}]`));
  if (message.some((bytes) => bytes.length !== BLS_MESSAGE_BYTES))
    throw invalidMember("messages", `each message must have ${BLS_MESSAGE_BYTES} bytes`, "digest_length_invalid");
  if (publicKeys.length !== messages.length)
    throw invalidMember("public_keys", "there must be one public key for each message");
  if (new Set(message.map(plainHex)).size !== message.length) {
    throw invalidMember(
      "messages",
      "the messages must all be different: with equal ones a signer could choose a key that cancels another's",
      "messages_not_distinct",
    );
  }
  return verifyAggregateBls(
    readKeys(publicKeys),
    message,
    readHexMember(signature, "signature", "signature_malformed"),
  );
}

function readKeys(texts: readonly string[]): BlsPublicKey[] {
  return texts.map((text, index) => readKey(text, `public_keys[${index}]`).key);
}

function readKey(text: string, path: string): { readonly bytes: Uint8Array; readonly key: BlsPublicKey } {
  const bytes = readHexMember(text, path, "public_key_invalid");
  const key = readBlsPublicKey(bytes);
  if (key !== undefined) return { bytes, key };
  throw invalidMember(path, `\`${path}\` is not a point of G1 in ${BLS_PUBLIC_KEY_BYTES} bytes`, "public_key_invalid");
}
