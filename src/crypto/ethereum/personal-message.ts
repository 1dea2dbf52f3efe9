/**
 * The digest of a message that a wallet signs for a person (EIP-191, version 0x45). Its prefix keeps it from being a
 * transaction's.
 */
import { keccak256 } from "../hashes/keccak.js";

const PREFIX = "\x19Ethereum Signed Message:\n";

/**
 * Returns Keccak-256 of prefix || decimal length || message.
 * @example personalDigest(Buffer.from("hello"))
 */
export function personalDigest(message: Uint8Array): Uint8Array {
  return keccak256(Buffer.concat([Buffer.from(PREFIX + String(message.length), "latin1"), message]));
}
