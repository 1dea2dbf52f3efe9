/** Numbers as the arguments of a contract. */

/** Returns a number below 2^256 as a 32-byte word, 0x-hex. */
export function solidityWord(value: bigint): string {
  return `0x${value.toString(16).padStart(64, "0")}`;
}
