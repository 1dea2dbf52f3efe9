/**
 * Prices in US dollars from Chainlink's aggregators on Ethereum mainnet (AggregatorV3Interface), read through the
 * operator's own node.
 */
import type { Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";
import type { NetworkRecord } from "../network-port.js";
import { RpcRefusal, type Rpc } from "../../rpc/rpc.js";
import type { PricesJson } from "./registration-schemas.js";

/** Feeds by the names of Chainlink's directory; eight decimals each. PRVD has none. */
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
/** Feeds move by heartbeats of minutes to hours; a minute spares the node. */
const FRESH_MS = 60_000;
const NONE: PricesJson = { btcusd: null, ethusd: null, ltcusd: null, prvdusd: null };

export class Prices {
  readonly #rpc: () => Rpc;
  readonly #clock: Clock;
  #kept: { readonly atMs: number; readonly prices: Promise<PricesJson> } | undefined;

  /** @param dependencies.mainnet where the feeds are. */
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

  async read(): Promise<PricesJson> {
    const now = this.#clock.monotonicMs();
    if (this.#kept === undefined || now - this.#kept.atMs >= FRESH_MS) this.#kept = { atMs: now, prices: this.#ask() };
    return await this.#kept.prices;
  }

  async #ask(): Promise<PricesJson> {
    const entries = await Promise.all(
      Object.entries(FEEDS).map(async ([name, feed]) => [name, await this.#price(feed)] as const),
    );
    return { ...NONE, ...Object.fromEntries(entries) };
  }

  /** Null when the feed does not tell: no node, no contract there, or an answer that is no price. */
  async #price(feed: string): Promise<number | null> {
    try {
      const answer = await this.#rpc().request("eth_call", [{ to: feed, data: LATEST_ROUND_DATA }, "latest"], {
        timeoutMs: 5_000,
      });
      if (typeof answer !== "string" || !WORDS.test(answer)) return null;
      const price = BigInt.asIntN(256, BigInt(`0x${answer.slice(2 + WORD_DIGITS, 2 + 2 * WORD_DIGITS)}`));
      return price > 0n && price < BigInt(Number.MAX_SAFE_INTEGER) ? Number(price) / SCALE : null;
    } catch (error) {
      if (error instanceof AppError || error instanceof RpcRefusal) return null;
      throw error;
    }
  }
}
