/**
 * The seal: the state machine that decides whether key material exists in memory at all. Unsealing hands the phrase to
 * the vault worker and keeps nothing here; sealing ends the worker. Every vault operation passes through `run`.
 */
import type { Clock } from "../../platform/clock.js";
import { isoTimestamp } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import type { Store, StoreKey } from "../../platform/store/store.js";
import type { PhraseCheck, VaultTaskFailure, VaultTaskName, VaultTasks, VaultWorker } from "../protocol.js";
import type { SealProvider } from "./providers/provider.js";
import { SealProviderError } from "./providers/provider-failure.js";

/** `fault_sealed`: sealed by the service itself, because records fail their checks or the worker was lost. */
export type SealState = "unconfigured" | "sealed" | "unsealing" | "unsealed" | "fault_sealed";

export interface SealStatus {
  readonly sealed: boolean;
  readonly provider: string;
  /** Whether a seal key has ever opened this store. */
  readonly initialised: boolean;
}

export interface SealOptions {
  readonly provider: SealProvider;
}

export interface SealDependencies {
  readonly store: Store;
  readonly worker: VaultWorker;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each unsealing. */
  readonly onUnsealed?: () => void;
  /**
   * Called before an unsealing takes effect and after each sealing; an unsealing that it rejects does not take place.
   */
  readonly onChange?: (change: SealChange) => Promise<void>;
}

/** `unsealed`, `sealed` by a request, `fault_sealed` by the service itself, or a provider that could not unseal. */
export interface SealChange {
  readonly action: "unsealed" | "sealed" | "fault_sealed" | "unsealing_failed";
  readonly code?: string;
}

export interface AutomaticFailure {
  /** A sentence for the operator. */
  readonly reason: string;
  readonly mayPass: boolean;
}

/** The one record of the seal: which store this is, and how to recognise its seal key. */
type SentinelRecord = {
  readonly format_version: number;
  readonly store_id: string;
  readonly sentinel: string;
  readonly created_at: string;
};

const SENTINEL_KEY: StoreKey = ["seal", "sentinel"];
const FORMAT_VERSION = 1;
/** How long sealing waits for operations that are under way: each takes microseconds to tenths of a second. */
const DRAIN_MS = 5_000;
/** A person has to act before a retry can succeed. */
const SEALED_RETRY_AFTER_SEC = 30;
/**
 * Records that fail their integrity check within the window before the vault seals itself: one is a bad block, three
 * are an attack.
 */
const CORRUPT_RECORDS_MAX = 3;
const CORRUPT_WINDOW_MS = 60_000;

export class VaultSeal {
  readonly #provider: SealProvider;
  readonly #store: Store;
  readonly #worker: VaultWorker;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #onUnsealed: (() => void) | undefined;
  readonly #onChange: (change: SealChange) => Promise<void>;
  /** Record id -> monotonic time of its last failed check. */
  readonly #corruptRecords = new Map<string, number>();
  #state: SealState;
  #automaticFailure: AutomaticFailure | undefined;
  /** Callers of `untilUnsealed`. */
  readonly #unsealedWaiters = new Set<() => void>();
  #running = 0;
  #onIdle: (() => void) | undefined;
  /** End of the queue of state changes; they happen one at a time. */
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(options: SealOptions, dependencies: SealDependencies) {
    this.#provider = options.provider;
    this.#store = dependencies.store;
    this.#worker = dependencies.worker;
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
    this.#onUnsealed = dependencies.onUnsealed;
    this.#onChange = dependencies.onChange ?? (() => Promise.resolve());
    this.#state = options.provider.isConfigured ? "sealed" : "unconfigured";
  }

  get state(): SealState {
    return this.#state;
  }

  get isUnsealed(): boolean {
    return this.#state === "unsealed";
  }

  get issuesKeys(): boolean {
    return this.#provider.issuesKeys;
  }

  /** Throws `vault_sealed` unless unsealed. */
  requireUnsealed(): void {
    if (!this.isUnsealed) throw sealedError();
  }

  /**
   * Resolves at once while unsealed, otherwise with the next unsealing. The vault may be sealed again before the caller
   * goes on.
   * @param signal rejects the wait with its reason
   */
  async untilUnsealed(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.isUnsealed) return;
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void): void => {
        this.#unsealedWaiters.delete(resume);
        signal.removeEventListener("abort", abort);
        settle();
      };
      const resume = (): void => {
        end(resolve);
      };
      const abort = (): void => {
        end(() => {
          reject(asError(signal.reason));
        });
      };
      this.#unsealedWaiters.add(resume);
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  status(): SealStatus {
    return {
      sealed: !this.isUnsealed,
      provider: this.#provider.name,
      initialised: this.#store.get(SENTINEL_KEY) !== undefined,
    };
  }

  /**
   * Unseals at start where the provider has the key. Never throws: a provider that fails leaves the vault sealed, and
   * says so.
   */
  async unsealAutomatically(): Promise<SealState> {
    try {
      this.#automaticFailure = undefined;
      const phrase = await this.#provider.readKey();
      if (phrase !== undefined) await this.unseal(phrase);
    } catch (error) {
      await this.#noteAutomaticFailure(error);
    }
    return this.#state;
  }

  /** Why automatic unsealing failed last, and whether the cause may pass by itself; undefined when it did not. */
  get automaticFailure(): AutomaticFailure | undefined {
    return this.isUnsealed ? undefined : this.#automaticFailure;
  }

  /**
   * Unseals with a phrase, which is overwritten. Throws `vault_not_configured`, `seal_key_rejected` for a wrong key
   * (also when already unsealed, where nothing changes), `seal_key_mismatch` when the configured key is not this
   * store's.
   */
  async unseal(phrase: Uint8Array): Promise<void> {
    await this.#exclusive(phrase, async (held) => {
      if (this.#state === "unsealed") {
        this.#value(await this.#worker.run("check_phrase", this.#check(held, this.#readSentinel())));
        return;
      }
      const before = this.#state;
      this.#state = "unsealing";
      try {
        await this.#open(held);
        await this.#onChange({ action: "unsealed" });
        this.#state = "unsealed";
      } catch (error) {
        this.#state = before;
        await this.#lockWorker();
        throw error;
      }
      this.#corruptRecords.clear();
      this.#log.info("vault unsealed", { state: this.#state });
      this.#onUnsealed?.();
      for (const resume of [...this.#unsealedWaiters]) resume();
    });
  }

  /**
   * Seals with a phrase, which is overwritten. Same failures as unsealing; sealing a sealed vault with the right key is
   * fine.
   */
  async seal(phrase: Uint8Array): Promise<void> {
    await this.#exclusive(phrase, async (held) => {
      this.#value(await this.#worker.run("check_phrase", this.#check(held, this.#readSentinel())));
      if (this.#state === "unsealed") await this.#close("sealed");
    });
  }

  /**
   * Seals without a phrase, where nobody need know it. Stays so until somebody unseals or the server starts again.
   * Throws `vault_not_configured`.
   */
  async sealByPermission(): Promise<void> {
    this.#requireConfigured();
    await this.#queued(async () => {
      if (this.#state === "unsealed") await this.#close("sealed");
    });
  }

  /** Asks the provider for the key again. Throws `seal_provider_failed` when that leaves the vault sealed. */
  async unsealByProvider(): Promise<void> {
    this.#requireConfigured();
    if (this.isUnsealed) return;
    if ((await this.unsealAutomatically()) !== "unsealed") {
      throw new AppError("seal_provider_failed", {
        message: "the seal provider did not unseal the vault; the server's log says why",
      });
    }
  }

  /** Seals without a phrase and ends the worker for good, on shutdown. */
  async shutDown(): Promise<void> {
    await this.#queued(async () => {
      if (this.#state !== "unconfigured") this.#state = "sealed";
      await this.#drained();
      await this.#worker.stop();
    });
  }

  /**
   * Runs a vault operation in the worker. Throws `vault_sealed` unless unsealed, and what the task answers as its
   * failure.
   */
  async run<Name extends VaultTaskName>(
    task: Name,
    message: VaultTasks[Name]["message"],
    recordId: string,
  ): Promise<VaultTasks[Name]["value"]> {
    this.requireUnsealed();
    this.#running += 1;
    try {
      const result = await this.#worker.run(task, message);
      if (result.ok) return result.value;
      this.#noteFailure(result, recordId);
      throw this.#failure(result);
    } catch (error) {
      // A task that was cut off by sealing did not fail by itself.
      if (!this.isUnsealed) throw sealedError();
      throw error;
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#onIdle?.();
    }
  }

  /**
   * First unsealing of a store: makes its id and sentinel, durable before anything can be wrapped. Later ones:
   * compares.
   */
  async #open(phrase: Uint8Array): Promise<void> {
    const known = this.#readSentinel();
    const storeId = known?.store_id ?? newId();
    const { sentinel } = this.#value(await this.#worker.run("unseal", this.#check(phrase, known, storeId)));
    if (known !== undefined) return;
    const record: SentinelRecord = {
      format_version: FORMAT_VERSION,
      store_id: storeId,
      sentinel: Buffer.from(sentinel).toString("hex"),
      created_at: isoTimestamp(this.#clock.nowMs()),
    };
    await this.#store.commit({
      checks: [{ key: SENTINEL_KEY, version: "absent" }],
      puts: [{ key: SENTINEL_KEY, value: record }],
    });
  }

  async #close(next: "sealed" | "fault_sealed"): Promise<void> {
    this.#state = next;
    await this.#drained();
    await this.#worker.recycle();
    this.#log.info("vault sealed", { state: this.#state });
    this.#automaticFailure = undefined;
    await this.#onChange({ action: next });
  }

  async #noteAutomaticFailure(error: unknown): Promise<void> {
    const code = error instanceof AppError ? error.code : "seal_provider_failed";
    const reason =
      error instanceof AppError || error instanceof SealProviderError
        ? error.message
        : "the seal key could not be read";
    this.#automaticFailure = { reason, mayPass: error instanceof SealProviderError && error.mayPass };
    this.#log.error(`the vault stays sealed: ${reason}`, { code, state: this.#state });
    try {
      await this.#onChange({ action: "unsealing_failed", code });
    } catch {
      this.#log.error("a failed unsealing could not be recorded", { code });
    }
  }

  /** Resolves when no operation is running, or after the time that sealing grants them. */
  async #drained(): Promise<void> {
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, DRAIN_MS);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#onIdle = undefined;
  }

  #check(
    phrase: Uint8Array,
    known: SentinelRecord | undefined,
    storeId: string = known?.store_id ?? newId(),
  ): PhraseCheck {
    return {
      phrase,
      validationHash: this.#provider.validationHash ?? null,
      storeId,
      sentinel: known === undefined ? null : new Uint8Array(Buffer.from(known.sentinel, "hex")),
    };
  }

  #readSentinel(): SentinelRecord | undefined {
    return this.#store.get<SentinelRecord>(SENTINEL_KEY)?.value;
  }

  async #lockWorker(): Promise<void> {
    const isLocked = await this.#worker.run("lock", null).then(
      (result) => result.ok,
      () => false,
    );
    if (!isLocked) await this.#worker.recycle();
  }

  /**
   * Queues a state change with a phrase: one at a time, refused while unconfigured, and the phrase is gone afterwards.
   */
  async #exclusive(phrase: Uint8Array, change: (phrase: Uint8Array) => Promise<void>): Promise<void> {
    const held = shared(phrase);
    try {
      this.#requireConfigured();
      await this.#queued(async () => {
        await change(held);
      });
    } finally {
      held.fill(0);
      phrase.fill(0);
    }
  }

  #requireConfigured(): void {
    if (this.#state === "unconfigured")
      throw new AppError("vault_not_configured", {
        message: "no seal key is configured: set SEAL_UNSEAL_VALIDATION_HASH",
      });
  }

  async #queued(change: () => Promise<void>): Promise<void> {
    const turn = this.#lastChange.then(change);
    this.#lastChange = turn.catch(() => undefined);
    await turn;
  }

  #value<Value>(result: { readonly ok: true; readonly value: Value } | VaultTaskFailure): Value {
    if (result.ok) return result.value;
    throw this.#failure(result);
  }

  #failure(failure: VaultTaskFailure): AppError {
    if (failure.frames !== undefined)
      this.#log.error("vault operation failed unexpectedly", { code: failure.code, stack: failure.frames });
    return new AppError(failure.code, { message: failure.message });
  }

  #noteFailure(failure: VaultTaskFailure, recordId: string): void {
    if (failure.code === "vault_sealed") {
      // The thread was replaced under us and the fresh one holds no key: a crash, not a request to seal.
      void this.#sealByFault("the vault worker lost its keys", { mayUnseal: true });
      return;
    }
    if (failure.code !== "data_corrupt") return;
    const nowMs = this.#clock.monotonicMs();
    for (const [id, ms] of this.#corruptRecords) {
      if (nowMs - ms >= CORRUPT_WINDOW_MS) this.#corruptRecords.delete(id);
    }
    this.#corruptRecords.set(recordId, nowMs);
    this.#log.error("a stored vault record fails its integrity check", {
      code: failure.code,
      key_id: recordId,
      count: this.#corruptRecords.size,
    });
    if (this.#corruptRecords.size >= CORRUPT_RECORDS_MAX)
      void this.#sealByFault("too many stored records fail their integrity check", { mayUnseal: false });
  }

  /** Seals because the service cannot keep its promises, such as to record what is done. Never rejects. */
  async sealByFault(reason: string): Promise<void> {
    await this.#sealByFault(reason, { mayUnseal: false });
  }

  /** Seals at once; ends the worker in its turn. Never rejects, because nobody waits for it. */
  async #sealByFault(reason: string, options: { readonly mayUnseal: boolean }): Promise<void> {
    if (this.#state !== "unsealed") return;
    this.#state = "fault_sealed";
    this.#log.error(reason, { state: this.#state });
    try {
      await this.#queued(async () => {
        await this.#close("fault_sealed");
      });
      if (options.mayUnseal) await this.unsealAutomatically();
    } catch {
      this.#log.error("the vault worker could not be replaced", { state: this.#state });
    }
  }
}

function sealedError(): AppError {
  return new AppError("vault_sealed", { message: "the vault is sealed", retryAfterSec: SEALED_RETRY_AFTER_SEC });
}

/** What an abort signal was fired with. */
function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error("the wait was ended", { cause: reason });
}

/** The same bytes in shared memory: crossing to the worker makes no copy then, and the worker can overwrite them. */
function shared(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer instanceof SharedArrayBuffer) return bytes;
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}
