/** Estimates how much gas a transaction may use; one that would revert is refused here, with its reason. */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../platform/clock.js";
import { AppError, invalidMember } from "../../../platform/errors.js";
import { askNode } from "../../rpc/node-faults.js";
import { RpcRefusal } from "../../rpc/rpc.js";
import { readBlock, readHexQuantity } from "../node-values.js";
import type { TransactionNetwork } from "../transaction-ports.js";
import { executionFailure } from "../sending/refusals.js";
import { gasBeforeExecution, intrinsicGas } from "./intrinsic-gas.js";

export interface GasRequest {
  readonly from: string;
  readonly to: string | null;
  /** Wei. */
  readonly value: bigint;
  /** 0x-hex. */
  readonly data: string;
}

interface SharedEstimate {
  readonly answer: Promise<bigint>;
  readonly atMs: number;
}

interface BlockLimit {
  readonly limit: bigint | undefined;
  readonly atMs: number;
}

/** The state may change between the estimate and the block: a quarter more, of which only what is used is paid. */
const MARGIN_DIVISOR = 4n;
const NO_DATA = "0x";
/** Equal transfers that come together share an estimate; a second is less than a block. */
const SHARED_MS = 1_000;
const SHARED_MAX = 1_000;
/** A block's limit moves by a thousandth from block to block. */
const BLOCK_LIMIT_MS = 30_000;
/** No submission waits longer for what it can do without. */
const BLOCK_LIMIT_TIMEOUT_MS = 3_000;
/** Networks whose limit is kept; one more costs a request to a node. */
const BLOCK_LIMITS_MAX = 10_000;

export class GasEstimates {
  readonly #clock: Clock;
  readonly #transfers = new LRUCache<string, SharedEstimate>({ max: SHARED_MAX });
  readonly #blockLimits = new LRUCache<string, BlockLimit>({ max: BLOCK_LIMITS_MAX });

  constructor(dependencies: { readonly clock: Clock }) {
    this.#clock = dependencies.clock;
  }

  /**
   * Returns the gas limit for a transaction: what the node estimates, where that can be true.
   * @throws execution_reverted, insufficient_funds, gas_estimate_failed, and what keeps the node from answering
   */
  async estimate(network: TransactionNetwork, request: GasRequest): Promise<bigint> {
    if (request.data !== NO_DATA || request.to === null) return await this.#ask(network, request);
    const nowMs = this.#clock.monotonicMs();
    const name = `${network.id} ${request.from} ${request.to} ${String(request.value)}`;
    const shared = this.#transfers.get(name);
    if (shared !== undefined && nowMs - shared.atMs < SHARED_MS) return await shared.answer;
    const answer = this.#ask(network, request);
    this.#transfers.set(name, { answer, atMs: nowMs });
    answer.catch(() => {
      this.#transfers.delete(name);
    });
    return await answer;
  }

  /**
   * Checks that a block has room for the gas limit that a caller chose: nodes do not take such a transaction, and it
   * would hold up the account's later ones. A limit that the node does not tell is none.
   * @throws invalid_request
   */
  async requireBlockRoom(network: TransactionNetwork, gas: bigint): Promise<void> {
    const recent = await this.#blockLimit(network);
    if (recent === undefined || gas <= recent) return;
    // The limit may have risen since it was asked.
    this.#blockLimits.delete(network.id);
    const limit = await this.#blockLimit(network);
    if (limit !== undefined && gas > limit)
      throw invalidMember("gas", `\`gas\` is above what a block of the network takes, ${String(limit)}`);
  }

  async #ask(network: TransactionNetwork, request: GasRequest): Promise<bigint> {
    const [gas, limit] = await Promise.all([ask(network, request), this.#blockLimit(network)]);
    return checked(gas, limit, request);
  }

  /** The gas that a block of the network takes; undefined while it is not known. */
  async #blockLimit({ id, rpc }: TransactionNetwork): Promise<bigint | undefined> {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#blockLimits.get(id);
    if (known !== undefined && nowMs - known.atMs < BLOCK_LIMIT_MS) return known.limit;
    try {
      const options = { timeoutMs: BLOCK_LIMIT_TIMEOUT_MS };
      const limit = readBlock(await askNode(rpc, "eth_getBlockByNumber", ["latest", false], options))?.gasLimit;
      this.#blockLimits.set(id, { limit, atMs: nowMs });
      return limit;
    } catch (error) {
      // The estimate is worth something without it.
      if (error instanceof AppError) return known?.limit;
      throw error;
    }
  }
}

/** Returns the limit for an estimate. Throws where the node's estimate cannot be true, or no block has room for it. */
function checked(estimate: bigint, blockLimit: bigint | undefined, { to, data }: GasRequest): bigint {
  const before = gasBeforeExecution(to, data);
  if (estimate < before)
    throw new AppError("network_answer_invalid", {
      message: `the node estimates ${String(estimate)} gas; the transaction needs ${String(before)} before it does anything`,
    });
  if (blockLimit !== undefined && estimate > blockLimit)
    throw new AppError("gas_estimate_failed", {
      message: `the transaction needs ${String(estimate)} gas by the node's estimate; a block takes ${String(blockLimit)}`,
    });
  if (data === NO_DATA && to !== null) return estimate;
  const least = intrinsicGas(to, data);
  const ample = estimate + estimate / MARGIN_DIVISOR;
  const gas = ample > least ? ample : least;
  return blockLimit !== undefined && gas > blockLimit ? blockLimit : gas;
}

async function ask({ rpc }: TransactionNetwork, { from, to, value, data }: GasRequest): Promise<bigint> {
  const call = {
    from,
    ...(to === null ? {} : { to }),
    value: `0x${value.toString(16)}`,
    ...(data === NO_DATA ? {} : { data }),
  };
  try {
    const [gas, balance] = await Promise.all([
      rpc.request("eth_estimateGas", [call]),
      // Not every node checks the balance when it estimates.
      value === 0n ? undefined : askNode(rpc, "eth_getBalance", [from, "latest"]),
    ]);
    if (balance !== undefined && readHexQuantity(balance, "balance") < value)
      throw new AppError("insufficient_funds", { message: "the account's balance is below the value" });
    return readHexQuantity(gas, "gas estimate");
  } catch (error) {
    if (error instanceof RpcRefusal) throw executionFailure(error);
    throw error;
  }
}
