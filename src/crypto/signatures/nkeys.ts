/**
 * The text form of NATS nkeys (nats-io/nkeys): base32 without padding of prefix(1) || key(32) || CRC-16/XMODEM(2,
 * little-endian). Public keys only: seeds are never written as text.
 */
import { base32nopad } from "@scure/base";

/** First letter of the text -> prefix byte. */
const NKEY_PREFIXES = { U: 20 << 3, A: 0, O: 14 << 3, N: 13 << 3, C: 2 << 3 } as const;
export type NkeyPrefix = keyof typeof NKEY_PREFIXES;

export const NKEY_CHARACTERS = 56;
const KEY_BYTES = 32;
const CRC_BYTES = 2;

/**
 * Returns the 56-character text of a 32-byte public key.
 * @example encodeNkey("U", publicKey) // "UA..."
 */
export function encodeNkey(prefix: NkeyPrefix, publicKey: Uint8Array): string {
  if (publicKey.length !== KEY_BYTES) throw new TypeError("the public key is not 32 bytes");
  const bytes = new Uint8Array(1 + KEY_BYTES + CRC_BYTES);
  bytes[0] = NKEY_PREFIXES[prefix];
  bytes.set(publicKey, 1);
  new DataView(bytes.buffer).setUint16(1 + KEY_BYTES, crc16(bytes.subarray(0, 1 + KEY_BYTES)), true);
  return base32nopad.encode(bytes);
}

/** Reads the 32-byte public key of a text. Undefined for another length, letter case, prefix or checksum. */
export function decodeNkey(text: string): Uint8Array | undefined {
  if (text.length !== NKEY_CHARACTERS || !/^[A-Z2-7]+$/.test(text)) return undefined;
  const bytes = base32nopad.decode(text);
  const prefixes: readonly number[] = Object.values(NKEY_PREFIXES);
  if (bytes.length !== 1 + KEY_BYTES + CRC_BYTES || !prefixes.includes(bytes[0] ?? -1)) return undefined;
  const checksum = new DataView(bytes.buffer, bytes.byteOffset).getUint16(1 + KEY_BYTES, true);
  return checksum === crc16(bytes.subarray(0, 1 + KEY_BYTES)) ? bytes.slice(1, 1 + KEY_BYTES) : undefined;
}

/** Returns the CRC-16/XMODEM: polynomial 0x1021, initial value 0, no reflection. Of "123456789" it is 0x31C3. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc;
}
