/**
 * The nonces of RFC 6979, section 3.2, with HMAC-SHA256, for groups whose order has 256 bits: the same key and digest
 * always give the same nonces. @noble/curves has the same generator, but leaves every intermediate value to the garbage
 * collector, which frees without overwriting: dozens of copies of the key outlived the thread. Here they are
 * overwritten. ARGUMENT.md has the whole composition.
 */
import { createHmac } from "node:crypto";

const BYTES = 32;
const [FIRST, SECOND] = [0x00, 0x01];

/**
 * The candidates for the nonce of one signature.
 * @example
 *   const nonces = new DeterministicNonces(privateKey, digest);
 *   try {
 *     const k = nonces.next();
 *   } finally {
 *     nonces.wipe();
 *   }
 */
export class DeterministicNonces {
  /** HMAC_DRBG's key K and value V. */
  #key: Buffer = Buffer.alloc(BYTES, 0x00);
  #value: Buffer = Buffer.alloc(BYTES, 0x01);
  #given = 0;

  /**
   * @param privateKey int2octets: 32 bytes, big-endian
   * @param digest bits2octets: 32 bytes, big-endian, already reduced below the order
   * @throws TypeError for other lengths
   */
  constructor(privateKey: Uint8Array, digest: Uint8Array) {
    if (privateKey.length !== BYTES || digest.length !== BYTES)
      throw new TypeError("key and digest are not 32 bytes each");
    this.#mix(FIRST, privateKey, digest);
    this.#mix(SECOND, privateKey, digest);
  }

  /**
   * Returns the next candidate, 32 bytes, big-endian; the caller checks its range. It is overwritten by the next call
   * and by `wipe`.
   */
  next(): Uint8Array {
    if (this.#given > 0) this.#mix(FIRST);
    this.#given += 1;
    this.#stir();
    return this.#value;
  }

  /** Overwrites K, V and with them the last candidate. */
  wipe(): void {
    this.#key.fill(0);
    this.#value.fill(0);
  }

  /** K = HMAC_K(V || tag || parts), V = HMAC_K(V). */
  #mix(tag: number, ...parts: readonly Uint8Array[]): void {
    const message = Buffer.concat([this.#value, Uint8Array.of(tag), ...parts]);
    const key = hmac(this.#key, message);
    message.fill(0);
    this.#key.fill(0);
    this.#key = key;
    this.#stir();
  }

  #stir(): void {
    const value = hmac(this.#key, this.#value);
    this.#value.fill(0);
    this.#value = value;
  }
}

function hmac(key: Uint8Array, message: Uint8Array): Buffer {
  return createHmac("sha256", key).update(message).digest();
}
