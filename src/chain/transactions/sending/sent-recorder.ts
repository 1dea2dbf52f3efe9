/**
 * Writes into the store that transactions were sent. This matters to readers only, and the queued transaction answers
 * them until then; on a fast chain the block comes first, and one commit says both.
 */
import type { NonceQueueContext } from "./nonce-queue-context.js";
import type { QueuedTransaction } from "./queued-transaction.js";

export interface SentRecorderDependencies {
  readonly context: Pick<NonceQueueContext, "writer" | "nowMs">;
  /** Called when the store takes no writes. */
  readonly onFailure: (error: unknown) => void;
}

/** Longer than a round of the watch, so that fast chains need no commit of their own for it. */
const RECORD_AFTER_MS = 1_000;

export class SentRecorder {
  readonly #dependencies: SentRecorderDependencies;
  /** Sent transactions that the store does not show as sent yet, with the monotonic time of sending. */
  readonly #unrecorded = new Map<QueuedTransaction, number>();
  #recording: Promise<unknown> = Promise.resolve();

  constructor(dependencies: SentRecorderDependencies) {
    this.#dependencies = dependencies;
  }

  /** Notes a transaction that was just sent. */
  add(queued: QueuedTransaction): void {
    this.#unrecorded.set(queued, this.#dependencies.context.nowMs());
  }

  /** Drops a transaction that has ended. */
  remove(queued: QueuedTransaction): void {
    this.#unrecorded.delete(queued);
  }

  /** Records what was sent a while ago and is not in a block. */
  tick(): void {
    const nowMs = this.#dependencies.context.nowMs();
    for (const queued of this.#unrecorded.keys()) if (queued.state.phase !== "sent") this.#unrecorded.delete(queued);
    const due = [...this.#unrecorded].filter(([, atMs]) => nowMs - atMs >= RECORD_AFTER_MS).map(([queued]) => queued);
    if (due.length > 0) this.#recording = Promise.all([this.#recording, this.#record(due)]);
  }

  /** Records everything that is left; resolves when it is durable or failed. */
  async settled(): Promise<void> {
    await this.#recording;
    await this.#record([...this.#unrecorded.keys()]);
  }

  async #record(sent: readonly QueuedTransaction[]): Promise<void> {
    const { context, onFailure } = this.#dependencies;
    for (const queued of sent) this.#unrecorded.delete(queued);
    try {
      await Promise.all(
        sent.map(
          async ({ owner, id, state }) =>
            await context.writer.change(owner, id, (record) =>
              record.state === "signed"
                ? { ...record, state: "sent", broadcast_at: state.broadcastAt ?? context.writer.now() }
                : undefined,
            ),
        ),
      );
    } catch (error) {
      onFailure(error);
    }
  }
}
