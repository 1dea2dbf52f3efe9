/** Account addresses: the last 20 bytes of Keccak-256 of the public key, written with the checksum of EIP-55. */
import { keccak256 } from "../hashes/keccak.js";

const ADDRESS_BYTES = 20;

/** The checksummed address of a 65-byte uncompressed secp256k1 public key. */
export function addressOfPublicKey(publicKey: Uint8Array): string {
  if (publicKey.length !== 65 || publicKey[0] !== 0x04)
    throw new TypeError("the public key is not an uncompressed point");
  return checksumAddress(keccak256(publicKey.subarray(1)).subarray(12));
}

/** `0x` and 40 hex digits; a letter is upper case where the hash of the lower-case text has a digit of 8 or more. */
export function checksumAddress(address: Uint8Array): string {
  if (address.length !== ADDRESS_BYTES) throw new TypeError("the address is not 20 bytes");
  const digits = Buffer.from(address).toString("hex");
  const hash = Buffer.from(keccak256(Buffer.from(digits, "latin1"))).toString("hex");
  return `0x${[...digits].map((digit, index) => (Number.parseInt(hash[index] ?? "0", 16) >= 8 ? digit.toUpperCase() : digit)).join("")}`;
}

/** True for an address in one letter case, and for one in mixed case whose checksum is right. */
export function isChecksummed(address: string): boolean {
  const digits = address.slice(2);
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return true;
  return checksumAddress(Buffer.from(digits, "hex")) === `0x${digits}`;
}
