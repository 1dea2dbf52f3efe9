/**
 * Prices in US dollars from Chainlink's aggregators on Ethereum mainnet (AggregatorV3Interface), read through the
 * operator's own node.
 */
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { RpcRefusal, type Rpc } from "../rpc/rpc.js";
import type { NetworkRecord } from "./network-port.js";
import type { PricesJson } from "./registration-routes.js";

/** Addresses of the feeds, by the names of Chainlink's directory. Each has eight decimals. */
const FEEDS = {
  btcusd: "0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c",
  ethusd: "0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419",
  ltcusd: "0x6AF09DF7563C363B5763b9102712EbeD3b9e859B",
} as const;
/** `latestRoundData()`: (roundId, answer, startedAt, updatedAt, answeredInRound), a word each. */
const LATEST_ROUND_DATA = "0xfeaf968c";
const WORDS = /^0x(?:[0-9a-f]{64}){5}$/i;
const WORD_DIGITS = 64;
const SCALE = 1e8;
/** Feeds are updated every few minutes to hours; asking once a minute spares the node. */
const FRESH_MS = 60_000;
const ASK_TIMEOUT_MS = 5_000;

export class Prices {
  readonly #rpc: () => Rpc;
  readonly #clock: Clock;
  #latest: { readonly atMs: number; readonly prices: Promise<PricesJson> } | undefined;

  /** @param dependencies.mainnet the network that has the feeds */
  constructor({
    mainnet,
    rpc,
    clock,
  }: {
    readonly mainnet: NetworkRecord;
    readonly rpc: (record: NetworkRecord) => Rpc;
    readonly clock: Clock;
  }) {
    this.#rpc = () => rpc(mainnet);
    this.#clock = clock;
  }

  /** Returns the prices that the feeds answer, at most a minute old. A feed that does not answer has no member. */
  async read(): Promise<PricesJson> {
    const now = this.#clock.monotonicMs();
    if (this.#latest === undefined || now - this.#latest.atMs >= FRESH_MS)
      this.#latest = { atMs: now, prices: this.#ask() };
    return await this.#latest.prices;
  }

  async #ask(): Promise<PricesJson> {
    const entries = await Promise.all(
      Object.entries(FEEDS).map(async ([name, feed]) => [name, await this.#price(feed)] as const),
    );
    return Object.fromEntries(entries.filter(([, price]) => price !== undefined));
  }

  /** Returns undefined without a node, without a contract at the address, or for an answer that is no price. */
  async #price(feed: string): Promise<number | undefined> {
    try {
      const answer = await this.#rpc().request("eth_call", [{ to: feed, data: LATEST_ROUND_DATA }, "latest"], {
        timeoutMs: ASK_TIMEOUT_MS,
      });
      if (typeof answer !== "string" || !WORDS.test(answer)) return undefined;
      const price = BigInt.asIntN(256, BigInt(`0x${answer.slice(2 + WORD_DIGITS, 2 + 2 * WORD_DIGITS)}`));
      return price > 0n && price < BigInt(Number.MAX_SAFE_INTEGER) ? Number(price) / SCALE : undefined;
    } catch (error) {
      if (error instanceof AppError || error instanceof RpcRefusal) return undefined;
      throw error;
    }
  }
}
