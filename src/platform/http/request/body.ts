/**
 * Collects the bytes of a request's body under two caps: the route's, and that of all bodies in flight. The library
 * hands out chunks that it empties afterwards, so every chunk is copied. Copies that are not handed on are overwritten.
 */
import { AppError } from "../../errors.js";
import { LINGER_BYTES_MAX } from "../limits/limits.js";
import type { RawResponse } from "../uws.js";

/** Memory that all bodies may take together. */
export class BodyBudget {
  readonly #bytesMax: number;
  #taken = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get taken(): number {
    return this.#taken;
  }

  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#bytesMax) return false;
    this.#taken += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
  }
}

export interface CollectorOptions {
  readonly bytesMax: number;
  /** By Content-Length, when it is there. */
  readonly declaredBytes: number | undefined;
}

export class BodyCollector {
  readonly #bytesMax: number;
  readonly #budget: BodyBudget;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes of a body over its cap that were read and dropped. */
  #lingered = 0;
  #tooLarge: boolean;
  #settled = false;
  /** What came of it, once that is known. */
  #outcome: Buffer | AppError | undefined;
  /** Whoever waits for that. */
  #tell: ((outcome: Buffer | AppError) => void) | undefined;

  constructor(options: CollectorOptions, dependencies: { budget: BodyBudget }) {
    this.#bytesMax = options.bytesMax;
    this.#budget = dependencies.budget;
    this.#tooLarge = (options.declaredBytes ?? 0) > options.bytesMax;
    if (this.#tooLarge && (options.declaredBytes ?? 0) - options.bytesMax > LINGER_BYTES_MAX)
      this.#fail(this.#tooLargeError());
  }

  /** Attaches to the response; must happen before the first await, or the bytes are lost. */
  attach(response: RawResponse): this {
    response.onData((chunk, isLast) => {
      this.push(chunk, isLast);
    });
    return this;
  }

  push(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#settled) return;
    if (this.#tooLarge || this.#bytes + chunk.byteLength > this.#bytesMax) {
      this.#linger(chunk.byteLength, isLast);
      return;
    }
    if (!this.#budget.take(chunk.byteLength)) {
      this.#fail(new AppError("overloaded", { message: "too many request bodies at once; try again" }));
      return;
    }
    this.#bytes += chunk.byteLength;
    if (chunk.byteLength > 0) this.#chunks.push(Buffer.from(new Uint8Array(chunk)));
    if (isLast) this.#complete();
  }

  /**
   * The whole body; to be asked for once. Rejects with `body_too_large` or `overloaded`. The caller calls `release`
   * when the bytes are no longer needed.
   */
  whole(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const tell = (outcome: Buffer | AppError): void => {
        if (outcome instanceof AppError) reject(outcome);
        else resolve(outcome);
      };
      if (this.#outcome === undefined) this.#tell = tell;
      else tell(this.#outcome);
    });
  }

  /**
   * No more comes: the client left, or was answered before its body was complete. Whoever waits for the body is let go.
   */
  abandon(): void {
    if (!this.#settled) this.#fail(new AppError("malformed_request", { message: "the body did not come to its end" }));
  }

  /** Gives the memory back. Further chunks are dropped. */
  release(): void {
    this.#settled = true;
    this.#wipe();
    this.#budget.giveBack(this.#bytes);
    this.#bytes = 0;
  }

  #complete(): void {
    const [only] = this.#chunks;
    if (only !== undefined && this.#chunks.length === 1) {
      this.#chunks = [];
      this.#settle(only);
      return;
    }
    const body = Buffer.concat(this.#chunks);
    this.#wipe();
    this.#settle(body);
  }

  /** Keeps reading a while, so that a sender that is still writing gets to see the answer instead of a reset. */
  #linger(bytes: number, isLast: boolean): void {
    this.#tooLarge = true;
    this.#wipe();
    this.#lingered += bytes;
    if (isLast || this.#lingered > LINGER_BYTES_MAX) this.#fail(this.#tooLargeError());
  }

  #tooLargeError(): AppError {
    return new AppError("body_too_large", {
      message: `the body is longer than the ${String(this.#bytesMax)} bytes that this route takes`,
    });
  }

  #fail(error: AppError): void {
    this.#wipe();
    this.#settle(error);
  }

  /** The outcome is kept for whoever asks later: a body may be there, or fail, while nobody waits for it yet. */
  #settle(outcome: Buffer | AppError): void {
    this.#settled = true;
    this.#outcome = outcome;
    this.#tell?.(outcome);
  }

  #wipe(): void {
    for (const chunk of this.#chunks) chunk.fill(0);
    this.#chunks = [];
  }
}
