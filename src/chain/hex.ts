/** Bytes as 0x-hex, the form of JSON-RPC (EIP-1474). */
export type Hex = `0x${string}`;

const HEX = /^0x[0-9a-fA-F]*$/;
const HASH = /^0x[0-9a-fA-F]{64}$/;

/** Returns whether a text is `0x` and hex digits. */
export function isHex(text: string): text is Hex {
  return HEX.test(text);
}

/** Returns whether a text is 32 bytes as 0x-hex. */
export function isHash(text: string): text is Hex {
  return HASH.test(text);
}
