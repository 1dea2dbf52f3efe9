/**
 * Account addresses: the last 20 bytes of Keccak-256 of the public key (Yellow Paper, appendix F), written with the
 * checksum of EIP-55.
 */
import { keccak256 } from "../hashes/keccak.js";

const ADDRESS_BYTES = 20;

/**
 * Returns the checksummed address of a 65-byte uncompressed secp256k1 public key.
 * @throws TypeError for other bytes
 * @example addressOfPublicKey(secp256k1PublicKey(privateKey)) // "0xf39F..."
 */
export function addressOfPublicKey(publicKey: Uint8Array): string {
  if (publicKey.length !== 65 || publicKey[0] !== 0x04)
    throw new TypeError("the public key is not an uncompressed point");
  return checksumAddress(keccak256(publicKey.subarray(1)).subarray(12));
}

/**
 * Returns `0x` and 40 hex digits; a letter is upper case where the hash of the lower-case text has a digit of 8 or
 * more.
 * @param address 20 bytes
 */
export function checksumAddress(address: Uint8Array): string {
  if (address.length !== ADDRESS_BYTES) throw new TypeError("the address is not 20 bytes");
  const digits = Buffer.from(address).toString("hex");
  const hash = Buffer.from(keccak256(Buffer.from(digits, "latin1"))).toString("hex");
  const checksummed = digits.replace(/[a-f]/g, (letter, index: number) =>
    Number.parseInt(hash[index] ?? "0", 16) >= 8 ? letter.toUpperCase() : letter,
  );
  return `0x${checksummed}`;
}

/** Returns whether an address, `0x` and 40 hex digits, is in one letter case or has the right checksum. */
export function isChecksummed(address: string): boolean {
  const digits = address.slice(2);
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return true;
  return checksumAddress(Buffer.from(digits, "hex")) === `0x${digits}`;
}
