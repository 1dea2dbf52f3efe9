/**
 * Compares what was sent with what the node has: bytes that its pool lost are sent again, bytes that it keeps without
 * counting them are replaced, and a nonce that is missing below later ones is filled.
 */
import type { NonceQueueContext } from "./nonce-queue-context.js";
import type { NonceSlots } from "./nonce-slots.js";
import { backOffResend, forgetStuck, isStale, isStuck, nonceOf, type QueuedTransaction } from "./queued-transaction.js";
import type { Sender } from "./sender.js";

export interface ReconcilerDependencies {
  readonly slots: NonceSlots;
  readonly sender: Sender;
  readonly context: Pick<NonceQueueContext, "nowMs" | "patienceMs" | "log" | "fillGap">;
  /** Gives the missing nonce to a waiting transaction; false when none waits. */
  readonly giveToWaiting: () => boolean;
}

export class Reconciler {
  readonly #address: string;
  readonly #dependencies: ReconcilerDependencies;
  #gapSinceMs: number | undefined;

  /** @param address checksummed address of the account, for the log */
  constructor(address: string, dependencies: ReconcilerDependencies) {
    this.#address = address;
    this.#dependencies = dependencies;
  }

  /** Notes that a nonce was given up although later ones may be sent. */
  noteGap(): void {
    if (this.#dependencies.slots.size > 0) this.#gapSinceMs ??= this.#dependencies.context.nowMs();
  }

  /** Returns true when the node should be asked for its count of the account's transactions. */
  needsCount(): boolean {
    const { slots, context } = this.#dependencies;
    const nowMs = context.nowMs();
    return (
      this.#gapSinceMs !== undefined ||
      slots.entries().some(({ state }) => isStale(state, nowMs) || isStuck(state, nowMs, context.patienceMs))
    );
  }

  /**
   * Acts on the node's count.
   * @param pending the account's count with the node's pool, asked after every sent transaction was acknowledged
   */
  async reconcile(pending: number): Promise<void> {
    const { slots, sender, context } = this.#dependencies;
    const nowMs = context.nowMs();
    const sent = slots.entries().filter(({ state }) => state.phase === "sent" && !state.isSending);
    const stale = sent.filter(({ state }) => isStale(state, nowMs));
    for (const queued of stale) queued.state = backOffResend(queued.state, nowMs);
    sender.resend(stale.filter((queued) => nonceOf(queued) >= pending));
    const stuck = sent.find(
      (queued) => queued.state.nonce === pending && isStuck(queued.state, nowMs, context.patienceMs),
    );
    if (stuck !== undefined) await this.#replaceStuck(stuck);
    await this.#closeGap(pending, sent);
  }

  async #replaceStuck(queued: QueuedTransaction): Promise<void> {
    const { sender, context } = this.#dependencies;
    queued.state = forgetStuck(queued.state);
    if (await sender.raiseFees(queued))
      context.log.warn("a node keeps a transaction and does not count it: it was signed again for higher fees", {
        address: this.#address,
      });
    sender.resend([queued]);
  }

  /** @param sent transactions that were sent and hold a nonce, the lowest nonce first */
  async #closeGap(pending: number, sent: readonly QueuedTransaction[]): Promise<void> {
    const { slots, context, giveToWaiting } = this.#dependencies;
    const highest = Math.max(-1, ...sent.map(({ state }) => state.nonce ?? -1));
    if (pending >= highest || slots.has(pending)) {
      this.#gapSinceMs = undefined;
      return;
    }
    this.#gapSinceMs ??= context.nowMs();
    if (context.nowMs() - this.#gapSinceMs < context.patienceMs) return;
    this.#gapSinceMs = undefined;
    slots.restartAt(pending);
    if (!giveToWaiting() && sent[0] !== undefined) await context.fillGap(sent[0], pending);
  }
}
