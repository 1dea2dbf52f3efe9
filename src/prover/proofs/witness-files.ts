/**
 * Whole witnesses that come as files: read from the connection into memory that the proving thread shares, once, and
 * held while the proof is made. Bounds what all of them hold together, and each owner's part of it.
 */
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import type { StreamedBody } from "../../platform/contract/streamed-body.js";
import { AppError, invalidMember } from "../../platform/errors.js";

interface WitnessFileLimits {
  /** Of all files that are held. */
  readonly bytesMax: number;
  readonly bytesPerOwnerMax: number;
}

const LIMITS: WitnessFileLimits = { bytesMax: 512 * 1024 ** 2, bytesPerOwnerMax: 256 * 1024 ** 2 };
/** A proof of a circuit that large takes some seconds. */
const RETRY_SEC = 10;

export class WitnessFiles {
  readonly #limits: WitnessFileLimits;
  readonly #held = new Map<string, number>();
  #heldBytes = 0;

  constructor(limits: WitnessFileLimits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Reads a file and lends it to a function.
   * @param bytesMax what a witness of the circuit can have
   * @throws AppError `witness_missing`, `body_too_large`, `invalid_request` for a part of a file, `overloaded` while
   *   others are held, `malformed_request` for a body that ends early
   */
  async hold<T>(
    owner: Subject,
    { body, bytesMax }: { readonly body: StreamedBody; readonly bytesMax: number },
    use: (file: Uint8Array) => Promise<T>,
  ): Promise<T> {
    const { bytes, part, chunks } = body;
    if (part !== undefined) throw invalidMember("Content-Range", "a witness comes whole");
    if (bytes === 0)
      throw invalidMember("witness_file", "the body must be a witness, as snarkjs' `.wtns` file", "witness_missing");
    const most = Math.min(bytesMax, this.#limits.bytesPerOwnerMax);
    if (bytes > most)
      throw new AppError("body_too_large", {
        message: `a witness of this circuit has at most ${String(most)} bytes`,
      });
    const name = formatSubject(owner);
    this.#take(name, bytes);
    try {
      const file = new Uint8Array(new SharedArrayBuffer(bytes));
      let at = 0;
      for await (const chunk of chunks) {
        file.set(chunk, at);
        at += chunk.length;
      }
      return await use(file);
    } finally {
      this.#give(name, bytes);
    }
  }

  #take(name: string, bytes: number): void {
    const own = (this.#held.get(name) ?? 0) + bytes;
    if (own > this.#limits.bytesPerOwnerMax || this.#heldBytes + bytes > this.#limits.bytesMax)
      throw new AppError("overloaded", {
        message: "other witnesses take the memory for files of this length; try again",
        retryAfterSec: RETRY_SEC,
      });
    this.#held.set(name, own);
    this.#heldBytes += bytes;
  }

  #give(name: string, bytes: number): void {
    const left = (this.#held.get(name) ?? 0) - bytes;
    if (left === 0) this.#held.delete(name);
    else this.#held.set(name, left);
    this.#heldBytes -= bytes;
  }
}
