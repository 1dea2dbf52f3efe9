/**
 * Gives the nonces of one account. There is no counter that could drift (OpenZeppelin/openzeppelin-relayer#818): the
 * next nonce is always the lowest that the chain has not used and no open transaction holds. The node is asked where
 * that is whenever no transaction of the account is under way, because others may have used the account's key.
 */
import { askNode } from "../../rpc/node-faults.js";
import { readInteger } from "../node-values.js";
import type { TransactionNetwork } from "../transaction-ports.js";
import type { NonceQueueContext } from "./nonce-queue-context.js";
import type { NonceSlots } from "./nonce-slots.js";

export interface NonceAllocatorDependencies {
  readonly slots: NonceSlots;
  readonly context: Pick<NonceQueueContext, "rpcOptions" | "nowMs" | "patienceMs" | "log">;
}

export class NonceAllocator {
  readonly #address: string;
  readonly #slots: NonceSlots;
  readonly #context: NonceAllocatorDependencies["context"];
  #isStartKnown = false;
  #countIsLowSinceMs: number | undefined;

  /** @param address checksummed address of the account */
  constructor(address: string, { slots, context }: NonceAllocatorDependencies) {
    this.#address = address;
    this.#slots = slots;
    this.#context = context;
  }

  /**
   * Makes sure that the next nonce is known. Returns false while the node counts fewer nonces than the chain has used:
   * a node that lags says the same as one that lost blocks, and is believed when it keeps saying so.
   * Throws what the node fails with.
   */
  async findStart(network: TransactionNetwork): Promise<boolean> {
    if (this.#isStartKnown && this.#slots.unmined > 0) return true;
    const { nowMs, patienceMs, log } = this.#context;
    const askedAtMs = nowMs();
    const pending = await this.pendingCount(network);
    if (pending < this.#slots.floor) {
      this.#countIsLowSinceMs ??= askedAtMs;
      if (askedAtMs - this.#countIsLowSinceMs < patienceMs) return false;
      log.warn("a node forgot transactions of an account: nonces continue at its count", { address: this.#address });
    }
    this.#countIsLowSinceMs = undefined;
    this.startAt(pending);
    return true;
  }

  /** Returns how many nonces the account has used, those in the node's pool included. */
  async pendingCount({ rpc }: TransactionNetwork): Promise<number> {
    const count = await askNode(rpc, "eth_getTransactionCount", [this.#address, "pending"], this.#context.rpcOptions);
    return readInteger(count, "nonce");
  }

  /** Returns the lowest nonce that is free. */
  next(): number {
    return this.#slots.next();
  }

  /** Starts at a count that the node has just given. */
  startAt(count: number): void {
    this.#slots.restartAt(count);
    this.#isStartKnown = true;
  }

  /** Asks the node before the next nonce is given. */
  distrust(): void {
    this.#isStartKnown = false;
  }
}
