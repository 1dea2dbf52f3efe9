/** The address whose wallet has signed a message for a person (EIP-191 version 0x45, recovery as SEC 1 v2, 4.1.6). */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { addressOfPublicKey } from "./address.js";
import { personalDigest } from "./personal-message.js";

const SIGNATURE_BYTES = 65;
const COMPACT_BYTES = 64;
/** Wallets add it to the recovery bit. */
const V_OFFSET = 27;

/**
 * Returns the checksummed address; undefined for what is no signature: another length, a wrong v, r or s out of range,
 * or a high s, which no wallet makes (EIP-2).
 * @param signature r(32) || s(32) || v, v being 0, 1, 27 or 28
 */
export function recoverAddress(message: Uint8Array, signature: Uint8Array): string | undefined {
  const v = signature[COMPACT_BYTES];
  if (signature.length !== SIGNATURE_BYTES || v === undefined) return undefined;
  const bit = v >= V_OFFSET ? v - V_OFFSET : v;
  if (bit > 1) return undefined;
  try {
    const compact = secp256k1.Signature.fromBytes(signature.subarray(0, COMPACT_BYTES), "compact");
    if (compact.hasHighS()) return undefined;
    return addressOfPublicKey(compact.addRecoveryBit(bit).recoverPublicKey(personalDigest(message)).toBytes(false));
  } catch {
    return undefined;
  }
}
