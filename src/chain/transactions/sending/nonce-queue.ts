/**
 * The open transactions of one account on one chain: takes those that wait in their order, gives each a nonce, has it
 * signed and stored, and hands it to the sender without waiting for blocks.
 */
import { AppError } from "../../../platform/errors.js";
import type { TransactionNetwork } from "../transaction-ports.js";
import type { TransactionFault } from "../transaction-record.js";
import { NonceTaken, type EndOptions } from "../transaction-writer.js";
import { addFirstAttempt } from "./attempts.js";
import { NonceAllocator } from "./nonce-allocator.js";
import type { NonceQueueContext } from "./nonce-queue-context.js";
import { NonceSlots } from "./nonce-slots.js";
import { assignNonce, nonceOf, withdrawNonce, type QueuedTransaction } from "./queued-transaction.js";
import { Reconciler } from "./reconciler.js";
import type { SendResult } from "./send-queue.js";
import { Sender } from "./sender.js";

/**
 * Being signed and stored at the same time: enough for the vault's worker and the writer to be busy, few enough to stop
 * soon.
 */
const PREPARED_AT_ONCE = 128;
/** Sent and not yet in a block. Nodes keep some hundreds of one account; what they drop is sent again. */
const UNMINED_MAX = 512;
/** Pause after a failure of the node, the vault or the store. */
const PAUSE_MS = 1_000;
/** Pause while the node counts fewer nonces than the chain has used, which it usually does for less than a block. */
const SHORT_PAUSE_MS = 250;

export class NonceQueue {
  /** Checksummed address of the account. */
  readonly from: string;
  readonly #context: NonceQueueContext;
  readonly #slots = new NonceSlots();
  readonly #nonces: NonceAllocator;
  readonly #sender: Sender;
  readonly #reconciler: Reconciler;
  readonly #waiting: QueuedTransaction[] = [];
  /** Ends that free a nonce in memory before the store has them. */
  readonly #ending = new Set<Promise<void>>();
  #preparing = 0;
  #pausedUntilMs = -Infinity;
  #work: Promise<void> | undefined;

  constructor(from: string, context: NonceQueueContext) {
    this.from = from;
    this.#context = context;
    this.#nonces = new NonceAllocator(from, { slots: this.#slots, context });
    this.#sender = new Sender({
      slots: this.#slots,
      nonces: this.#nonces,
      context,
      onNonceLost: (queued) => {
        this.#waiting.unshift(queued);
        this.wake();
      },
      onRefused: async (queued, fault, options) => {
        this.#reconciler.noteGap();
        const ending = this.#giveUp(queued, fault, options).finally(() => this.#ending.delete(ending));
        this.#ending.add(ending);
        await ending;
      },
      onFailure: (message, error) => {
        this.#pause(message, error);
      },
    });
    this.#reconciler = new Reconciler(from, {
      slots: this.#slots,
      sender: this.#sender,
      context,
      giveToWaiting: () => {
        const isWaiting = this.#waiting.length > 0;
        if (isWaiting) this.wake();
        return isWaiting;
      },
    });
  }

  /** How many transactions wait for their nonce. */
  get waiting(): number {
    return this.#waiting.length;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#slots.isEmpty;
  }

  /** Returns the open transactions that hold a nonce, the lowest nonce first. */
  entries(): QueuedTransaction[] {
    return this.#slots.entries();
  }

  /** Returns true when an open transaction holds the nonce. */
  holds(nonce: number): boolean {
    return this.#slots.has(nonce);
  }

  /**
   * Keeps a nonce for work that stores and adopts a transaction with it, so that nothing else takes it meanwhile.
   * @throws nonce_in_use
   */
  async reserving<T>(nonce: number, work: () => Promise<T>): Promise<T> {
    if (!this.#slots.reserve(nonce)) throw nonceInUse();
    try {
      return await work();
    } finally {
      this.#slots.unreserve(nonce);
    }
  }

  /** Returns the open transaction of this id that holds a nonce. */
  find(id: string): QueuedTransaction | undefined {
    return this.#slots.entries().find((queued) => queued.id === id);
  }

  /** Appends a transaction that waits for its nonce. */
  add(queued: QueuedTransaction): void {
    this.#waiting.push(queued);
    this.wake();
  }

  /** Takes over a transaction that is signed already. */
  adopt(queued: QueuedTransaction): void {
    this.#slots.take(queued);
  }

  /** Takes back a transaction that has no nonce yet. Returns false when it has one, or is not here. */
  withdraw(id: string): boolean {
    const at = this.#waiting.findIndex((queued) => queued.id === id);
    if (at !== -1) this.#waiting.splice(at, 1);
    return at !== -1;
  }

  /**
   * Frees the nonce of a transaction that has ended.
   * @param options.isUsed the chain has used the nonce
   */
  release(queued: QueuedTransaction, options: { readonly isUsed: boolean }): void {
    const { nonce } = queued.state;
    if (nonce !== undefined) this.#slots.release(nonce, queued, options);
    this.#sender.remove(queued);
    this.wake();
  }

  /** Goes on with what waits, unless that is under way. */
  wake(): void {
    if (this.#context.isStopped()) return;
    this.#work ??= this.#assignNonces().finally(() => {
      this.#work = undefined;
      if (this.#mayAssign()) this.wake();
    });
  }

  /** Goes on after pauses. Called a few times a second. */
  tick(): void {
    this.#sender.tick();
    if (this.#waiting.length > 0) this.wake();
  }

  /** As `Sender.resend`. */
  resend(transactions: readonly QueuedTransaction[]): void {
    this.#sender.resend(transactions);
  }

  /** As `Sender.sendNow`. */
  async sendNow(queued: QueuedTransaction, raw: string): Promise<SendResult> {
    return await this.#sender.sendNow(queued, raw);
  }

  /** As `Sender.sendFirst`. */
  async sendFirst(queued: QueuedTransaction, raw: string): Promise<SendResult> {
    return await this.#sender.sendFirst(queued, raw);
  }

  /** As `Reconciler.needsCount`. */
  needsCount(): boolean {
    return this.#reconciler.needsCount();
  }

  /** As `Reconciler.reconcile`. */
  async reconcile(pending: number): Promise<void> {
    await this.#reconciler.reconcile(pending);
  }

  /** Resolves when nothing is under way; nothing new begins once the context has stopped. */
  async settled(): Promise<void> {
    await this.#work;
    await this.#sender.settled();
  }

  #mayAssign(): boolean {
    return (
      !this.#context.isStopped() &&
      this.#waiting.length > 0 &&
      this.#preparing < PREPARED_AT_ONCE &&
      this.#context.nowMs() >= this.#pausedUntilMs &&
      this.#context.signing.isReady() &&
      this.#slots.unmined < UNMINED_MAX
    );
  }

  /** Gives nonces until nothing waits, or something must be waited for. Never rejects. */
  async #assignNonces(): Promise<void> {
    while (this.#mayAssign()) {
      const [queued] = this.#waiting;
      if (queued === undefined) return;
      try {
        const network = this.#context.networks.find(queued.owner, queued.networkId);
        if (!(await this.#nonces.findStart(network))) {
          this.#pausedUntilMs = this.#context.nowMs() + SHORT_PAUSE_MS;
          return;
        }
        // Withdrawn while the node was asked.
        if (this.#waiting[0] !== queued) continue;
        this.#waiting.shift();
        this.#begin(queued, network);
      } catch (error) {
        if (error instanceof AppError && error.status < 500) {
          this.withdraw(queued.id);
          await this.#giveUp(queued, faultOf(error));
        } else {
          this.#pause("the node of a network does not answer; its transactions wait", error);
        }
      }
    }
  }

  #begin(queued: QueuedTransaction, network: TransactionNetwork): void {
    const nonce = queued.requestedNonce ?? this.#nonces.next();
    if (this.#slots.has(nonce)) {
      void this.#giveUp(queued, faultOf(nonceInUse()));
      return;
    }
    queued.state = assignNonce(queued.state, nonce);
    this.#slots.take(queued);
    this.#preparing += 1;
    const raw = this.#prepare(queued, network).finally(() => {
      this.#preparing -= 1;
      this.wake();
    });
    this.#sender.send(queued, raw);
  }

  /**
   * Signs and stores a transaction; one that cannot be signed waits again, or ends. Never rejects.
   * @returns the signed bytes once they are durable; undefined when there is nothing to send
   */
  async #prepare(queued: QueuedTransaction, network: TransactionNetwork): Promise<string | undefined> {
    try {
      const attempt = await addFirstAttempt(this.#context, queued, network);
      if (attempt === undefined) {
        this.#slots.release(nonceOf(queued), queued, { isUsed: false });
        this.#context.forget(queued);
        this.#context.takeUpSigned(queued);
        return undefined;
      }
      this.#context.watch(queued);
      return attempt.raw;
    } catch (error) {
      await this.#failPrepare(queued, error);
      return undefined;
    }
  }

  async #failPrepare(queued: QueuedTransaction, error: unknown): Promise<void> {
    const areFeesTooLow = error instanceof AppError && error.code === "fee_cap_exceeded";
    const nonce = nonceOf(queued);
    this.#slots.release(nonce, queued, { isUsed: false });
    queued.state = withdrawNonce(queued.state, areFeesTooLow ? faultOf(error) : undefined);
    if (error instanceof NonceTaken) {
      // That transaction's end is on its way to the store, or could not be recorded and comes again.
      await Promise.all(this.#ending);
      if (!this.#context.takeUpHolder(queued, nonce)) this.#pausedUntilMs = this.#context.nowMs() + SHORT_PAUSE_MS;
      this.#waiting.unshift(queued);
    } else if (error instanceof AppError && error.status < 500 && !areFeesTooLow) {
      await this.#giveUp(queued, faultOf(error));
    } else {
      this.#waiting.unshift(queued);
      this.#pause("a transaction cannot be signed or stored now; it waits", error);
    }
  }

  /** Ends a transaction that is not in `#waiting` any more and holds no nonce. Never rejects. */
  async #giveUp(queued: QueuedTransaction, fault: TransactionFault, options: EndOptions = {}): Promise<void> {
    this.#context.forget(queued);
    try {
      await this.#context.writer.fail(queued.owner, queued.id, fault, options);
    } catch (error) {
      // It stays open in the store, and comes to the same end after the next start.
      this.#context.log.error("the failure of a transaction cannot be recorded", {
        address: this.from,
        code: error instanceof AppError ? error.code : "internal_error",
      });
    }
    this.wake();
  }

  #pause(message: string, error: unknown): void {
    this.#pausedUntilMs = this.#context.nowMs() + PAUSE_MS;
    const code = error instanceof AppError ? { code: error.code } : {};
    this.#context.log.warn(message, { address: this.from, ...code });
  }
}

/** The failure of a transaction for a nonce that another open one has. */
export function nonceInUse(): AppError {
  return new AppError("nonce_in_use", { message: "another open transaction of the account has this nonce" });
}

function faultOf({ code, message }: AppError): TransactionFault {
  return { code, message };
}
