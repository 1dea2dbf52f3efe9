/**
 * The lane of one account on one chain: gives nonces to waiting transactions in their order, has them signed and
 * stored, and sends them without waiting for blocks. There is no counter that could drift
 * (OpenZeppelin/openzeppelin-relayer#818): the next nonce is always the lowest that the chain has not used and no open
 * transaction holds.
 */
import { AppError } from "../../../platform/errors.js";
import { signForMore } from "./attempts.js";
import { broadcast, isMined } from "./broadcast.js";
import { RESEND_MAX_MS, type QueuedTransaction } from "./queued-transaction.js";
import type { NonceQueueContext } from "./nonce-queue-context.js";
import { readInteger } from "../node-values.js";
import type { RpcRefusal } from "../../rpc/rpc.js";
import type { TransactionNetwork } from "../transaction-ports.js";
import { lastRaw } from "../transaction-record.js";
import { cheapnessFault, refusalFault } from "./refusals.js";
import { NonceSlots } from "./nonce-slots.js";
import { SendQueue, type SendResult } from "./send-queue.js";

/**
 * Being signed and stored at the same time: enough for the vault thread and the writer to be busy, few enough to stop
 * soon.
 */
const PREPARED_AT_ONCE = 128;
/** Sent and not yet in a block. Nodes keep some hundreds of one account; what they drop is sent again. */
const UNMINED_MAX = 512;
const RETRY_MS = 1_000;
/**
 * Until the store says that a transaction was sent: longer than a round of the watch, so that fast chains need no
 * commit for it.
 */
const RECORD_AFTER_MS = 1_000;

export class NonceQueue {
  readonly #context: NonceQueueContext;
  readonly from: string;
  readonly #slots = new NonceSlots();
  #waiting: QueuedTransaction[] = [];
  #preparing = 0;
  readonly #line: SendQueue;
  /** Sent, which the store does not say yet, by the time. */
  readonly #unrecorded = new Map<QueuedTransaction, number>();
  #isBaseSure = false;
  #restUntilMs = -Infinity;
  #lowSinceMs: number | undefined;
  #gapSinceMs: number | undefined;
  #pump: Promise<void> | undefined;
  #recording: Promise<unknown> = Promise.resolve();
  #isAgain = false;

  constructor(from: string, context: NonceQueueContext) {
    this.from = from;
    this.#context = context;
    this.#line = new SendQueue({
      send: async (signed) => await broadcast(context, signed),
      conclude: async ({ entry }, sent) => {
        await this.#conclude(entry, sent);
      },
      isStopped: context.isStopped,
    });
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#slots.size === 0;
  }

  /** Open transactions that have a nonce, by it. */
  entries(): QueuedTransaction[] {
    return this.#slots.entries();
  }

  holds(nonce: number): boolean {
    return this.#slots.has(nonce);
  }

  /** A transaction that waits for its nonce. */
  add(entry: QueuedTransaction): void {
    this.#waiting.push(entry);
    this.wake();
  }

  /** A transaction that has its nonce and bytes already. */
  adopt(entry: QueuedTransaction): void {
    if (entry.nonce === undefined) throw new Error("invariant broken: a signed transaction has a nonce");
    this.#slots.take(entry.nonce, entry);
  }

  /** Takes back one that nobody has signed yet; false when it is too late. */
  withdraw(id: string): boolean {
    const at = this.#waiting.findIndex((entry) => entry.id === id);
    if (at !== -1) this.#waiting.splice(at, 1);
    return at !== -1;
  }

  find(id: string): QueuedTransaction | undefined {
    return this.#slots.entries().find((entry) => entry.id === id);
  }

  /** A transaction that is final, or whose bytes no node will take: its nonce is the chain's again. */
  release(entry: QueuedTransaction, options: { readonly isUsed: boolean }): void {
    if (entry.nonce !== undefined) this.#slots.release(entry.nonce, entry, options);
    this.#unrecorded.delete(entry);
    this.wake();
  }

  wake(): void {
    this.#isAgain = true;
    if (this.#context.isStopped()) return;
    this.#pump ??= this.#work().finally(() => {
      this.#pump = undefined;
      if (this.#isAgain && this.#mayWork()) this.wake();
    });
  }

  /** Called a few times a second: what rests may go on. */
  tick(): void {
    const nowMs = this.#context.nowMs();
    const due = this.#slots
      .entries()
      .filter((entry) => entry.retryAtMs !== undefined && entry.retryAtMs <= nowMs && !entry.isSending);
    this.resend(due);
    for (const entry of this.#unrecorded.keys()) if (entry.phase !== "sent") this.#unrecorded.delete(entry);
    const sent = [...this.#unrecorded].filter(([, atMs]) => nowMs - atMs >= RECORD_AFTER_MS).map(([entry]) => entry);
    if (sent.length > 0) this.#recording = Promise.all([this.#recording, this.#record(sent)]);
    if (this.#waiting.length > 0) this.wake();
  }

  /** Sends the stored bytes again, in the order of nonces. */
  resend(entries: readonly QueuedTransaction[]): void {
    for (const entry of [...entries].sort((one, other) => (one.nonce ?? 0) - (other.nonce ?? 0))) {
      if (entry.isSending || entry.phase === "included") continue;
      entry.retryAtMs = undefined;
      entry.isSending = true;
      const record = this.#context.ledger.read(entry.owner, entry.id);
      this.#line.add(entry, Promise.resolve(record === undefined ? undefined : lastRaw(record)));
    }
  }

  /**
   * Compares with the node: what its pool does not have is sent again, and a nonce that nobody holds below ours is
   * filled.
   * @param pending the account's count with the node's pool, asked after every sent transaction was acknowledged
   */
  async reconcile(pending: number): Promise<void> {
    const nowMs = this.#context.nowMs();
    const sent = this.#slots.entries().filter((entry) => entry.phase === "sent" && !entry.isSending);
    const stale = sent.filter((entry) => nowMs - entry.sentAtMs >= entry.resendDelayMs);
    for (const entry of stale) {
      entry.resendDelayMs = Math.min(RESEND_MAX_MS, entry.resendDelayMs * 2);
      entry.sentAtMs = nowMs;
    }
    this.resend(stale.filter((entry) => (entry.nonce ?? 0) >= pending));
    const stuck = sent.find((entry) => entry.nonce === pending && this.#isStuck(entry));
    if (stuck !== undefined) await this.#replaceStuck(stuck);
    const highest = Math.max(-1, ...sent.map((entry) => entry.nonce ?? -1));
    if (pending >= highest || this.#slots.has(pending)) {
      this.#gapSinceMs = undefined;
      return;
    }
    this.#gapSinceMs ??= nowMs;
    if (nowMs - this.#gapSinceMs < this.#context.patienceMs) return;
    this.#gapSinceMs = undefined;
    this.#slots.rewind(pending);
    if (this.#waiting.length > 0) this.wake();
    else if (sent[0] !== undefined) await this.#context.fillGap(sent[0], pending);
  }

  /** True when the node should be asked whether it still has what was sent. */
  isDoubtful(): boolean {
    const nowMs = this.#context.nowMs();
    return (
      this.#gapSinceMs !== undefined ||
      this.#slots
        .entries()
        .some(
          (entry) => entry.phase === "sent" && (nowMs - entry.sentAtMs >= entry.resendDelayMs || this.#isStuck(entry)),
        )
    );
  }

  /**
   * The node has the bytes for some time, and if its count stops below their nonce it will never mine them, and nothing
   * after them: pools that take a transaction while they mine the one before it can lose sight of it so. Other bytes
   * for the nonce set it free; once, for what a node says of its pool may be wrong, and each costs an eighth more.
   */
  #isStuck({ oldSinceMs, hashes }: QueuedTransaction): boolean {
    return (
      oldSinceMs !== undefined && hashes.length === 1 && this.#context.nowMs() - oldSinceMs >= this.#context.patienceMs
    );
  }

  async #replaceStuck(entry: QueuedTransaction): Promise<void> {
    entry.oldSinceMs = undefined;
    if (await this.#payMore(entry))
      this.#context.log.warn("a node keeps a transaction and does not count it: it was signed anew for higher fees", {
        address: this.from,
      });
    this.resend([entry]);
  }

  /** Resolves when nothing is under way; nothing new begins once the context has stopped. */
  async settled(): Promise<void> {
    await this.#pump;
    await this.#line.settled();
    await this.#recording;
    await this.#record([...this.#unrecorded.keys()]);
  }

  #mayWork(): boolean {
    return (
      !this.#context.isStopped() &&
      this.#waiting.length > 0 &&
      this.#preparing < PREPARED_AT_ONCE &&
      this.#context.nowMs() >= this.#restUntilMs &&
      this.#context.signing.isReady() &&
      this.#slots.unmined < UNMINED_MAX
    );
  }

  async #work(): Promise<void> {
    this.#isAgain = false;
    while (this.#mayWork()) {
      const [entry] = this.#waiting;
      if (entry === undefined) return;
      try {
        const network = this.#context.networks.find(entry.owner, entry.networkId);
        if (!(await this.#isBaseKnown(network))) return;
        // Withdrawn while the node was asked.
        if (this.#waiting[0] !== entry) continue;
        this.#waiting.shift();
        this.#begin(entry, network);
      } catch (error) {
        if (error instanceof AppError && error.status < 500)
          await this.#giveUp(entry, { code: error.code, message: error.message });
        else this.#rest("the node of a network does not answer; its transactions wait", error);
      }
    }
  }

  /** Where nonces begin, asked of the node when nothing of ours says so. */
  async #isBaseKnown({ rpc }: TransactionNetwork): Promise<boolean> {
    const nowMs = this.#context.nowMs();
    // While nothing of ours is under way, somebody else may have used the account.
    if (this.#isBaseSure && (this.#preparing > 0 || this.#slots.unmined > 0)) return true;
    const pending = readInteger(
      await rpc.request("eth_getTransactionCount", [this.from, "pending"], this.#context.rpcOptions),
      "nonce",
    );
    if (pending < this.#slots.floor) {
      this.#lowSinceMs ??= nowMs;
      // A node that lags says the same as one that forgot; it is believed when it stays with it.
      if (nowMs - this.#lowSinceMs < this.#context.patienceMs) {
        this.#restUntilMs = nowMs + RETRY_MS / 4;
        return false;
      }
      this.#context.log.warn("a node forgot transactions of an account: nonces go on where it stands", {
        address: this.from,
      });
    }
    this.#lowSinceMs = undefined;
    this.#slots.rewind(pending);
    this.#isBaseSure = true;
    return true;
  }

  #begin(entry: QueuedTransaction, network: TransactionNetwork): void {
    const nonce = entry.wishedNonce ?? this.#slots.next();
    if (this.#slots.has(nonce)) {
      void this.#giveUp(entry, {
        code: "nonce_in_use",
        message: "another open transaction of the account has this nonce",
      });
      return;
    }
    entry.nonce = nonce;
    entry.phase = "signed";
    entry.isSending = true;
    this.#slots.take(nonce, entry);
    this.#preparing += 1;
    const raw = this.#prepare(entry, nonce, network).finally(() => {
      this.#preparing -= 1;
      this.wake();
    });
    this.#line.add(entry, raw);
  }

  /**
   * Signs and stores; the raw bytes once they are durable, or undefined when there is nothing to send. Never rejects.
   */
  async #prepare(entry: QueuedTransaction, nonce: number, network: TransactionNetwork): Promise<string | undefined> {
    const { ledger, fees, signing } = this.#context;
    try {
      const found = ledger.find(entry.owner, entry.id);
      if (found?.value.state !== "created") return this.#letGo(entry, nonce);
      const record = found.value;
      const attempt = await signing.sign(
        record,
        nonce,
        await fees.choose(network, record.wishes),
        "first",
        ledger.now(),
      );
      const stored = await ledger.change(
        entry.owner,
        entry.id,
        (current) =>
          current.state === "created"
            ? { ...current, state: "signed", nonce, attempts: [attempt], hash: attempt.hash }
            : undefined,
        found,
      );
      if (stored === undefined) return this.#letGo(entry, nonce);
      entry.hashes = [attempt.hash];
      entry.tooCheap = undefined;
      this.#context.watch(entry);
      return attempt.raw;
    } catch (error) {
      this.#slots.release(nonce, entry, { isUsed: false });
      entry.nonce = undefined;
      entry.phase = "waiting";
      if (error instanceof AppError && error.status < 500 && error.code !== "fee_cap_exceeded") {
        await this.#giveUp(entry, { code: error.code, message: error.message });
      } else {
        if (error instanceof AppError && error.code === "fee_cap_exceeded")
          entry.tooCheap = { code: error.code, message: error.message };
        this.#waiting.unshift(entry);
        this.#rest("a transaction cannot be signed or stored now; it waits", error);
      }
      return undefined;
    }
  }

  /** Cancelled before it was signed. */
  #letGo(entry: QueuedTransaction, nonce: number): undefined {
    this.#slots.release(nonce, entry, { isUsed: false });
    this.#context.forget(entry);
  }

  async #conclude(entry: QueuedTransaction, sent: SendResult): Promise<void> {
    try {
      await this.#judge(entry, sent);
    } catch (error) {
      // The store takes no writes: the bytes are durable and sent again later.
      this.#retryLater(entry);
      this.#rest("the outcome of a broadcast cannot be recorded now", error);
    }
  }

  async #judge(entry: QueuedTransaction, { outcome, refusal }: SendResult): Promise<void> {
    if (outcome === "accepted") return this.#accepted(entry, refusal !== undefined);
    if (outcome === "unknown" || outcome === "later") return this.#retryLater(entry);
    if (refusal === undefined) throw new Error("invariant broken: a refusal has words");
    switch (outcome) {
      case "fee_too_low":
        entry.tooCheap = (await this.#payMore(entry)) ? undefined : cheapnessFault(outcome, refusal);
        return;
      case "nonce_too_low":
      case "underpriced":
        return await this.#contested(entry, outcome, refusal);
      case "insufficient_funds":
      case "refused":
        this.#slots.release(entry.nonce ?? -1, entry, { isUsed: false });
        // Those above it wait for whoever gets its nonce.
        if (this.#slots.size > 0) this.#gapSinceMs ??= this.#context.nowMs();
        return await this.#giveUp(entry, refusalFault(outcome, refusal));
    }
  }

  /** @param isOld the node has had the bytes for some time */
  #accepted(entry: QueuedTransaction, isOld = false): void {
    entry.mayBeKnown = true;
    entry.tooCheap = undefined;
    if (isOld) entry.oldSinceMs ??= this.#context.nowMs();
    entry.sentAtMs = this.#context.nowMs();
    entry.broadcastAt ??= this.#context.ledger.now();
    if (entry.phase === "included" || entry.phase === "sent") return;
    entry.phase = "sent";
    this.#unrecorded.set(entry, entry.sentAtMs);
  }

  /**
   * That they were sent matters to readers only, whom the entry tells; what is mined by then says it with its block, in
   * one commit.
   */
  async #record(entries: readonly QueuedTransaction[]): Promise<void> {
    const { ledger } = this.#context;
    for (const entry of entries) this.#unrecorded.delete(entry);
    try {
      await Promise.all(
        entries.map(
          async (entry) =>
            await ledger.change(entry.owner, entry.id, (record) =>
              record.state === "signed"
                ? { ...record, state: "sent", broadcast_at: entry.broadcastAt ?? ledger.now() }
                : undefined,
            ),
        ),
      );
    } catch (error) {
      this.#rest("that transactions were sent cannot be recorded now", error);
    }
  }

  /**
   * The base fee has risen above what was signed: the same transaction with the same nonce, for more. True when it was
   * signed.
   */
  async #payMore(entry: QueuedTransaction): Promise<boolean> {
    this.#retryLater(entry);
    return await signForMore(this.#context, entry);
  }

  /** Sends an attempt that was just stored and tells what the node says. */
  async sendNow(entry: QueuedTransaction, raw: string): Promise<SendResult> {
    const [said = { outcome: "unknown" }] = await broadcast(this.#context, [{ entry, raw }]);
    if (said.outcome === "accepted") this.#accepted(entry);
    else if (said.outcome === "unknown" || said.outcome === "later") this.#retryLater(entry);
    return said;
  }

  /** The nonce is somebody's: ours, mined a moment ago, or another's. */
  async #contested(
    entry: QueuedTransaction,
    outcome: "nonce_too_low" | "underpriced",
    refusal: RpcRefusal,
  ): Promise<void> {
    const { ledger, networks } = this.#context;
    this.#isBaseSure = false;
    if (entry.mayBeKnown || entry.wishedNonce !== undefined || (await isMined(this.#context, entry))) {
      // Ours may be the one that has it: the watch finds the receipt, or finds that there is none.
      entry.mayBeKnown = true;
      if (outcome === "nonce_too_low") return this.#accepted(entry);
      entry.tooCheap = cheapnessFault(outcome, refusal);
      return this.#retryLater(entry);
    }
    // Every answer to it was a refusal: no node ever had these bytes, so that another nonce cannot make it happen
    // twice.
    const { rpc } = networks.find(entry.owner, entry.networkId);
    const pending = readInteger(
      await rpc.request("eth_getTransactionCount", [this.from, "pending"], this.#context.rpcOptions),
      "nonce",
    );
    const record = await ledger.change(entry.owner, entry.id, (current) =>
      current.state === "signed" && current.signer !== null
        ? { ...current, state: "created", nonce: null, attempts: [], hash: null }
        : undefined,
    );
    this.#slots.release(entry.nonce ?? -1, entry, { isUsed: true });
    if (record === undefined) return;
    this.#context.unwatch(entry);
    this.#slots.rewind(pending);
    this.#isBaseSure = true;
    Object.assign(entry, {
      nonce: undefined,
      hashes: [],
      phase: "waiting",
      tooCheap: undefined,
      resendDelayMs: this.#context.resendMs,
    } satisfies Partial<QueuedTransaction>);
    this.#waiting.unshift(entry);
    this.wake();
  }

  async #giveUp(entry: QueuedTransaction, fault: { readonly code: string; readonly message: string }): Promise<void> {
    if (this.#waiting[0] === entry) this.#waiting.shift();
    this.#context.forget(entry);
    try {
      await this.#context.ledger.fail(entry.owner, entry.id, fault);
    } catch (error) {
      // It stays open in the store, and comes to the same end after the next start.
      this.#context.log.error("the failure of a transaction cannot be recorded", {
        address: this.from,
        code: error instanceof AppError ? error.code : "internal_error",
      });
    }
    this.wake();
  }

  #retryLater(entry: QueuedTransaction): void {
    entry.retryAtMs = this.#context.nowMs() + RETRY_MS;
  }

  #rest(message: string, error: unknown): void {
    this.#restUntilMs = this.#context.nowMs() + RETRY_MS;
    const code = error instanceof AppError ? { code: error.code } : {};
    this.#context.log.warn(message, { address: this.from, ...code });
  }
}
