/**
 * The vault worker as threads of its own: one that answers at once, and one for batches and slow algorithms, so that neither holds the
 * other up. Both hold the seal key; both are replaced as a whole when the vault is sealed.
 */
import type { Log } from "../platform/log.js";
import { workerPath } from "../platform/package-root.js";
import { ThreadPool } from "../platform/pool/thread-pool.js";
import type { VaultLane, VaultRequest, VaultTaskName, VaultTaskResult, VaultTasks, VaultWorker } from "./protocol.js";

export interface VaultThreadOptions {
  /** Tasks of each thread that may wait; one more is refused with 503. */
  readonly queueLengthMax: number;
}

/** Tasks handed to a thread ahead of time, so that it need not wait for a round trip between two of them. */
const TASKS_IN_THREAD = 16;
/** Operations that are waited for have normal priority; batches give way where the cores are busy. */
const NICENESS: Readonly<Record<VaultLane, number>> = { prompt: 0, bulk: 5 };

/** Each takes milliseconds or more, whatever the key. */
const BULK_TASKS: ReadonlySet<VaultTaskName> = new Set(["bls_aggregate", "bls_verify", "hd_address", "hd_xpub", "json_web_keys"]);

type Pools = Readonly<Record<VaultLane, ThreadPool>>;

export class VaultThread implements VaultWorker {
  readonly #options: VaultThreadOptions;
  readonly #log: Log;
  #pools: Pools;

  constructor(options: VaultThreadOptions, dependencies: { log: Log }) {
    this.#options = options;
    this.#log = dependencies.log;
    this.#pools = this.#startPools();
  }

  async run<Name extends VaultTaskName>(task: Name, message: VaultTasks[Name]["message"]): Promise<VaultTaskResult<VaultTasks[Name]["value"]>> {
    const request = { task, message } as VaultRequest;
    const pools = this.#pools;
    if (task !== "unseal" && task !== "lock" && task !== "forget_vault") return await pools[laneOf(request)].run(request);
    // What concerns all keys concerns both threads. Each overwrites the phrase that it was given, so each is given its own.
    const other = request.task === "unseal" ? { ...request, message: { ...request.message, phrase: sharedCopy(request.message.phrase) } } : request;
    try {
      const [result, second] = await Promise.all([
        pools.prompt.run<VaultRequest, VaultTaskResult<VaultTasks[Name]["value"]>>(request),
        pools.bulk.run<VaultRequest, VaultTaskResult<VaultTasks[Name]["value"]>>(other),
      ]);
      return result.ok && !second.ok ? second : result;
    } finally {
      if (other.task === "unseal") other.message.phrase.fill(0);
    }
  }

  async recycle(): Promise<void> {
    const old = this.#pools;
    this.#pools = this.#startPools();
    await stopPools(old);
  }

  async stop(): Promise<void> {
    await stopPools(this.#pools);
  }

  #startPools(): Pools {
    return { prompt: this.#startPool("prompt"), bulk: this.#startPool("bulk") };
  }

  #startPool(lane: VaultLane): ThreadPool {
    return new ThreadPool(
      { name: `vault-${lane}`, entry: workerPath("vault.worker"), threads: 1, tasksPerThread: TASKS_IN_THREAD, queueLengthMax: this.#options.queueLengthMax, niceness: NICENESS[lane] },
      { log: this.#log },
    );
  }
}

function laneOf({ task, message }: VaultRequest): VaultLane {
  if (BULK_TASKS.has(task)) return "bulk";
  return message !== null && "lane" in message ? message.lane : "prompt";
}

async function stopPools({ prompt, bulk }: Pools): Promise<void> {
  await Promise.all([prompt.stop(), bulk.stop()]);
}

/** In shared memory like the original, so that the thread can overwrite it. */
function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}
