/** Estimates how much gas a transaction may use; one that would revert is refused here, with its reason. */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";
import { askNode } from "../../rpc/node-faults.js";
import { RpcRefusal } from "../../rpc/rpc.js";
import { readHexQuantity } from "../node-values.js";
import type { TransactionNetwork } from "../transaction-ports.js";
import { executionFailure } from "../sending/refusals.js";

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

/** The state may change between the estimate and the block: a quarter more, of which only what is used is paid. */
const MARGIN_DIVISOR = 4n;
const NO_DATA = "0x";
/** Equal transfers that come together share an estimate; a second is less than a block. */
const SHARED_MS = 1_000;
const SHARED_MAX = 1_000;

export class GasEstimates {
  readonly #clock: Clock;
  readonly #transfers = new LRUCache<string, SharedEstimate>({ max: SHARED_MAX });

  constructor(dependencies: { readonly clock: Clock }) {
    this.#clock = dependencies.clock;
  }

  /**
   * Returns the gas limit for a transaction.
   * @throws execution_reverted, insufficient_funds, gas_estimate_failed, and what keeps the node from answering
   */
  async estimate(network: TransactionNetwork, request: GasRequest): Promise<bigint> {
    if (request.data !== NO_DATA || request.to === null) {
      const gas = await ask(network, request);
      return gas + gas / MARGIN_DIVISOR;
    }
    const nowMs = this.#clock.monotonicMs();
    const name = `${network.id} ${request.from} ${request.to} ${String(request.value)}`;
    const shared = this.#transfers.get(name);
    if (shared !== undefined && nowMs - shared.atMs < SHARED_MS) return await shared.answer;
    const answer = ask(network, request);
    this.#transfers.set(name, { answer, atMs: nowMs });
    answer.catch(() => {
      this.#transfers.delete(name);
    });
    return await answer;
  }
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
