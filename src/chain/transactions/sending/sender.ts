/**
 * Sends the signed transactions of one account and acts on what the node answers. It never waits for blocks; what
 * comes of a transaction on the chain is found by the watch.
 */
import { AppError } from "../../../platform/errors.js";
import { RpcRefusal } from "../../rpc/rpc.js";
import { lastRaw, type TransactionFault, type TransactionRecord } from "../transaction-record.js";
import type { EndOptions } from "../transaction-writer.js";
import { signWithHigherFees } from "./attempts.js";
import { broadcast, isKnown } from "./broadcast.js";
import type { NonceAllocator } from "./nonce-allocator.js";
import type { NonceQueueContext } from "./nonce-queue-context.js";
import type { NonceSlots } from "./nonce-slots.js";
import {
  acceptSend,
  canDiscardSignature,
  canEndRefused,
  discardSignature,
  holdRefused,
  isRetryDue,
  nonceOf,
  noteConflict,
  noteUnanswered,
  retrySend,
  setSendFault,
  type QueuedTransaction,
} from "./queued-transaction.js";
import { heldFault, lowFeeFault, refusalFault } from "./refusals.js";
import { SendQueue, type SendResult } from "./send-queue.js";
import { SentRecorder } from "./sent-recorder.js";

export interface SenderDependencies {
  readonly slots: NonceSlots;
  readonly nonces: NonceAllocator;
  readonly context: NonceQueueContext;
  /** Called with a transaction that needs another nonce, because another transaction has taken its own. */
  readonly onNonceLost: (queued: QueuedTransaction) => void;
  /** Called with a transaction whose bytes no node will take; its nonce is free again. Never rejects. */
  readonly onRefused: (queued: QueuedTransaction, fault: TransactionFault, options: EndOptions) => Promise<void>;
  /** Called when a result cannot be recorded: nothing new should begin for a while. */
  readonly onFailure: (message: string, error: unknown) => void;
}

/** Refusals in a row after which the log says that an account waits: about half a minute. */
const REFUSALS_LOGGED = 5;

export class Sender {
  readonly #dependencies: SenderDependencies;
  readonly #queue: SendQueue;
  readonly #recorder: SentRecorder;

  constructor(dependencies: SenderDependencies) {
    this.#dependencies = dependencies;
    const { context, onFailure } = dependencies;
    this.#queue = new SendQueue({
      send: async (signed) => await broadcast(context, signed),
      conclude: async ({ queued }, result) => {
        await this.#conclude(queued, result);
      },
      isStopped: context.isStopped,
    });
    this.#recorder = new SentRecorder({
      context,
      onFailure: (error) => {
        onFailure("that transactions were sent cannot be recorded now", error);
      },
    });
  }

  /**
   * Sends bytes as soon as they are durable, after those that were added before.
   * @param raw undefined when there is nothing to send. Never rejects
   */
  send(queued: QueuedTransaction, raw: Promise<string | undefined>): void {
    this.#queue.add(queued, raw);
  }

  /** Sends the stored bytes again, in the order of nonces; skips what is being sent or is in a block. */
  resend(transactions: readonly QueuedTransaction[]): void {
    const { writer } = this.#dependencies.context;
    const idle = transactions.filter(
      ({ state }) => !state.isSending && state.phase !== "waiting" && state.phase !== "included",
    );
    for (const queued of idle.sort((one, other) => nonceOf(one) - nonceOf(other))) {
      const record = writer.find(queued.owner, queued.id)?.value;
      this.#queue.add(queued, Promise.resolve(record === undefined ? undefined : lastRaw(record)));
    }
  }

  /** Sends an attempt that was just stored, ahead of all others, and returns what the node answers. Never rejects. */
  async sendNow(queued: QueuedTransaction, raw: string): Promise<SendResult> {
    const [result = { outcome: "unknown" }] = await broadcast(this.#dependencies.context, [{ queued, raw }]);
    if (result.outcome === "accepted") this.#accept(queued, { isRepeated: false });
    else if (result.outcome === "unknown" || result.outcome === "later") this.#retryLater(queued);
    else if (result.outcome === "unexplained") await this.#hold(queued, result);
    return result;
  }

  /**
   * Does the same as `sendNow` for bytes that their caller signed, which a node may have already: a refusal counts only
   * where the node does not know them and no other node may have taken them.
   */
  async sendFirst(queued: QueuedTransaction, raw: string): Promise<SendResult> {
    const result = await this.sendNow(queued, raw);
    if (result.refusal === undefined || result.outcome === "later" || result.outcome === "unexplained") return result;
    const known = await this.#isKnown(queued);
    // Looked at last, as in `#endOrHold`.
    if (known === false && canEndRefused(queued.state, { isInvalid: result.outcome === "invalid" })) return result;
    if (known === true) this.#accept(queued, { isRepeated: true });
    else await this.#hold(queued, result);
    return known === true ? { outcome: "accepted" } : { outcome: "unknown" };
  }

  /** Signs the transaction for higher fees, to be sent soon. Returns true when there is a new attempt. */
  async raiseFees(queued: QueuedTransaction): Promise<boolean> {
    this.#retryLater(queued);
    return await signWithHigherFees(this.#dependencies.context, queued);
  }

  /** Sends again what is due, and records what was sent. Called a few times a second. */
  tick(): void {
    const nowMs = this.#dependencies.context.nowMs();
    this.resend(this.#dependencies.slots.entries().filter(({ state }) => isRetryDue(state, nowMs)));
    this.#recorder.tick();
  }

  /** Drops a transaction that has ended. */
  remove(queued: QueuedTransaction): void {
    this.#recorder.remove(queued);
  }

  /** Resolves when nothing is under way and everything is recorded. */
  async settled(): Promise<void> {
    await this.#queue.settled();
    await this.#recorder.settled();
  }

  async #conclude(queued: QueuedTransaction, result: SendResult): Promise<void> {
    try {
      await this.#apply(queued, result);
    } catch (error) {
      // The store takes no writes: the bytes are durable and sent again later.
      this.#retryLater(queued);
      this.#dependencies.onFailure("the outcome of a broadcast cannot be recorded now", error);
    }
  }

  async #apply(queued: QueuedTransaction, result: SendResult): Promise<void> {
    switch (result.outcome) {
      case "accepted":
        this.#accept(queued, { isRepeated: result.refusal !== undefined });
        return;
      case "unknown":
      case "later":
        this.#retryLater(queued);
        return;
      case "fee_too_low": {
        // The base fee has risen above what was signed.
        const isRaised = await this.raiseFees(queued);
        queued.state = setSendFault(queued.state, isRaised ? undefined : lowFeeFault(result.outcome, result.refusal));
        return;
      }
      case "nonce_too_low":
      case "underpriced":
        await this.#resolveNonceConflict(queued, result.outcome, result.refusal);
        return;
      case "unexplained":
        await this.#hold(queued, result);
        return;
      case "insufficient_funds":
      case "refused":
      case "invalid":
        await this.#endOrHold(queued, result);
    }
  }

  /** Ends a transaction that was refused for good, unless a node may have it all the same. */
  async #endOrHold(queued: QueuedTransaction, result: Refused): Promise<void> {
    const { outcome, refusal } = result;
    const isNowhere = (await this.#isKnown(queued)) === false;
    // Looked at last: a bump or a cancellation may have come while the node was asked.
    if (!isNowhere || !canEndRefused(queued.state, { isInvalid: outcome === "invalid" })) {
      await this.#hold(queued, result);
      return;
    }
    this.#dependencies.slots.release(nonceOf(queued), queued, { isUsed: false });
    const isInvalid = outcome === "invalid" && !queued.state.mayBeInPool;
    await this.#dependencies.onRefused(queued, refusalFault(outcome, refusal), { isInvalid });
  }

  /** Keeps nonce and bytes of a transaction that was refused although a node may have it; sends them again later. */
  async #hold(queued: QueuedTransaction, { outcome, refusal }: Refused): Promise<void> {
    const { context } = this.#dependencies;
    // Whoever fails so may have passed the bytes on.
    if (outcome === "unexplained") queued.state = noteUnanswered(queued.state);
    if ((await this.#isKnown(queued)) === true) {
      this.#accept(queued, { isRepeated: true });
      return;
    }
    queued.state = holdRefused(queued.state, heldFault(outcome, refusal), context.nowMs());
    if (queued.state.refusals === REFUSALS_LOGGED)
      context.log.warn("a node keeps refusing a transaction that may be in a pool; the account's later ones wait", {
        path: queued.id,
      });
  }

  /** Whether the node has the bytes; undefined when it does not say. */
  async #isKnown(queued: QueuedTransaction): Promise<boolean | undefined> {
    try {
      return await isKnown(this.#dependencies.context, queued);
    } catch (error) {
      if (error instanceof AppError || error instanceof RpcRefusal) return undefined;
      throw error;
    }
  }

  #accept(queued: QueuedTransaction, { isRepeated }: { readonly isRepeated: boolean }): void {
    const { context } = this.#dependencies;
    const before = queued.state.phase;
    queued.state = acceptSend(queued.state, { nowMs: context.nowMs(), now: context.writer.now(), isRepeated });
    if (before === "signed") this.#recorder.add(queued);
  }

  #retryLater(queued: QueuedTransaction): void {
    queued.state = retrySend(queued.state, this.#dependencies.context.nowMs());
  }

  /** The chain or a pool has the nonce: with an attempt of ours, which was mined a moment ago, or with another's. */
  async #resolveNonceConflict(
    queued: QueuedTransaction,
    outcome: "nonce_too_low" | "underpriced",
    refusal: RpcRefusal,
  ): Promise<void> {
    const { context, nonces } = this.#dependencies;
    nonces.distrust();
    const known = await this.#isKnown(queued);
    if (known === true || !canDiscardSignature(queued.state) || queued.requestedNonce !== undefined) {
      // The watch finds the receipt, or finds that there is none.
      queued.state = noteUnanswered(queued.state);
      if (outcome === "nonce_too_low" || known === true) {
        this.#accept(queued, { isRepeated: false });
        return;
      }
      queued.state = setSendFault(queued.state, lowFeeFault(outcome, refusal));
      this.#retryLater(queued);
      return;
    }
    queued.state = noteConflict(queued.state, context.nowMs());
    const sinceMs = queued.state.conflictSinceMs ?? Infinity;
    // One node may have mined the bytes of which another knows nothing yet: with another nonce they would count twice.
    if (known === undefined || context.nowMs() - sinceMs < context.patienceMs) this.#retryLater(queued);
    else await this.#takeAnotherNonce(queued);
  }

  /** Every answer to the bytes was a refusal: no node had them, so that another nonce cannot execute them twice. */
  async #takeAnotherNonce(queued: QueuedTransaction): Promise<void> {
    const { slots, nonces, context, onNonceLost } = this.#dependencies;
    const nonce = nonceOf(queued);
    const pending = await nonces.pendingCount(context.networks.find(queued.owner, queued.networkId));
    const record = await context.writer.change(queued.owner, queued.id, (current) =>
      isSignedHere(current) && current.attempts.length === 1 && canDiscardSignature(queued.state)
        ? { ...current, state: "created", nonce: null, holds_nonce: false, attempts: [], hash: null }
        : undefined,
    );
    const stored = context.writer.find(queued.owner, queued.id)?.value;
    if (record === undefined && stored !== undefined && isSignedHere(stored)) {
      // A bump or a cancellation came while the node was asked: its bytes may be in a pool by now.
      this.#retryLater(queued);
      return;
    }
    slots.release(nonce, queued, { isUsed: true });
    if (record === undefined) return;
    context.unwatch(queued);
    nonces.startAt(pending);
    queued.state = discardSignature(queued.state, { resendMs: context.resendMs });
    onNonceLost(queued);
  }
}

type Refused = Extract<SendResult, { readonly refusal: RpcRefusal }>;

/** True for a transaction that the server signed and that was neither recorded as sent nor ended. */
function isSignedHere({ state, signer }: TransactionRecord): boolean {
  return state === "signed" && signer !== null;
}
