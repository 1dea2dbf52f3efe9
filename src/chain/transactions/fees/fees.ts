/**
 * Fees: what the caller wished, within the caps of the network, else what the chain asks for at the moment of signing
 * (EIP-1559: twice the base fee and the node's own suggestion of a tip). Suggestions are kept for about the time of a
 * block.
 */
import type { Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";
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
/** Room for six blocks that are all full. */
const BASE_FEE_FACTOR = 2n;
const FALLBACK_TIP = 1_000_000_000n;
/** Nodes ask a tenth more for a replacement; an eighth is above every rounding. */
const BUMP_DIVISOR = 8n;

export class FeePolicy {
  readonly #clock: Clock;
  readonly #known = new Map<string, Promise<Suggestion>>();

  constructor(dependencies: { readonly clock: Clock }) {
    this.#clock = dependencies.clock;
  }

  /**
   * The fees of a first signature. Throws `fee_cap_exceeded` when the caller's wish, or the chain's base fee, is above
   * the network's cap.
   */
  async choose(network: TransactionNetwork, wishes: RequestedValues): Promise<Fees> {
    checkRequestedFees(network, wishes);
    if (wishes.gas_price !== undefined) return { gas_price: BigInt(wishes.gas_price) };
    const { max_fee_per_gas: wishedFee, max_priority_fee_per_gas: wishedTip } = wishes;
    if (wishedFee !== undefined && wishedTip !== undefined)
      return { max_fee_per_gas: BigInt(wishedFee), max_priority_fee_per_gas: BigInt(wishedTip) };
    const { baseFee, tip, gasPrice } = await this.#suggestion(network);
    if (baseFee === undefined)
      return { gas_price: within(gasPrice ?? tip, wishedFee === undefined ? network.maxFeePerGas : BigInt(wishedFee)) };
    const priority = wishedTip === undefined ? within(tip, network.maxPriorityFeePerGas) : BigInt(wishedTip);
    const cap = network.maxFeePerGas;
    if (wishedFee === undefined && cap !== undefined && baseFee > cap)
      throw overCap("the chain's base fee is above the network's cap on fees");
    const fee = wishedFee === undefined ? within(baseFee * BASE_FEE_FACTOR + priority, cap) : BigInt(wishedFee);
    return { max_fee_per_gas: fee, max_priority_fee_per_gas: priority < fee ? priority : fee };
  }

  /**
   * Fees above those of the last attempt by an eighth at least: what was wished, else what the chain asks. Nobody pays
   * more than was wished: a wish that is too low throws `replacement_underpriced`. Throws `fee_cap_exceeded` above the
   * network's caps.
   */
  async raise(network: TransactionNetwork, last: Attempt, wishes: RequestedValues): Promise<Fees> {
    checkRequestedFees(network, wishes);
    if (last.gas_price !== undefined) {
      if (wishes.max_fee_per_gas !== undefined || wishes.max_priority_fee_per_gas !== undefined)
        throw bad("max_fee_per_gas", "the transaction is of type 0; its replacement is priced by `gas_price`");
      return capped(network, { gas_price: atLeast("gas_price", wishes.gas_price, raised(last.gas_price)) });
    }
    if (wishes.gas_price !== undefined)
      throw bad(
        "gas_price",
        "the transaction is of type 2; its replacement is priced by `max_fee_per_gas` and `max_priority_fee_per_gas`",
      );
    const fresh = await this.choose(network, {}).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "fee_cap_exceeded") return undefined;
      throw error;
    });
    const [feeNow, tipNow] =
      fresh !== undefined && "max_fee_per_gas" in fresh
        ? [fresh.max_fee_per_gas, fresh.max_priority_fee_per_gas]
        : [0n, 0n];
    const { max_fee_per_gas: wishedFee, max_priority_fee_per_gas: wishedTip } = wishes;
    const leastTip = raised(last.max_priority_fee_per_gas ?? "0");
    const leastFee = most(raised(last.max_fee_per_gas ?? "0"), leastTip);
    const tip =
      wishedTip === undefined ? most(leastTip, tipNow) : atLeast("max_priority_fee_per_gas", wishedTip, leastTip);
    if (wishedFee === undefined)
      return capped(network, { max_fee_per_gas: most(leastFee, feeNow, tip), max_priority_fee_per_gas: tip });
    const fee = atLeast("max_fee_per_gas", wishedFee, leastFee);
    return capped(network, { max_fee_per_gas: fee, max_priority_fee_per_gas: tip < fee ? tip : fee });
  }

  async #suggestion(network: TransactionNetwork): Promise<Suggestion> {
    const known = this.#known.get(network.id);
    if (known !== undefined) {
      const suggestion = await known.catch(() => undefined);
      if (suggestion !== undefined && this.#clock.monotonicMs() - suggestion.atMs < FRESH_MS) return suggestion;
    }
    // Whoever came first while this one waited has asked already.
    const current = this.#known.get(network.id);
    if (current !== undefined && current !== known) return await current;
    const asked = this.#ask(network);
    this.#known.set(network.id, asked);
    return await asked;
  }

  async #ask({ rpc }: TransactionNetwork): Promise<Suggestion> {
    const atMs = this.#clock.monotonicMs();
    const [block, tip] = await Promise.all([
      rpc.request("eth_getBlockByNumber", ["latest", false]),
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
      baseFee === undefined ? readHexQuantity(await rpc.request("eth_gasPrice", []), "gas price") : undefined;
    return { baseFee, tip, gasPrice, atMs };
  }
}

/**
 * Throws `fee_cap_exceeded` for wishes above the network's caps, `invalid_request` for wishes that contradict each
 * other.
 */
export function checkRequestedFees(network: TransactionNetwork, wishes: RequestedValues): void {
  const { gas_price: gasPrice, max_fee_per_gas: fee, max_priority_fee_per_gas: tip } = wishes;
  if (gasPrice !== undefined && (fee !== undefined || tip !== undefined))
    throw bad(
      "gas_price",
      "`gas_price` belongs to a type 0 transaction, `max_fee_per_gas` and `max_priority_fee_per_gas` to one of type 2",
    );
  if (fee !== undefined && tip !== undefined && BigInt(tip) > BigInt(fee))
    throw bad("max_priority_fee_per_gas", "`max_priority_fee_per_gas` is above `max_fee_per_gas`");
  for (const wish of [gasPrice, fee]) {
    if (wish !== undefined && network.maxFeePerGas !== undefined && BigInt(wish) > network.maxFeePerGas)
      throw overCap("the fee is above the network's cap");
  }
  if (tip !== undefined && network.maxPriorityFeePerGas !== undefined && BigInt(tip) > network.maxPriorityFeePerGas)
    throw overCap("the priority fee is above the network's cap");
}

/** The fees as an attempt keeps them. */
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

/** The wish, or the least that a replacement must pay when there is none. Throws `replacement_underpriced`. */
function atLeast(member: string, wish: string | undefined, least: bigint): bigint {
  if (wish === undefined) return least;
  const value = BigInt(wish);
  if (value >= least) return value;
  const message = `${member}: a replacement must pay ${String(least)} wei at least, an eighth more than what it replaces`;
  throw new AppError("replacement_underpriced", {
    message,
    details: [{ message, code: "replacement_underpriced", path: member }],
  });
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

function bad(path: string, message: string): AppError {
  return new AppError("invalid_request", { message, details: [{ message, code: "invalid_request", path }] });
}
