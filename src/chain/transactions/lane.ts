/**
 * The lane of one account on one chain: gives nonces to waiting transactions in their order, has them signed and stored, and sends them
 * without waiting for blocks. There is no counter that could drift (OpenZeppelin/openzeppelin-relayer#818): the next nonce is always the
 * lowest that the chain has not used and no open transaction holds.
 */
import { AppError } from "../../platform/errors.js";
import { RpcRefusal } from "../rpc/rpc.js";
import { RESEND_MAX_MS, type LaneEntry } from "./entry.js";
import type { LaneContext } from "./lane-context.js";
import { readInteger, readReceipt } from "./node-values.js";
import type { TransactionNetwork } from "./ports.js";
import { lastRaw, type Attempt } from "./record.js";
import { refusalFault, sendOutcome, type SendOutcome } from "./refusals.js";
import { NonceSlots } from "./nonce-slots.js";

/** Bumps and cancellations of one transaction; more would only fill the record. */
export const ATTEMPTS_MAX = 12;
/** Being signed and stored at the same time: enough for the vault thread and the writer to be busy, few enough to stop soon. */
const PREPARED_AT_ONCE = 128;
/** Requests to the node under way at the same time, begun in the order of nonces. */
const SENDS_AT_ONCE = 48;
/** Sent and not yet in a block. Nodes keep some hundreds of one account; what they drop is sent again. */
const UNMINED_MAX = 512;
const RETRY_MS = 1_000;

/** What came of sending; `unknown` when the node gave no sound answer. */
export interface Sent {
  readonly outcome: SendOutcome | "unknown";
  readonly refusal?: RpcRefusal;
}

export class Lane {
  readonly #context: LaneContext;
  readonly from: string;
  readonly #slots = new NonceSlots();
  #waiting: LaneEntry[] = [];
  #preparing = 0;
  #sending = 0;
  /** Sends begin in this order. */
  #line: Promise<unknown> = Promise.resolve();
  #freed: (() => void)[] = [];
  #isBaseSure = false;
  #restUntilMs = -Infinity;
  #lowSinceMs: number | undefined;
  #gapSinceMs: number | undefined;
  #pump: Promise<void> | undefined;
  #isAgain = false;

  constructor(from: string, context: LaneContext) {
    this.from = from;
    this.#context = context;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#slots.size === 0;
  }

  /** Open transactions that have a nonce, by it. */
  entries(): LaneEntry[] {
    return this.#slots.entries();
  }

  holds(nonce: number): boolean {
    return this.#slots.has(nonce);
  }

  /** A transaction that waits for its nonce. */
  add(entry: LaneEntry): void {
    this.#waiting.push(entry);
    this.wake();
  }

  /** A transaction that has its nonce and bytes already. */
  adopt(entry: LaneEntry): void {
    if (entry.nonce === undefined) throw new Error("invariant broken: a signed transaction has a nonce");
    this.#slots.take(entry.nonce, entry);
  }

  /** Takes back one that nobody has signed yet; false when it is too late. */
  withdraw(id: string): boolean {
    const at = this.#waiting.findIndex((entry) => entry.id === id);
    if (at !== -1) this.#waiting.splice(at, 1);
    return at !== -1;
  }

  find(id: string): LaneEntry | undefined {
    return this.#slots.entries().find((entry) => entry.id === id);
  }

  /** A transaction that is final, or whose bytes no node will take: its nonce is the chain's again. */
  release(entry: LaneEntry, options: { readonly isUsed: boolean }): void {
    if (entry.nonce !== undefined) this.#slots.release(entry.nonce, entry, options);
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
    const due = this.#slots.entries().filter((entry) => entry.retryAtMs !== undefined && entry.retryAtMs <= nowMs && !entry.isSending);
    this.resend(due);
    if (this.#waiting.length > 0) this.wake();
  }

  /** Sends the stored bytes again, in the order of nonces. */
  resend(entries: readonly LaneEntry[]): void {
    for (const entry of [...entries].sort((one, other) => (one.nonce ?? 0) - (other.nonce ?? 0))) {
      if (entry.isSending || entry.phase === "included") continue;
      entry.retryAtMs = undefined;
      entry.isSending = true;
      const record = this.#context.ledger.read(entry.owner, entry.id);
      this.#enqueue(entry, Promise.resolve(record === undefined ? undefined : lastRaw(record)));
    }
  }

  /**
   * Compares with the node: what its pool does not have is sent again, and a nonce that nobody holds below ours is filled.
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
    return this.#gapSinceMs !== undefined || this.#slots.entries().some((entry) => entry.phase === "sent" && nowMs - entry.sentAtMs >= entry.resendDelayMs);
  }

  /** Resolves when nothing is under way; nothing new begins once the context has stopped. */
  async settled(): Promise<void> {
    await this.#pump;
    await this.#line;
    while (this.#sending > 0) await new Promise<void>((resolve) => { this.#freed.push(resolve); });
  }

  #mayWork(): boolean {
    return !this.#context.isStopped() && this.#waiting.length > 0 && this.#preparing < PREPARED_AT_ONCE
      && this.#context.nowMs() >= this.#restUntilMs && this.#context.signing.isReady() && this.#slots.unmined < UNMINED_MAX;
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
        if (error instanceof AppError && error.status < 500) await this.#giveUp(entry, { code: error.code, message: error.message });
        else this.#rest("the node of a network does not answer; its transactions wait", error);
      }
    }
  }

  /** Where nonces begin, asked of the node when nothing of ours says so. */
  async #isBaseKnown({ rpc }: TransactionNetwork): Promise<boolean> {
    const nowMs = this.#context.nowMs();
    // While nothing of ours is under way, somebody else may have used the account.
    if (this.#isBaseSure && (this.#preparing > 0 || this.#slots.unmined > 0)) return true;
    const pending = readInteger(await rpc.request("eth_getTransactionCount", [this.from, "pending"], this.#context.rpcOptions), "nonce");
    if (pending < this.#slots.floor) {
      this.#lowSinceMs ??= nowMs;
      // A node that lags says the same as one that forgot; it is believed when it stays with it.
      if (nowMs - this.#lowSinceMs < this.#context.patienceMs) {
        this.#restUntilMs = nowMs + RETRY_MS / 4;
        return false;
      }
      this.#context.log.warn("a node forgot transactions of an account: nonces go on where it stands", { address: this.from });
    }
    this.#lowSinceMs = undefined;
    this.#slots.rewind(pending);
    this.#isBaseSure = true;
    return true;
  }

  #begin(entry: LaneEntry, network: TransactionNetwork): void {
    const nonce = entry.wishedNonce ?? this.#slots.next();
    if (this.#slots.has(nonce)) {
      void this.#giveUp(entry, { code: "nonce_in_use", message: "another open transaction of the account has this nonce" });
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
    this.#enqueue(entry, raw);
  }

  /** Signs and stores; the raw bytes once they are durable, or undefined when there is nothing to send. Never rejects. */
  async #prepare(entry: LaneEntry, nonce: number, network: TransactionNetwork): Promise<string | undefined> {
    const { ledger, fees, signing } = this.#context;
    try {
      const record = ledger.read(entry.owner, entry.id);
      if (record?.state !== "created") return this.#letGo(entry, nonce);
      const attempt = await signing.sign(record, nonce, await fees.choose(network, record.wishes), "first", ledger.now());
      const stored = await ledger.change(entry.owner, entry.id, (current) => (current.state === "created" ? { ...current, state: "signed", nonce, attempts: [attempt], hash: attempt.hash } : undefined));
      if (stored === undefined) return this.#letGo(entry, nonce);
      entry.hashes = [attempt.hash];
      this.#context.watch(entry);
      return attempt.raw;
    } catch (error) {
      this.#slots.release(nonce, entry, { isUsed: false });
      entry.nonce = undefined;
      entry.phase = "waiting";
      if (error instanceof AppError && error.status < 500 && error.code !== "fee_cap_exceeded") {
        await this.#giveUp(entry, { code: error.code, message: error.message });
      } else {
        this.#waiting.unshift(entry);
        this.#rest("a transaction cannot be signed or stored now; it waits", error);
      }
      return undefined;
    }
  }

  /** Cancelled before it was signed. */
  #letGo(entry: LaneEntry, nonce: number): undefined {
    this.#slots.release(nonce, entry, { isUsed: false });
    this.#context.forget(entry);
  }

  #enqueue(entry: LaneEntry, ready: Promise<string | undefined>): void {
    this.#line = this.#line.then(async () => {
      const raw = await ready;
      if (raw === undefined || this.#context.isStopped()) {
        entry.isSending = false;
        return;
      }
      while (this.#sending >= SENDS_AT_ONCE) await new Promise<void>((resolve) => { this.#freed.push(resolve); });
      this.#sending += 1;
      void this.#send(entry, raw).catch((error: unknown) => {
        // The store takes no writes: the bytes are durable and sent again later.
        this.#retryLater(entry);
        this.#rest("the outcome of a broadcast cannot be recorded now", error);
      }).finally(() => {
        entry.isSending = false;
        this.#sending -= 1;
        const freed = this.#freed;
        this.#freed = [];
        for (const resolve of freed) resolve();
      });
    });
  }

  async #send(entry: LaneEntry, raw: string): Promise<void> {
    const { outcome, refusal } = await this.#ask(entry, raw);
    switch (outcome) {
      case "accepted": return await this.#accepted(entry);
      case "unknown":
      case "later": return this.#retryLater(entry);
      case "fee_too_low": return await this.#payMore(entry);
      case "nonce_too_low":
      case "underpriced": return await this.#contested(entry, outcome);
      case "insufficient_funds":
      case "refused":
        if (refusal === undefined) throw new Error("invariant broken: a refusal has words");
        this.#slots.release(entry.nonce ?? -1, entry, { isUsed: false });
        // Those above it wait for whoever gets its nonce.
        if (this.#slots.size > 0) this.#gapSinceMs ??= this.#context.nowMs();
        return await this.#giveUp(entry, refusalFault(outcome, refusal));
    }
  }

  async #ask(entry: LaneEntry, raw: string): Promise<Sent> {
    try {
      const { rpc } = this.#context.networks.find(entry.owner, entry.networkId);
      await rpc.request("eth_sendRawTransaction", [raw], this.#context.rpcOptions);
      return { outcome: "accepted" };
    } catch (error) {
      if (error instanceof RpcRefusal) return { outcome: sendOutcome(error), refusal: error };
      // No sound answer: the node may have it all the same.
      entry.mayBeKnown = true;
      return { outcome: "unknown" };
    }
  }

  async #accepted(entry: LaneEntry): Promise<void> {
    entry.mayBeKnown = true;
    entry.phase = entry.phase === "included" ? "included" : "sent";
    entry.sentAtMs = this.#context.nowMs();
    const { ledger } = this.#context;
    await ledger.change(entry.owner, entry.id, (record) => (record.state === "signed" ? { ...record, state: "sent", broadcast_at: ledger.now() } : undefined));
  }

  /** The base fee has risen above what was signed: the same transaction with the same nonce, for more. */
  async #payMore(entry: LaneEntry): Promise<void> {
    const { ledger, fees, signing, networks } = this.#context;
    this.#retryLater(entry);
    const record = ledger.read(entry.owner, entry.id);
    const last = record?.attempts.at(-1);
    const isChosen = record !== undefined && record.wishes.gas_price === undefined && record.wishes.max_fee_per_gas === undefined;
    if (record === undefined || last === undefined || record.signer === null || !isChosen || last.kind === "cancel" || record.attempts.length >= ATTEMPTS_MAX) return;
    try {
      const higher = await fees.raise(networks.find(entry.owner, entry.networkId), last, {});
      const attempt = await signing.sign(record, entry.nonce ?? 0, higher, "bump", ledger.now());
      await this.addAttempt(entry, attempt);
    } catch (error) {
      // Above the cap, or the node is away: the bytes that there are wait for a cheaper block.
      if (!(error instanceof AppError)) throw error;
    }
  }

  /** Stores a further attempt of an open transaction; false when it came to its end meanwhile. */
  async addAttempt(entry: LaneEntry, attempt: Attempt): Promise<boolean> {
    const { ledger } = this.#context;
    const isCancel = attempt.kind === "cancel";
    const stored = await ledger.change(entry.owner, entry.id, (record) => {
      if (!record.watched || record.block !== null) return undefined;
      return { ...record, attempts: [...record.attempts, attempt], ...(isCancel ? { cancel_requested_at: ledger.now() } : { hash: attempt.hash }) };
    });
    if (stored === undefined) return false;
    entry.hashes = stored.attempts.map(({ hash }) => hash);
    return true;
  }

  /** Sends an attempt that was just stored and tells what the node says. */
  async sendNow(entry: LaneEntry, raw: string): Promise<Sent> {
    const said = await this.#ask(entry, raw);
    if (said.outcome === "accepted") await this.#accepted(entry);
    else if (said.outcome === "unknown" || said.outcome === "later") this.#retryLater(entry);
    return said;
  }

  /** The nonce is somebody's: ours, mined a moment ago, or another's. */
  async #contested(entry: LaneEntry, outcome: "nonce_too_low" | "underpriced"): Promise<void> {
    const { ledger, networks } = this.#context;
    this.#isBaseSure = false;
    if (entry.mayBeKnown || entry.wishedNonce !== undefined || await this.#isMined(entry)) {
      // Ours may be the one that has it: the watch finds the receipt, or finds that there is none.
      entry.mayBeKnown = true;
      if (outcome === "nonce_too_low") await this.#accepted(entry);
      else this.#retryLater(entry);
      return;
    }
    // Every answer to it was a refusal: no node ever had these bytes, so that another nonce cannot make it happen twice.
    const { rpc } = networks.find(entry.owner, entry.networkId);
    const pending = readInteger(await rpc.request("eth_getTransactionCount", [this.from, "pending"], this.#context.rpcOptions), "nonce");
    const record = await ledger.change(entry.owner, entry.id, (current) => (current.state === "signed" && current.signer !== null ? { ...current, state: "created", nonce: null, attempts: [], hash: null } : undefined));
    this.#slots.release(entry.nonce ?? -1, entry, { isUsed: true });
    if (record === undefined) return;
    this.#context.unwatch(entry);
    this.#slots.rewind(pending);
    this.#isBaseSure = true;
    Object.assign(entry, { nonce: undefined, hashes: [], phase: "waiting", resendDelayMs: this.#context.resendMs } satisfies Partial<LaneEntry>);
    this.#waiting.unshift(entry);
    this.wake();
  }

  async #isMined(entry: LaneEntry): Promise<boolean> {
    const { rpc } = this.#context.networks.find(entry.owner, entry.networkId);
    for (const hash of entry.hashes) {
      if (readReceipt(await rpc.request("eth_getTransactionReceipt", [hash], this.#context.rpcOptions), hash) !== undefined) return true;
    }
    return false;
  }

  async #giveUp(entry: LaneEntry, fault: { readonly code: string; readonly message: string }): Promise<void> {
    if (this.#waiting[0] === entry) this.#waiting.shift();
    this.#context.forget(entry);
    try {
      await this.#context.ledger.fail(entry.owner, entry.id, fault);
    } catch (error) {
      // It stays open in the store, and comes to the same end after the next start.
      this.#context.log.error("the failure of a transaction cannot be recorded", { address: this.from, code: error instanceof AppError ? error.code : "internal_error" });
    }
    this.wake();
  }

  #retryLater(entry: LaneEntry): void {
    entry.retryAtMs = this.#context.nowMs() + RETRY_MS;
  }

  #rest(message: string, error: unknown): void {
    this.#restUntilMs = this.#context.nowMs() + RETRY_MS;
    const code = error instanceof AppError ? { code: error.code } : {};
    this.#context.log.warn(message, { address: this.from, ...code });
  }
}
