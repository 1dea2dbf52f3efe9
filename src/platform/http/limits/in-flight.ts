/** The requests being served: their deadlines, their number per address, and the wait for the last of them. */
import type { Clock } from "../../clock.js";
import type { Exchange } from "../request/exchange.js";
import { DEADLINE_TICK_MS } from "./limits.js";

export interface InFlightOptions {
  /** A reader of an answer that takes nothing for this long is disconnected. */
  readonly stallMs: number;
  readonly perAddressMax: number;
}

export interface InFlightDependencies {
  readonly clock: Clock;
  readonly onDeadline: (exchange: Exchange) => void;
  /** Called for a request whose body comes too slowly. */
  readonly onStalledBody: (exchange: Exchange) => void;
}

export class InFlight {
  readonly #options: InFlightOptions;
  readonly #clock: Clock;
  readonly #onDeadline: (exchange: Exchange) => void;
  readonly #onStalledBody: (exchange: Exchange) => void;
  /**
   * Each exchange knows its index here. Not a Set: a Set in V8's old generation allocates new tables as its entries
   * change, and each table left behind keeps its requests alive until the next full collection, so that all requests
   * would be promoted to the old generation.
   */
  readonly #exchanges: Exchange[] = [];
  readonly #perAddress = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(options: InFlightOptions, dependencies: InFlightDependencies) {
    this.#options = options;
    this.#clock = dependencies.clock;
    this.#onDeadline = dependencies.onDeadline;
    this.#onStalledBody = dependencies.onStalledBody;
  }

  get size(): number {
    return this.#exchanges.length;
  }

  /**
   * Adds a request, and returns false when its address has too many at once. The request is added in that case too, and
   * counts until it is answered.
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

  /** Removes a request; does nothing when it is not in flight. */
  remove(exchange: Exchange): void {
    if (!this.#takeOut(exchange)) return;
    const left = (this.#perAddress.get(exchange.address) ?? 1) - 1;
    if (left === 0) this.#perAddress.delete(exchange.address);
    else this.#perAddress.set(exchange.address, left);
    if (this.#exchanges.length === 0) this.#onEmpty?.();
  }

  /** Resolves to true as soon as nothing is in flight, or to false after `waitMs`. */
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

  /** The requests in flight, in no order. */
  list(): Exchange[] {
    return [...this.#exchanges];
  }

  /** Stops checking deadlines. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Moves the last exchange to the free slot. Returns false when the exchange is not in flight. */
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

  /** One timer serves all requests: a timer for each would cost more than the request. */
  #tick(): void {
    if (this.#exchanges.length === 0) {
      this.stop();
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    for (const exchange of this.list()) {
      if (exchange.isOpen && nowMs >= exchange.deadlineAtMs) this.#onDeadline(exchange);
      else if (exchange.isOpen && exchange.body?.isStalled(nowMs) === true) this.#onStalledBody(exchange);
      else if (exchange.isSending && nowMs - exchange.progressAtMs > this.#options.stallMs) exchange.response.close();
    }
  }
}
