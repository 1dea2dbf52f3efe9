/**
 * The seal: the state machine that decides whether key material exists in memory at all. Unsealing gives the phrase to
 * the vault's threads and keeps nothing here; sealing ends these threads. Every vault operation passes through `run`.
 *
 * sentinel.ts recognises the store's seal key, running-tasks.ts runs tasks and replaces the threads,
 * automatic-unsealing.ts asks the provider, corrupt-records.ts counts damaged records, seal-operations.ts serves the
 * requests of the API.
 */
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import { StoreConflict, type Store, type StoreCommit } from "../../platform/store/store.js";
import type { PhraseCheck, VaultTaskFailure, VaultTaskName, VaultTaskRunner, VaultTasks } from "../protocol.js";
import { sharedCopy } from "../shared-bytes.js";
import { AutomaticUnsealing, type AutomaticFailure } from "./automatic-unsealing.js";
import { CorruptRecords } from "./corrupt-records.js";
import type { SealProvider } from "./providers/provider.js";
import { RunningTasks } from "./running-tasks.js";
import { SENTINEL_KEY, SealSentinel, type StoreIdentity } from "./sentinel.js";

/** `fault_sealed`: sealed by the service itself, because records fail their checks or a thread was lost. */
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
  readonly worker: VaultTaskRunner;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each unsealing. */
  readonly onUnsealed?: () => void;
  /**
   * Called before an unsealing takes effect and after each sealing. When it rejects an unsealing, the vault stays
   * sealed.
   */
  readonly onChange?: (change: SealChange) => Promise<void>;
  /**
   * Called after a request has sealed: has other nodes of the cluster seal as well. Returns the names of those that
   * have not said that they are.
   */
  readonly sealOthers?: () => Promise<readonly string[]>;
}

/** `unsealed`, `sealed` by a request, `fault_sealed` by the service itself, or a provider that could not unseal. */
export interface SealChange {
  readonly action: "unsealed" | "sealed" | "fault_sealed" | "unsealing_failed";
  readonly code?: string;
}

/** A person has to act before a retry can succeed. */
const SEALED_RETRY_AFTER_SEC = 30;

/** The state of the vault. */
export class VaultSeal {
  readonly #provider: SealProvider;
  readonly #log: Log;
  readonly #onUnsealed: (() => void) | undefined;
  readonly #onChange: (change: SealChange) => Promise<void>;
  readonly #sealOthers: () => Promise<readonly string[]>;
  readonly #sentinel: SealSentinel;
  readonly #tasks: RunningTasks;
  readonly #automatic: AutomaticUnsealing;
  readonly #corruptRecords: CorruptRecords;
  #state: SealState;
  /** Version of the sentinel that the phrase was compared with; wrapping under the phrase's key holds for it alone. */
  #openedFor: number | "absent" = "absent";
  /** Callers of `untilUnsealed`. */
  readonly #unsealedWaiters = new Set<() => void>();
  /** End of the queue of state changes, which happen one at a time. */
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor({ provider }: SealOptions, dependencies: SealDependencies) {
    const { log, onChange, onUnsealed, sealOthers } = dependencies;
    this.#provider = provider;
    this.#log = log;
    this.#onUnsealed = onUnsealed;
    this.#onChange = onChange ?? (() => Promise.resolve());
    this.#sealOthers = sealOthers ?? (() => Promise.resolve([]));
    this.#sentinel = new SealSentinel(dependencies);
    this.#tasks = new RunningTasks(dependencies);
    this.#corruptRecords = new CorruptRecords(dependencies);
    this.#automatic = new AutomaticUnsealing({
      provider,
      log,
      unseal: async (phrase) => await this.unseal(phrase),
      onFailed: async (code) => await this.#onChange({ action: "unsealing_failed", code }),
    });
    this.#state = provider.isConfigured ? "sealed" : "unconfigured";
  }

  get state(): SealState {
    return this.#state;
  }

  get isUnsealed(): boolean {
    return this.#state === "unsealed";
  }

  /** Whether people hold the seal key, so that they must present it and may make keys for other instances. */
  get issuesKeys(): boolean {
    return this.#provider.issuesKeys;
  }

  /** Why automatic unsealing failed last; undefined when it did not, and while unsealed. */
  get automaticFailure(): AutomaticFailure | undefined {
    return this.isUnsealed ? undefined : this.#automatic.lastFailure;
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

  /** Returns what fails a commit of something that was wrapped under a seal key which is not the store's any more. */
  get pin(): StoreCommit {
    return { checks: [{ key: SENTINEL_KEY, version: this.#openedFor }] };
  }

  /** Seals at once where another node has replaced the seal key, or has begun to. Never rejects. */
  async sealUnlessSound(): Promise<void> {
    if (this.isUnsealed && this.#sentinel.version !== this.#openedFor) await this.sealByOrder();
  }

  /** Returns what anybody may know about the seal. */
  status(): SealStatus {
    return {
      sealed: !this.isUnsealed,
      provider: this.#provider.name,
      initialised: this.#sentinel.isStored,
    };
  }

  /**
   * Runs a vault operation on the vault's threads and returns its value.
   * @param recordId the record that the operation opens; counted when it fails its integrity check
   * @throws vault_sealed unless unsealed, and the failure of the task
   */
  async run<Name extends VaultTaskName>(
    task: Name,
    message: VaultTasks[Name]["message"],
    recordId: string,
  ): Promise<VaultTasks[Name]["value"]> {
    this.requireUnsealed();
    try {
      return await this.#tasks.run(task, message, (failure) => this.#noteFailure(failure, recordId));
    } catch (error) {
      // A task that was cut off by sealing did not fail by itself.
      if (!this.isUnsealed) throw sealedError();
      throw error;
    }
  }

  /** Drops the cached keys of a deleted vault. Never rejects: a sealing in the meantime has dropped them as well. */
  async forgetVault(vaultId: string): Promise<void> {
    await this.run("forget_vault", { vaultId }, vaultId).catch(() => null);
  }

  /**
   * Unseals with a phrase, which is wiped. Checks the phrase also when already unsealed, and then changes nothing.
   * @throws vault_not_configured, `seal_key_rejected` for a wrong key, `seal_key_mismatch` when the configured key is
   *   not this store's
   */
  async unseal(phrase: Uint8Array): Promise<void> {
    await this.#changeWith(phrase, async (shared) => {
      if (this.#state === "unsealed") {
        await this.#checkPhrase(shared);
        return;
      }
      const before = this.#state;
      this.#state = "unsealing";
      try {
        await this.#open(shared);
        await this.#onChange({ action: "unsealed" });
        this.#state = "unsealed";
      } catch (error) {
        this.#state = before;
        await this.#tasks.lock();
        throw error;
      }
      this.#corruptRecords.clear();
      this.#log.info("vault unsealed", { state: this.#state });
      this.#onUnsealed?.();
      for (const resume of [...this.#unsealedWaiters]) resume();
    });
  }

  /** Unseals where the provider has the key. Never rejects: a provider that fails leaves the vault sealed. */
  async unsealAutomatically(): Promise<SealState> {
    await this.#automatic.attempt();
    return this.#state;
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

  /**
   * Seals with a phrase, which is wiped; sealing a sealed vault changes nothing. Returns the names of other nodes that
   * have not said that they are sealed. Throws as `unseal` does.
   */
  async seal(phrase: Uint8Array): Promise<readonly string[]> {
    await this.#changeWith(phrase, async (shared) => {
      await this.#checkPhrase(shared);
      if (this.#state === "unsealed") await this.#close("sealed");
    });
    return await this.#sealOthers();
  }

  /**
   * Seals without a phrase, where the provider holds the key. The vault stays sealed until a request unseals it or
   * the server starts again. Returns as `seal` does. Throws `vault_not_configured`.
   */
  async sealByPermission(): Promise<readonly string[]> {
    this.#requireConfigured();
    await this.#change(async () => {
      if (this.#state === "unsealed") await this.#close("sealed");
    });
    return await this.#sealOthers();
  }

  /** Seals at once because another node was told to. Never rejects. */
  async sealByOrder(): Promise<void> {
    const wasUnsealed = this.isUnsealed;
    if (wasUnsealed) this.#state = "sealed";
    try {
      await this.#change(async () => {
        if (wasUnsealed || this.state === "unsealed") await this.#close("sealed");
      });
    } catch (error) {
      this.#log.error("the vault is sealed, but its threads could not be replaced", { state: this.#state, error });
    }
  }

  /** Seals because the service cannot keep its promises, such as to record what is done. Never rejects. */
  async sealByFault(reason: string): Promise<void> {
    await this.#sealByFault(reason, { mayUnseal: false });
  }

  /** Seals without a phrase and ends the threads for good, on shutdown. */
  async shutDown(): Promise<void> {
    await this.#change(async () => {
      if (this.#state !== "unconfigured") this.#state = "sealed";
      await this.#tasks.stop();
    });
  }

  /** Gives the phrase to the threads. The first unsealing of a store stores its sentinel; later ones compare. */
  async #open(phrase: Uint8Array): Promise<void> {
    const identity = this.#sentinel.read();
    const { version } = this.#sentinel;
    if (identity.sentinel === null) {
      await this.#openFirst(phrase, identity);
      return;
    }
    await this.#tasks.run("unseal", this.#checkOf(phrase, identity));
    this.#openedFor = version;
  }

  async #openFirst(phrase: Uint8Array, identity: StoreIdentity): Promise<void> {
    // The task wipes what it is given.
    const kept = sharedCopy(phrase);
    try {
      const { sentinel } = await this.#tasks.run("unseal", this.#checkOf(phrase, identity));
      await this.#sentinel.insert(identity.storeId, sentinel);
      this.#openedFor = this.#sentinel.version;
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      // Another node was first, and what it stored is what the phrase is compared with.
      await this.#tasks.lock();
      await this.#open(kept);
    } finally {
      kept.fill(0);
    }
  }

  async #close(next: "sealed" | "fault_sealed"): Promise<void> {
    this.#state = next;
    await this.#tasks.replaceThreads();
    this.#log.info("vault sealed", { state: this.#state });
    this.#automatic.forgetFailure();
    await this.#onChange({ action: next });
  }

  async #checkPhrase(phrase: Uint8Array): Promise<void> {
    await this.#tasks.run("check_phrase", this.#checkOf(phrase, this.#sentinel.read()));
  }

  #checkOf(phrase: Uint8Array, identity: StoreIdentity): PhraseCheck {
    return { phrase, validationHash: this.#provider.validationHash ?? null, ...identity };
  }

  /** Queues a state change with a phrase: refused while unconfigured, and the phrase is wiped afterwards. */
  async #changeWith(phrase: Uint8Array, change: (shared: Uint8Array) => Promise<void>): Promise<void> {
    const shared = phrase.buffer instanceof SharedArrayBuffer ? phrase : sharedCopy(phrase);
    try {
      this.#requireConfigured();
      await this.#change(async () => await change(shared));
    } finally {
      shared.fill(0);
      phrase.fill(0);
    }
  }

  /** Runs a state change after all earlier ones, whether they failed or not. */
  async #change(change: () => Promise<void>): Promise<void> {
    const changed = this.#lastChange.then(change);
    this.#lastChange = changed.catch(() => undefined);
    await changed;
  }

  #requireConfigured(): void {
    if (this.#state === "unconfigured")
      throw new AppError("vault_not_configured", {
        message: "no seal key is configured: set SEAL_UNSEAL_VALIDATION_HASH",
      });
  }

  #noteFailure(failure: VaultTaskFailure, recordId: string): void {
    if (failure.code === "vault_sealed") {
      // A thread crashed and was replaced by one that holds no key. No request sealed the vault, so unsealing may be
      // tried.
      void this.#sealByFault("a vault worker lost its keys", { mayUnseal: true });
      return;
    }
    if (failure.code !== "data_corrupt") return;
    const { count, areTooMany } = this.#corruptRecords.note(recordId);
    this.#log.error("a stored vault record fails its integrity check", { code: failure.code, key_id: recordId, count });
    if (areTooMany) void this.#sealByFault("too many stored records fail their integrity check", { mayUnseal: false });
  }

  /** Seals at once and replaces the threads after the queued changes. Never rejects, because nothing awaits it. */
  async #sealByFault(reason: string, options: { readonly mayUnseal: boolean }): Promise<void> {
    if (this.#state !== "unsealed") return;
    this.#state = "fault_sealed";
    this.#log.error(reason, { state: this.#state });
    try {
      await this.#change(async () => await this.#close("fault_sealed"));
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
