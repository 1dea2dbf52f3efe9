/**
 * The stage that collects the bytes of a request's body under two caps: the route's, and that of all bodies in flight.
 * The library empties each chunk after the call, so every chunk is copied. Copies that are not handed on are
 * overwritten, because they may hold secrets.
 */
import { AppError } from "../../errors.js";
import { LINGER_BYTES_MAX, type HttpLimits } from "../limits/limits.js";
import type { CompiledRoute } from "../compiled-route.js";
import type { RawResponse } from "../drivers/driver.js";
import type { Exchange, IncomingBody } from "./exchange.js";

/** Memory that all bodies may take together. */
export class BodyBudget {
  readonly #bytesMax: number;
  #taken = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Reserves memory. Returns false when the bodies in flight would exceed the budget. */
  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#bytesMax) return false;
    this.#taken += bytes;
    return true;
  }

  /** Releases memory that was reserved. */
  giveBack(bytes: number): void {
    this.#taken -= bytes;
  }
}

/** How slow the sender of a body may be. */
export type BodyPace = Pick<HttpLimits, "bodyWindowMs" | "bodyWindowBytes">;

interface CollectorOptions extends BodyPace {
  readonly startedMs: number;
  readonly bytesMax: number;
  /** Content-Length, where there is one. */
  readonly declaredBytes: number | undefined;
}

/**
 * Starts to collect the body of a request. Must be called before the first await, or bytes are lost.
 * @returns undefined for a request without a body
 */
export function collectBody(
  exchange: Exchange,
  { bodyBytesMax }: Pick<CompiledRoute, "bodyBytesMax">,
  { budget, pace }: { readonly budget: BodyBudget; readonly pace: BodyPace },
): BodyCollector | undefined {
  const { head, response, startedMs } = exchange;
  if (!head.hasBody) return undefined;
  const { bodyWindowMs, bodyWindowBytes } = pace;
  const body = new BodyCollector(
    { bodyWindowMs, bodyWindowBytes, startedMs, bytesMax: bodyBytesMax, declaredBytes: head.contentLength },
    { budget },
  );
  body.attach(response);
  exchange.body = body;
  return body;
}

export class BodyCollector implements IncomingBody {
  #bytesMax: number;
  readonly #declaredBytes: number;
  readonly #pace: BodyPace;
  readonly #budget: BodyBudget;
  #isRead = false;
  /** Nothing comes any more, or nobody waits for it. */
  #isAbandoned = false;
  /** Bytes that came since `#windowStartMs`. */
  #windowBytes = 0;
  #windowStartMs: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes of a body over its cap that were read and dropped. */
  #lingered = 0;
  #tooLarge: boolean;
  #settled = false;
  /** The body or its failure, once known. */
  #outcome: Buffer | AppError | undefined;
  /** Settles the promise of `drop`. */
  #onRead: (() => void) | undefined;
  /** Settles the promise of `whole`. */
  #onOutcome: ((outcome: Buffer | AppError) => void) | undefined;

  constructor(options: CollectorOptions, dependencies: { budget: BodyBudget }) {
    this.#bytesMax = options.bytesMax;
    this.#pace = options;
    this.#windowStartMs = options.startedMs;
    this.#budget = dependencies.budget;
    this.#declaredBytes = options.declaredBytes ?? 0;
    this.#tooLarge = false;
    this.#checkDeclared();
  }

  /** Lowers the cap, once it is known what the body is for. What came so far counts. */
  narrow(bytesMax: number): void {
    if (bytesMax >= this.#bytesMax) return;
    this.#bytesMax = bytesMax;
    if (this.#outcome instanceof AppError) return;
    if (this.#bytes > bytesMax) {
      this.#tooLarge = true;
      if (this.#settled) this.#fail(this.#tooLargeError());
    }
    if (!this.#settled) this.#checkDeclared();
  }

  get isRead(): boolean {
    return this.#isRead;
  }

  /** True when less came in the last window than must come in each. */
  isStalled(nowMs: number): boolean {
    if (this.#isRead || nowMs - this.#windowStartMs < this.#pace.bodyWindowMs) return false;
    if (this.#windowBytes < this.#pace.bodyWindowBytes) return true;
    this.#windowStartMs = nowMs;
    this.#windowBytes = 0;
    return false;
  }

  /** Listens for the chunks of the body. */
  attach(response: RawResponse): void {
    response.onData(
      (chunk, isLast) => {
        this.#push(chunk, { isLast });
      },
      () => {
        this.abandon();
      },
    );
  }

  #checkDeclared(): void {
    if (this.#declaredBytes <= this.#bytesMax) return;
    this.#tooLarge = true;
    if (this.#declaredBytes - this.#bytesMax > LINGER_BYTES_MAX) this.#fail(this.#tooLargeError());
  }

  #push(chunk: ArrayBuffer, { isLast }: { readonly isLast: boolean }): void {
    this.#isRead = isLast;
    this.#windowBytes += chunk.byteLength;
    if (isLast) this.#onRead?.();
    if (this.#settled) return;
    if (this.#tooLarge || this.#bytes + chunk.byteLength > this.#bytesMax) {
      this.#linger(chunk.byteLength, { isLast });
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
   * Returns the whole body; to be called once. The caller calls `release` when the bytes are no longer needed.
   * @throws body_too_large, overloaded, or malformed_request when the body was cut off
   */
  whole(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: Buffer | AppError): void => {
        if (outcome instanceof AppError) reject(outcome);
        else resolve(outcome);
      };
      if (this.#outcome === undefined) this.#onOutcome = settle;
      else settle(this.#outcome);
    });
  }

  /** Rejects the pending reader: the client left, was answered before its body was complete, or broke its framing. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#onRead?.();
    if (!this.#settled) this.#fail(new AppError("malformed_request", { message: "the body ended early" }));
  }

  /** Drops what has come and what still comes. Resolves when the last byte has come, or after `waitMs`. */
  async drop(waitMs: number): Promise<void> {
    this.release();
    if (this.#isRead || this.#isAbandoned) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#onRead = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /**
   * Takes memory for what the body unpacks to, until `release`.
   * @throws overloaded
   */
  reserve(bytes: number): void {
    if (!this.#budget.take(bytes))
      throw new AppError("overloaded", { message: "too many request bodies at once; try again" });
    this.#bytes += bytes;
  }

  /** Returns the memory to the budget. Further chunks are dropped. */
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

  /** Keeps reading for a while, so that a client that is still sending sees the answer instead of a reset. */
  #linger(bytes: number, { isLast }: { readonly isLast: boolean }): void {
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

  /** The outcome is stored: the body may be complete, or fail, before `whole` is called. */
  #settle(outcome: Buffer | AppError): void {
    this.#settled = true;
    this.#outcome = outcome;
    this.#onOutcome?.(outcome);
  }

  #wipe(): void {
    for (const chunk of this.#chunks) chunk.fill(0);
    this.#chunks = [];
  }
}
