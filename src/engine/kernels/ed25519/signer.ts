/**
 * Ed25519 signatures (RFC 8032, 5.1.6) on the fused multiply-add kernels. Each is made twice, side by side, from two
 * copies of the key and of the message, and leaves only when both are the same: a fault of the machine would give the
 * key away.
 *
 * What is secret is overwritten before `sign` returns: the kernel's memory and hashes. JavaScript sees no number of it,
 * only bytes.
 */
import { createHash, hash, randomFillSync } from "node:crypto";
import {
  buildSigningModule,
  HASH_BYTES,
  LANES,
  PAIR_BYTES,
  POINT_BYTES,
  TABLE_BYTES,
  tableLimbs,
  WORD_BYTES,
} from "./signing-module.js";
import { hasFusedMultiplyAdd } from "../wasm/features.js";
import { wasmHost } from "../wasm/wasm-host.js";

/**
 * SHA-512(seed) || public key. The hash is the secret scalar, before pruning, and the prefix of what nonces are made
 * of.
 */
export const LANE_KEY_BYTES = 96;
/** Two copies of the same bytes, one for each lane. */
export type Copies = readonly [Uint8Array, Uint8Array];

type Exports = Readonly<
  Record<"nonces" | "multiples" | "encode" | "responses", (...addresses: readonly number[]) => void>
>;

const PAGE_BYTES = 65_536;
const PAGES = 3;
/** Blinding factors of 64 calls: asking for each by itself took 6 % of a signature. */
const RANDOM_BYTES = 64 * PAIR_BYTES;
/** Signatures of one inversion, which is 4 us of a single one. */
const TOGETHER_MAX = 64;
/** Up to here a hash is taken of one buffer, which costs less than two calls. */
const GATHERED_BYTES = 1024;

const NO_BYTES = new Uint8Array();

let ofThread: { readonly signer?: Ed25519Signer } | undefined;

/**
 * The kernel of this thread, made on first use, which takes 0.15 to 0.3 s; undefined where multiply-add is not fused.
 */
export function ed25519Signer(): Ed25519Signer | undefined {
  ofThread ??= hasFusedMultiplyAdd() ? { signer: new Ed25519Signer() } : {};
  return ofThread.signer;
}

/** Places of one call's numbers in the kernel's memory; all behind the table. */
interface Places {
  readonly nonces: number;
  readonly points: number;
  readonly encoded: number;
  readonly hashes: number;
  readonly secrets: number;
  readonly responses: number;
  readonly blind: number;
  readonly scratch: number;
  readonly end: number;
}

export class Ed25519Signer {
  readonly #kernel: Exports;
  readonly #bytes: Buffer;
  readonly #scratchBytes: (count: number) => number;
  readonly #gathered = Buffer.alloc(GATHERED_BYTES);
  readonly #random = Buffer.alloc(RANDOM_BYTES);
  #randomAt = RANDOM_BYTES;

  constructor() {
    const { bytes, scratchBytes } = buildSigningModule(PAGES);
    this.#scratchBytes = scratchBytes;
    const memory = new wasmHost.Memory({ initial: PAGES, maximum: PAGES, shared: true });
    if (placesFor(TOGETHER_MAX, scratchBytes).end > PAGES * PAGE_BYTES)
      throw new Error("invariant broken: the kernel's memory is too small");
    this.#kernel = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } })
      .exports as unknown as Exports;
    this.#bytes = Buffer.from(memory.buffer);
    new Float64Array(memory.buffer).set(tableLimbs());
  }

  /**
   * 64 bytes for each message, R || S; undefined stands for one that came out differently the second time.
   * @param keys in LANE_KEY_BYTES each, made one apart from the other; the caller overwrites them
   */
  sign(keys: Copies, messages: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    if (keys.some(({ length }) => length !== LANE_KEY_BYTES))
      throw new TypeError(`a key is not ${String(LANE_KEY_BYTES)} bytes`);
    const signatures: (Uint8Array | undefined)[] = [];
    for (let from = 0; from < messages.length; from += TOGETHER_MAX)
      signatures.push(...this.#signTogether(keys, messages.slice(from, from + TOGETHER_MAX)));
    return signatures;
  }

  #signTogether(keys: Copies, messages: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    const places = placesFor(messages.length, this.#scratchBytes);
    // A new array, not `slice`, which of a Buffer gives the same memory.
    const copies = messages.map((message) => [message, new Uint8Array(message)] as const);
    try {
      for (const [index, message] of copies.entries()) this.#commit(keys, message, slot(places, index));
      this.#blind(places.blind);
      this.#kernel.encode(places.encoded, places.blind, places.points, messages.length, places.scratch);
      this.#writeSecrets(keys, places.secrets);
      return copies.map((message, index) => this.#respond(keys, message, slot(places, index)));
    } finally {
      this.#bytes.fill(0, TABLE_BYTES, places.end);
      this.#gathered.fill(0);
    }
  }

  /** r of each copy, and its multiple of the base point. */
  #commit(keys: Copies, message: Copies, { nonces, points, hashes }: Places): void {
    for (const [lane, key] of keys.entries())
      this.#hashInto(hashes + lane * HASH_BYTES, [key.subarray(WORD_BYTES, 2 * WORD_BYTES), message[lane] ?? NO_BYTES]);
    this.#kernel.nonces(nonces, hashes);
    this.#kernel.multiples(points, nonces, 0);
  }

  #respond(
    keys: Copies,
    message: Copies,
    { encoded, nonces, hashes, secrets, responses }: Places,
  ): Uint8Array | undefined {
    for (const [lane, key] of keys.entries()) {
      this.#hashInto(hashes + lane * HASH_BYTES, [
        this.#view(encoded + lane * WORD_BYTES, WORD_BYTES),
        key.subarray(2 * WORD_BYTES),
        message[lane] ?? NO_BYTES,
      ]);
    }
    this.#kernel.responses(responses, hashes, nonces, secrets);
    if (!this.#agree(encoded) || !this.#agree(responses)) return undefined;
    const signature = new Uint8Array(2 * WORD_BYTES);
    signature.set(this.#view(encoded, WORD_BYTES));
    signature.set(this.#view(responses, WORD_BYTES), WORD_BYTES);
    return signature;
  }

  /** Random numbers, none of them used twice. */
  #blind(address: number): void {
    if (this.#randomAt === RANDOM_BYTES) {
      randomFillSync(this.#random);
      this.#randomAt = 0;
    }
    const fresh = this.#random.subarray(this.#randomAt, this.#randomAt + PAIR_BYTES);
    this.#bytes.set(fresh, address);
    fresh.fill(0);
    this.#randomAt += PAIR_BYTES;
  }

  /** The secret scalars, pruned. */
  #writeSecrets(keys: Copies, address: number): void {
    for (const [lane, key] of keys.entries()) {
      const scalar = this.#view(address + lane * WORD_BYTES, WORD_BYTES);
      scalar.set(key.subarray(0, WORD_BYTES));
      scalar[0] = (scalar[0] ?? 0) & 248;
      scalar[WORD_BYTES - 1] = ((scalar[WORD_BYTES - 1] ?? 0) & 127) | 64;
    }
  }

  /** Whether both lanes say the same. */
  #agree(address: number): boolean {
    return (
      this.#bytes.compare(this.#bytes, address, address + WORD_BYTES, address + WORD_BYTES, address + PAIR_BYTES) === 0
    );
  }

  #hashInto(address: number, parts: readonly Uint8Array[]): void {
    const digest = this.#sha512(parts);
    this.#bytes.set(digest, address);
    digest.fill(0);
  }

  #sha512(parts: readonly Uint8Array[]): Buffer {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    if (length > GATHERED_BYTES) {
      const long = createHash("sha512");
      for (const part of parts) long.update(part);
      return long.digest();
    }
    let at = 0;
    for (const part of parts) {
      this.#gathered.set(part, at);
      at += part.length;
    }
    return hash("sha512", this.#gathered.subarray(0, length), "buffer");
  }

  #view(address: number, length: number): Uint8Array {
    return this.#bytes.subarray(address, address + length);
  }
}

/** Those of so many signatures, one after the other, so that little has to be overwritten after few. */
function placesFor(count: number, scratchBytes: (count: number) => number): Places {
  let end = TABLE_BYTES;
  const place = (bytes: number): number => {
    const at = end;
    end += bytes;
    return at;
  };
  return {
    nonces: place(count * PAIR_BYTES),
    points: place(count * POINT_BYTES),
    encoded: place(count * PAIR_BYTES),
    hashes: place(LANES * HASH_BYTES),
    secrets: place(PAIR_BYTES),
    responses: place(PAIR_BYTES),
    blind: place(PAIR_BYTES),
    scratch: place(scratchBytes(count)),
    end,
  };
}

/** With the places of one of the signatures instead of all. */
function slot(places: Places, index: number): Places {
  return {
    ...places,
    nonces: places.nonces + index * PAIR_BYTES,
    points: places.points + index * POINT_BYTES,
    encoded: places.encoded + index * PAIR_BYTES,
  };
}
