/**
 * What the engine takes of node:crypto, for browsers: the build puts this file in its place. The hashes and the stream
 * are noble's, the random numbers the browser's own.
 */
import { chacha20orig } from "@noble/ciphers/chacha.js";
import { blake2b } from "@noble/hashes/blake2.js";
import { sha256 } from "@noble/hashes/sha2.js";

interface RunningHash {
  update(bytes: Uint8Array): RunningHash;
  digest(): Uint8Array;
  clone(): RunningHash;
}

const BLOCK_BYTES = 64;
const NONCE_BYTES = 8;
/** The browser fills no more at once. */
const RANDOM_BYTES_MAX = 65_536;

class BrowserHash {
  readonly #hash: RunningHash;

  constructor(hash: RunningHash) {
    this.#hash = hash;
  }

  update(bytes: Uint8Array): this {
    // noble refuses shared memory.
    this.#hash.update(Uint8Array.from(bytes));
    return this;
  }

  copy(): BrowserHash {
    return new BrowserHash(this.#hash.clone());
  }

  digest(): Uint8Array {
    return this.#hash.digest();
  }
}

/** As node:crypto, for BLAKE2b-512 and SHA-256. */
export function createHash(name: string): BrowserHash {
  if (name === "blake2b512") return new BrowserHash(blake2b.create({ dkLen: 64 }));
  if (name === "sha256") return new BrowserHash(sha256.create());
  throw new RangeError(`the page has no hash ${name}`);
}

/** As node:crypto, for ChaCha20 from block 0 on with a nonce of zeros. */
export function createCipheriv(name: string, key: Uint8Array): { update(bytes: Uint8Array): Uint8Array } {
  if (name !== "chacha20") throw new RangeError(`the page has no cipher ${name}`);
  let [counter, left] = [0, new Uint8Array()];
  return {
    update: (bytes) => {
      const output = Uint8Array.from(bytes);
      for (let at = 0; at < output.length; at += 1) {
        if (left.length === 0) {
          left = chacha20orig(key, new Uint8Array(NONCE_BYTES), new Uint8Array(BLOCK_BYTES), undefined, counter);
          counter += 1;
        }
        output[at] = (output[at] ?? 0) ^ (left[0] ?? 0);
        left = left.subarray(1);
      }
      return output;
    },
  };
}

/** As node:crypto. */
export function randomBytes(count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; at += RANDOM_BYTES_MAX)
    globalThis.crypto.getRandomValues(bytes.subarray(at, at + RANDOM_BYTES_MAX));
  return bytes;
}
