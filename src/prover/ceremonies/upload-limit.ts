/** How long the file of a contribution may be. */

/** A contribution over BN254 has 528 bytes and up to 260 of its name; over wider curves half as much again. */
const CONTRIBUTION_BYTES_MAX = 1_024;

/** Returns the longest file that may go on from a key, in bytes: the key with one contribution more. */
export function uploadBytesMax(keyBytes: number): number {
  return keyBytes + CONTRIBUTION_BYTES_MAX;
}
