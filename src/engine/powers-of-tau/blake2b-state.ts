/**
 * Continues a BLAKE2b-512 (RFC 7693) from the state that snarkjs keeps of a contribution's response, whose points are
 * long gone.
 *
 *   state: pending block 128 || h[0] to h[7], u64 each || bytes compressed u64 || bytes pending u64 || 8 unused
 */
import { _BLAKE2b } from "@noble/hashes/blake2.js";

const BLOCK_BYTES = 128;
const STATE_BYTES = 216;
const CHAIN_WORDS = 16;

class ResumedBlake2b extends _BLAKE2b {
  constructor(
    block: Uint8Array,
    chain: readonly number[],
    counts: { readonly done: number; readonly pending: number },
  ) {
    super({ dkLen: 64 });
    this.buffer.set(block);
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, ...rest] = chain;
    const [i = 0, j = 0, k = 0, l = 0, m = 0, n = 0, o = 0, p = 0] = rest;
    this.set(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
    this.length = counts.done + counts.pending;
    this.pos = counts.pending;
  }
}

/** Returns the hash in that state; undefined for bytes that are no state. */
export function resumeBlake2b(state: Uint8Array): Pick<_BLAKE2b, "update" | "digest"> | undefined {
  if (state.length !== STATE_BYTES) return undefined;
  const view = new DataView(state.buffer, state.byteOffset, state.byteLength);
  const word = (at: number): number => view.getUint32(BLOCK_BYTES + 4 * at, true);
  const chain = Array.from({ length: CHAIN_WORDS }, (_, i) => word(i));
  const done = word(CHAIN_WORDS) + word(CHAIN_WORDS + 1) * 2 ** 32;
  const pending = word(CHAIN_WORDS + 2) + word(CHAIN_WORDS + 3) * 2 ** 32;
  if (pending > BLOCK_BYTES || !Number.isSafeInteger(done)) return undefined;
  return new ResumedBlake2b(state.subarray(0, BLOCK_BYTES), chain, { done, pending });
}
