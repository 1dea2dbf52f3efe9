/**
 * The vault worker as threads of its own: some that answer at once, and one for batches and slow algorithms, so that
 * neither holds the other up. All hold the seal key; all are replaced when the vault is sealed.
 */
import type { Log } from "../../platform/log.js";
import type { VaultLane, VaultRequest, VaultTaskName, VaultTaskResult, VaultTasks, VaultWorker } from "../protocol.js";
import { VaultThreadLane } from "./vault-worker.js";

export interface VaultThreadOptions {
  /** Requests that may wait for each thread; one more is refused with 503. */
  readonly queueLengthMax: number;
  /** Threads for single quick operations. One unless given. */
  readonly promptThreads?: number;
}

/**
 * Operations that are waited for have normal priority; batches give way where the cores are busy. At niceness 5 a
 * thread that wakes up still waits now and then for the end of a batch's time slice (a round trip between threads
 * beside two busy ones of that niceness: p99 2.2 to 3.1 ms, at 10 0.5 to 1.0 ms); beyond 10 nothing more is gained, and
 * batches would get less than a tenth of a contended core.
 */
const NICENESS: Readonly<Record<VaultLane, number>> = { prompt: 0, bulk: 10 };

/** Each takes milliseconds or more, whatever the key. */
const BULK_TASKS: ReadonlySet<VaultTaskName> = new Set([
  "bls_aggregate",
  "bls_verify",
  "hd_address",
  "hd_xpub",
  "json_web_keys",
]);
/** What concerns all keys concerns all threads. */
const COMMON_TASKS: ReadonlySet<VaultTaskName> = new Set(["unseal", "lock", "forget_vault"]);

interface Threads {
  readonly prompt: readonly [VaultThreadLane, ...VaultThreadLane[]];
  readonly bulk: VaultThreadLane;
}

export class VaultThread implements VaultWorker {
  readonly #options: VaultThreadOptions;
  readonly #log: Log;
  #threads: Threads;

  constructor(options: VaultThreadOptions, dependencies: { log: Log }) {
    this.#options = options;
    this.#log = dependencies.log;
    this.#threads = this.#start();
  }

  run<Name extends VaultTaskName>(
    task: Name,
    message: VaultTasks[Name]["message"],
  ): Promise<VaultTaskResult<VaultTasks[Name]["value"]>> {
    const request = { task, message } as VaultRequest;
    const result = COMMON_TASKS.has(task) ? this.#runEverywhere(request) : this.#threadFor(request).run(request);
    return result as Promise<VaultTaskResult<VaultTasks[Name]["value"]>>;
  }

  async recycle(): Promise<void> {
    const old = this.#threads;
    this.#threads = this.#start();
    await stopAll(old);
  }

  async stop(): Promise<void> {
    await stopAll(this.#threads);
  }

  /**
   * Each thread overwrites the phrase that it was given, so each is given its own. Answers the first failure, if there
   * is one.
   */
  async #runEverywhere(request: VaultRequest): Promise<VaultTaskResult<unknown>> {
    const phrases: Uint8Array[] = [];
    const own = (): VaultRequest => {
      if (request.task !== "unseal") return request;
      const phrase = sharedCopy(request.message.phrase);
      phrases.push(phrase);
      return { ...request, message: { ...request.message, phrase } };
    };
    try {
      const results = await Promise.all(all(this.#threads).map(async (thread) => await thread.run(own())));
      return results.find(({ ok }) => !ok) ?? results[0] ?? { ok: true, value: null };
    } finally {
      for (const phrase of phrases) phrase.fill(0);
      if (request.task === "unseal") request.message.phrase.fill(0);
    }
  }

  #threadFor(request: VaultRequest): VaultThreadLane {
    const { prompt, bulk } = this.#threads;
    if (laneOf(request) === "bulk") return bulk;
    // One message to one thread costs less than two of half the size: others are for what a message has no room for.
    const open = prompt.find((thread) => thread.takesAlong(request));
    return open ?? prompt.reduce((least, thread) => (thread.pending < least.pending ? thread : least));
  }

  #start(): Threads {
    const more = Array.from({ length: (this.#options.promptThreads ?? 1) - 1 }, () => this.#startThread("prompt"));
    return { prompt: [this.#startThread("prompt"), ...more], bulk: this.#startThread("bulk") };
  }

  #startThread(lane: VaultLane): VaultThreadLane {
    return new VaultThreadLane(
      { name: `vault-${lane}`, queueLengthMax: this.#options.queueLengthMax, niceness: NICENESS[lane] },
      { log: this.#log },
    );
  }
}

function laneOf({ task, message }: VaultRequest): VaultLane {
  if (BULK_TASKS.has(task)) return "bulk";
  return message !== null && "lane" in message ? message.lane : "prompt";
}

function all({ prompt, bulk }: Threads): VaultThreadLane[] {
  return [...prompt, bulk];
}

async function stopAll(threads: Threads): Promise<void> {
  await Promise.all(
    all(threads).map(async (thread) => {
      await thread.stop();
    }),
  );
}

/** In shared memory like the original, so that the thread can overwrite it. */
function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}
