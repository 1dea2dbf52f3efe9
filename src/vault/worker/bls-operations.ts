/** Aggregates of BLS signatures, inside the vault worker: adding signatures up, and verifying their sum. */
import { invalidMember } from "../../platform/errors.js";
import {
  aggregateBls,
  BLS_PUBLIC_KEY_BYTES,
  BLS_SIGNATURE_BYTES,
  isBlsPublicKey,
  verifyAggregateBls,
} from "../../crypto/signatures/bls.js";
import { plainHex, readHexMember } from "../key-specs/messages.js";
import { hexBytes } from "../keys/validation.js";
import type { BlsAggregateClaim, ItemOutcome } from "../protocol.js";
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
  const keys = publicKeys.map((text, index) => readHexMember(text, `public_keys[${index}]`, "public_key_invalid"));
  const bad = keys.findIndex((key) => key.length !== BLS_PUBLIC_KEY_BYTES || !isBlsPublicKey(key));
  if (bad !== -1)
    throw invalidMember(
      `public_keys[${bad}]`,
      `\`public_keys[${bad}]\` is not a point of G1 in ${BLS_PUBLIC_KEY_BYTES} bytes`,
      "public_key_invalid",
    );
  return verifyAggregateBls(keys, message, readHexMember(signature, "signature", "signature_malformed"));
}
