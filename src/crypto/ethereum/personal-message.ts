/**
 * The digest of a message that a wallet signs for a person (EIP-191 version 0x45), which can never be that of a
 * transaction.
 */
import { keccak256 } from "../hashes/keccak.js";

const PREFIX = "\x19Ethereum Signed Message:\n";

/** Keccak-256 of prefix || decimal length || message. */
export function personalDigest(message: Uint8Array): Uint8Array {
  return keccak256(Buffer.concat([Buffer.from(PREFIX + String(message.length), "latin1"), message]));
}
