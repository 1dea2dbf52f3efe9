/** The requests that are being served: their deadlines, their number per address, and the wait for the last of them. */
import type { Clock } from "../../clock.js";
import type { Exchange } from "../request/exchange.js";
import { DEADLINE_TICK_MS } from "./limits.js";

export interface InFlightOptions {
  readonly stallMs: number;
  readonly perAddressMax: number;
}

export class InFlight {
  readonly #options: InFlightOptions;
  readonly #clock: Clock;
  readonly #onDeadline: (exchange: Exchange) => void;
  /**
   * Each knows its slot. No Set: one that has become old takes new tables as often as it turns over, and each old table
   * that it leaves behind holds the requests of its day until the next full collection, which makes all requests grow
   * old.
   */
  readonly #exchanges: Exchange[] = [];
  readonly #perAddress = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(options: InFlightOptions, dependencies: { clock: Clock; onDeadline: (exchange: Exchange) => void }) {
    this.#options = options;
    this.#clock = dependencies.clock;
    this.#onDeadline = dependencies.onDeadline;
  }

  get size(): number {
    return this.#exchanges.length;
  }

  /**
   * False when the address has too many requests at once; the exchange is taken in all the same, until it is answered.
   */
  add(exchange: Exchange): boolean {
    exchange.slot = this.#exchanges.push(exchange) - 1;
    const count = (this.#perAddress.get(exchange.address) ?? 0) + 1;
    this.#perAddress.set(exchange.address, count);
    this.#timer ??= setInterval(() => {
      this.#tick();
    }, DEADLINE_TICK_MS).unref();
    return count <= this.#options.perAddressMax;
  }

  remove(exchange: Exchange): void {
    if (!this.#takeOut(exchange)) return;
    const left = (this.#perAddress.get(exchange.address) ?? 1) - 1;
    if (left === 0) this.#perAddress.delete(exchange.address);
    else this.#perAddress.set(exchange.address, left);
    if (this.#exchanges.length === 0) this.#onEmpty?.();
  }

  /** Resolves to true when nothing is in flight, to false when that took longer than `waitMs`. */
  async empty(waitMs: number): Promise<boolean> {
    if (this.#exchanges.length === 0) return true;
    return await new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#onEmpty = undefined;
        resolve(false);
      }, waitMs);
      this.#onEmpty = () => {
        clearTimeout(timer);
        this.#onEmpty = undefined;
        resolve(true);
      };
    });
  }

  list(): Exchange[] {
    return [...this.#exchanges];
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** The last one moves to the free slot. False when it is not in. */
  #takeOut(exchange: Exchange): boolean {
    const { slot } = exchange;
    const last = this.#exchanges.at(-1);
    if (slot === undefined || last === undefined) return false;
    last.slot = slot;
    this.#exchanges[slot] = last;
    this.#exchanges.pop();
    exchange.slot = undefined;
    return true;
  }

  /** One timer for all: a timer per request would cost more than the request. */
  #tick(): void {
    if (this.#exchanges.length === 0) {
      this.stop();
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    for (const exchange of this.list()) {
      if (exchange.isOpen && nowMs >= exchange.deadlineAtMs) this.#onDeadline(exchange);
      else if (exchange.isSending && nowMs - exchange.progressAtMs > this.#options.stallMs) exchange.response.close();
    }
  }
}
