/**
 * Chooses fees: what the caller requested, within the caps of the network, else what the chain asks for when the
 * transaction is signed (EIP-1559: twice the base fee and the node's own suggestion of a tip).
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../platform/clock.js";
import { AppError, invalidMember } from "../../../platform/errors.js";
import { askNode } from "../../rpc/node-faults.js";
import { RpcRefusal } from "../../rpc/rpc.js";
import { readBlock, readHexQuantity } from "../node-values.js";
import type { TransactionNetwork } from "../transaction-ports.js";
import type { Attempt, RequestedValues } from "../transaction-record.js";

export type Fees =
  { readonly gas_price: bigint } | { readonly max_fee_per_gas: bigint; readonly max_priority_fee_per_gas: bigint };

interface Suggestion {
  readonly baseFee: bigint | undefined;
  readonly tip: bigint;
  /** Of chains without a base fee. */
  readonly gasPrice: bigint | undefined;
  readonly atMs: number;
}

/** Base fees move by an eighth a block at most, so that a suggestion a second old is never far off. */
const FRESH_MS = 1_000;
/** Networks whose suggestion is kept; one more costs a few requests to a node. */
const SUGGESTIONS_MAX = 10_000;
/** Room for six blocks that are all full. */
const BASE_FEE_FACTOR = 2n;
const FALLBACK_TIP = 1_000_000_000n;
/** Nodes ask a tenth more for a replacement; an eighth is above every rounding. */
const BUMP_DIVISOR = 8n;

export class FeePolicy {
  readonly #clock: Clock;
  /** The last suggestion of each network, by its id. */
  readonly #suggestions = new LRUCache<string, Promise<Suggestion>>({ max: SUGGESTIONS_MAX });
  /** Those of them that the node has not answered yet. */
  readonly #asking = new Set<Promise<Suggestion>>();

  constructor(dependencies: { readonly clock: Clock }) {
    this.#clock = dependencies.clock;
  }

  /**
   * Returns the fees of a first signature.
   * @throws fee_cap_exceeded when the requested fees, or the chain's base fee, are above the network's cap
   */
  async choose(network: TransactionNetwork, requested: RequestedValues): Promise<Fees> {
    return await this.#choose(network, requested, { isAnew: false });
  }

  async #choose(
    network: TransactionNetwork,
    requested: RequestedValues,
    options: { readonly isAnew: boolean },
  ): Promise<Fees> {
    checkRequestedFees(network, requested);
    if (requested.gas_price !== undefined) return { gas_price: BigInt(requested.gas_price) };
    const { max_fee_per_gas: requestedFee, max_priority_fee_per_gas: requestedTip } = requested;
    if (requestedFee !== undefined && requestedTip !== undefined)
      return { max_fee_per_gas: BigInt(requestedFee), max_priority_fee_per_gas: BigInt(requestedTip) };
    const { baseFee, tip, gasPrice } = await this.#suggestion(network, options);
    if (baseFee === undefined)
      return {
        gas_price: within(gasPrice ?? tip, requestedFee === undefined ? network.maxFeePerGas : BigInt(requestedFee)),
      };
    const priority = requestedTip === undefined ? within(tip, network.maxPriorityFeePerGas) : BigInt(requestedTip);
    const cap = network.maxFeePerGas;
    if (requestedFee === undefined && cap !== undefined && baseFee > cap)
      throw overCap("the chain's base fee is above the network's cap on fees");
    const fee = requestedFee === undefined ? within(baseFee * BASE_FEE_FACTOR + priority, cap) : BigInt(requestedFee);
    return { max_fee_per_gas: fee, max_priority_fee_per_gas: priority < fee ? priority : fee };
  }

  /**
   * Returns fees above those of the last attempt by an eighth at least: what was requested, else what the chain asks.
   * No attempt pays more than was requested.
   * @throws replacement_underpriced when the requested fees are too low
   * @throws fee_cap_exceeded above the network's caps
   */
  async raise(network: TransactionNetwork, last: Attempt, requested: RequestedValues): Promise<Fees> {
    checkRequestedFees(network, requested);
    if (last.gas_price !== undefined) {
      if (requested.max_fee_per_gas !== undefined || requested.max_priority_fee_per_gas !== undefined)
        throw invalidMember(
          "max_fee_per_gas",
          "the transaction is of type 0; its replacement is priced by `gas_price`",
        );
      return capped(network, { gas_price: atLeast("gas_price", requested.gas_price, raised(last.gas_price)) });
    }
    if (requested.gas_price !== undefined)
      throw invalidMember(
        "gas_price",
        "the transaction is of type 2; its replacement is priced by `max_fee_per_gas` and `max_priority_fee_per_gas`",
      );
    // Who replaces a transaction does so because fees have just risen: what was suggested before does not count.
    const fresh = await this.#choose(network, {}, { isAnew: true }).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "fee_cap_exceeded") return undefined;
      throw error;
    });
    const [feeNow, tipNow] =
      fresh !== undefined && "max_fee_per_gas" in fresh
        ? [fresh.max_fee_per_gas, fresh.max_priority_fee_per_gas]
        : [0n, 0n];
    const { max_fee_per_gas: requestedFee, max_priority_fee_per_gas: requestedTip } = requested;
    const leastTip = raised(last.max_priority_fee_per_gas ?? "0");
    const leastFee = most(raised(last.max_fee_per_gas ?? "0"), leastTip);
    const tip =
      requestedTip === undefined ? most(leastTip, tipNow) : atLeast("max_priority_fee_per_gas", requestedTip, leastTip);
    if (requestedFee === undefined)
      return capped(network, { max_fee_per_gas: most(leastFee, feeNow, tip), max_priority_fee_per_gas: tip });
    const fee = atLeast("max_fee_per_gas", requestedFee, leastFee);
    return capped(network, { max_fee_per_gas: fee, max_priority_fee_per_gas: tip < fee ? tip : fee });
  }

  /** Returns the last suggestion while it is fresh; with `isAnew` only one that is asked for now. */
  async #suggestion(network: TransactionNetwork, { isAnew }: { readonly isAnew: boolean }): Promise<Suggestion> {
    const previous = this.#suggestions.get(network.id);
    if (previous !== undefined && (!isAnew || this.#asking.has(previous))) {
      const suggestion = await previous.catch(() => undefined);
      if (suggestion !== undefined && this.#clock.monotonicMs() - suggestion.atMs < FRESH_MS) return suggestion;
    }
    // Another call may have asked while this one waited.
    const current = this.#suggestions.get(network.id);
    if (current !== undefined && current !== previous) return await current;
    const asked = this.#ask(network);
    this.#suggestions.set(network.id, asked);
    this.#asking.add(asked);
    try {
      return await asked;
    } finally {
      this.#asking.delete(asked);
    }
  }

  async #ask({ rpc }: TransactionNetwork): Promise<Suggestion> {
    const atMs = this.#clock.monotonicMs();
    const [block, tip] = await Promise.all([
      askNode(rpc, "eth_getBlockByNumber", ["latest", false]),
      rpc.request("eth_maxPriorityFeePerGas", []).then(
        (value) => readHexQuantity(value, "priority fee"),
        (error: unknown) => {
          if (error instanceof RpcRefusal) return FALLBACK_TIP;
          throw error;
        },
      ),
    ]);
    const baseFee = readBlock(block)?.baseFeePerGas;
    const gasPrice =
      baseFee === undefined ? readHexQuantity(await askNode(rpc, "eth_gasPrice", []), "gas price") : undefined;
    return { baseFee, tip, gasPrice, atMs };
  }
}

/**
 * Checks what a caller requested.
 * @throws fee_cap_exceeded above the network's caps
 * @throws invalid_request for values that contradict each other
 */
export function checkRequestedFees(network: TransactionNetwork, requested: RequestedValues): void {
  const { gas_price: gasPrice, max_fee_per_gas: fee, max_priority_fee_per_gas: tip } = requested;
  if (gasPrice !== undefined && (fee !== undefined || tip !== undefined))
    throw invalidMember(
      "gas_price",
      "`gas_price` belongs to a type 0 transaction, `max_fee_per_gas` and `max_priority_fee_per_gas` to one of type 2",
    );
  if (fee !== undefined && tip !== undefined && BigInt(tip) > BigInt(fee))
    throw invalidMember("max_priority_fee_per_gas", "`max_priority_fee_per_gas` is above `max_fee_per_gas`");
  for (const value of [gasPrice, fee]) {
    if (value !== undefined && network.maxFeePerGas !== undefined && BigInt(value) > network.maxFeePerGas)
      throw overCap("the fee is above the network's cap");
  }
  if (tip !== undefined && network.maxPriorityFeePerGas !== undefined && BigInt(tip) > network.maxPriorityFeePerGas)
    throw overCap("the priority fee is above the network's cap");
}

/** Returns the fees in the form in which an attempt is stored: wei, decimal. */
export function feesText(fees: Fees): Pick<Attempt, "gas_price" | "max_fee_per_gas" | "max_priority_fee_per_gas"> {
  if ("gas_price" in fees) return { gas_price: String(fees.gas_price) };
  return {
    max_fee_per_gas: String(fees.max_fee_per_gas),
    max_priority_fee_per_gas: String(fees.max_priority_fee_per_gas),
  };
}

function capped(network: TransactionNetwork, fees: Fees): Fees {
  const fee = "gas_price" in fees ? fees.gas_price : fees.max_fee_per_gas;
  const tip = "gas_price" in fees ? 0n : fees.max_priority_fee_per_gas;
  if (network.maxFeePerGas !== undefined && fee > network.maxFeePerGas)
    throw overCap("a replacement would have to pay more than the network's cap on fees");
  if (network.maxPriorityFeePerGas !== undefined && tip > network.maxPriorityFeePerGas)
    throw overCap("a replacement would have to pay more than the network's cap on priority fees");
  return fees;
}

function raised(decimal: string): bigint {
  const value = BigInt(decimal);
  return value + value / BUMP_DIVISOR + 1n;
}

/** Returns the requested fee, or the least that a replacement must pay. Throws `replacement_underpriced`. */
function atLeast(member: string, requested: string | undefined, least: bigint): bigint {
  if (requested === undefined) return least;
  const value = BigInt(requested);
  if (value >= least) return value;
  const message = `${member}: a replacement must pay ${String(least)} wei at least, an eighth more than what it replaces`;
  throw invalidMember(member, message, "replacement_underpriced");
}

function most(...values: readonly bigint[]): bigint {
  return values.reduce((highest, value) => (value > highest ? value : highest), 0n);
}

function within(value: bigint, cap: bigint | undefined): bigint {
  return cap !== undefined && value > cap ? cap : value;
}

function overCap(message: string): AppError {
  return new AppError("fee_cap_exceeded", { message });
}
