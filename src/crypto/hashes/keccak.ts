/** Keccak-256 with the original padding, as Ethereum uses it; not SHA3-256. */
import { keccak_256 } from "@noble/hashes/sha3.js";

/**
 * Returns the 32-byte Keccak-256 digest.
 * @example keccak256(Buffer.from("Transfer(address,address,uint256)"))
 */
export function keccak256(bytes: Uint8Array): Uint8Array {
  return keccak_256(bytes);
}
