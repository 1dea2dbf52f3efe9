/**
 * The vault's threads, and what makes two requests wait for each other.
 *
 * There are up to three `prompt` workers for single quick operations and one `bulk` worker for batches and slow
 * algorithms, so that neither kind delays the other. Each holds the seal key, and all are replaced when the vault is
 * sealed. A request waits for another
 *
 * - in its worker: a thread runs one message after the other (vault-worker.ts). A request goes to the prompt worker
 *   whose next message has room for it, or else to the one with the fewest requests. What the thread has not got yet
 *   waits in turns of the owners (request-queue.ts);
 * - in its message: requests of one turn of the event loop travel together, at most a millisecond of work, and are
 *   answered together (vault-worker.ts);
 * - in a joint request: requests of one turn for the same operation of the same key run as one, at most 1 ms of work or
 *   4 ms where they share a check (joint-requests.ts);
 * - in a batch: the bulk worker runs slices of at most 10 ms, so that batches of several callers take turns
 *   (item-batches.ts). Within a slice or a joint request a refused item does not stop the others (batch.ts);
 * - for the generation of RSA keys: one at a time for the whole server, in turns of the owners (keys/keys.ts), on a
 *   thread of its own (rsa-threads.ts);
 * - for the next index of a wallet: one at a time for each wallet, because each takes a commit (keys/hd-wallets.ts);
 * - for a change of the seal: one at a time, and sealing waits up to 5 s for running operations (seal/seal.ts).
 *
 * Reads of records and lists never enter these threads.
 */
import type { Log } from "../../platform/log.js";
import { sumOfFigures, type LaneFigures } from "../../platform/pool/lane.js";
import type {
  WorkerKind,
  VaultRequest,
  VaultTaskName,
  VaultTaskResult,
  VaultTasks,
  VaultTaskRunner,
} from "../protocol.js";
import { sharedCopy } from "../shared-bytes.js";
import type { TurnOf } from "./request-queue.js";
import { VaultWorker } from "./vault-worker.js";

export interface VaultWorkersOptions {
  /** Requests that may wait for each thread; one more is rejected with `overloaded` (503). */
  readonly queueLengthMax: number;
  /** Threads for single quick operations. One unless given. */
  readonly promptThreads?: number;
  /** See RequestQueueOptions.turnOf. */
  readonly turnOf?: TurnOf | undefined;
}

/**
 * Single operations have normal priority; batches yield where the cores are busy. With batches at niceness 5, a thread
 * that wakes up still waits now and then for the end of a batch's time slice: the p99 of a round trip between threads,
 * beside two busy ones, is 2.2 to 3.1 ms at 5 and 0.5 to 1.0 ms at 10. Beyond 10 nothing more is gained, and batches
 * would get less than a tenth of a contended core.
 */
const NICENESS: Readonly<Record<WorkerKind, number>> = { prompt: 0, bulk: 10 };

/**
 * A message to the bulk worker takes up to 10 ms; BLS with many keys takes longer, and then fewer are given ahead
 * (vault-worker.ts). Two are at hand when one ends; another owner's request waits for no more. The fourth may be an RSA
 * key, which is made elsewhere meanwhile.
 */
const BULK_MESSAGES_MAX = 4;

/** Each takes a millisecond to seconds, by the number of its keys, messages and signatures (request-queue.ts). */
const BULK_TASKS: ReadonlySet<VaultTaskName> = new Set([
  "bls_aggregate",
  "bls_verify",
  "bls_fast_verify",
  "bls_verify_possession",
  "hd_address",
  "hd_xpub",
  "json_web_keys",
]);
/** Tasks that concern the keys of every thread. */
const COMMON_TASKS: ReadonlySet<VaultTaskName> = new Set(["unseal", "lock", "forget_vault"]);

interface Workers {
  readonly prompt: readonly [VaultWorker, ...VaultWorker[]];
  readonly bulk: VaultWorker;
}

/** Runs each task on the right worker, and tasks about all keys on every worker. */
export class VaultWorkers implements VaultTaskRunner {
  readonly #options: VaultWorkersOptions;
  readonly #log: Log;
  #workers: Workers;

  constructor(options: VaultWorkersOptions, dependencies: { log: Log }) {
    this.#options = options;
    this.#log = dependencies.log;
    this.#workers = this.#start();
  }

  /** See VaultTaskRunner. A task for every worker resolves when all have run it. */
  run<Name extends VaultTaskName>(
    task: Name,
    message: VaultTasks[Name]["message"],
  ): Promise<VaultTaskResult<VaultTasks[Name]["value"]>> {
    const request = { task, message } as VaultRequest;
    const result = COMMON_TASKS.has(task) ? this.#runEverywhere(request) : this.#workerFor(request).run(request);
    return result as Promise<VaultTaskResult<VaultTasks[Name]["value"]>>;
  }

  /** Starts fresh threads, then ends the old ones with everything in their memory. */
  async recycle(): Promise<void> {
    const old = this.#workers;
    this.#workers = this.#start();
    await stopAll(old);
  }

  /** What waits and runs, by kind of worker, for metrics; fresh threads count anew. */
  figures(): Readonly<Record<WorkerKind, LaneFigures>> {
    const prompt = this.#workers.prompt.map((worker) => worker.figures);
    return { prompt: prompt.reduce(sumOfFigures), bulk: this.#workers.bulk.figures };
  }

  /** Ends all threads for good. */
  async stop(): Promise<void> {
    await stopAll(this.#workers);
  }

  /**
   * Runs a request on every worker and returns the first failure, if there is one. Each worker overwrites the phrase
   * that it gets, so each gets its own copy.
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
      const results = await Promise.all(all(this.#workers).map(async (worker) => await worker.run(own())));
      return results.find(({ ok }) => !ok) ?? results[0] ?? { ok: true, value: null };
    } finally {
      for (const phrase of phrases) phrase.fill(0);
      if (request.task === "unseal") request.message.phrase.fill(0);
    }
  }

  #workerFor(request: VaultRequest): VaultWorker {
    const { prompt, bulk } = this.#workers;
    if (workerKindOf(request) === "bulk") return bulk;
    // One message to one thread costs less than two of half the size, so other threads are used when it is full.
    const open = prompt.find((worker) => worker.hasRoomFor(request));
    return open ?? prompt.reduce((least, worker) => (worker.pending < least.pending ? worker : least));
  }

  #start(): Workers {
    const more = Array.from({ length: (this.#options.promptThreads ?? 1) - 1 }, () => this.#startWorker("prompt"));
    return { prompt: [this.#startWorker("prompt"), ...more], bulk: this.#startWorker("bulk") };
  }

  #startWorker(kind: WorkerKind): VaultWorker {
    return new VaultWorker(
      {
        name: `vault-${kind}`,
        queueLengthMax: this.#options.queueLengthMax,
        niceness: NICENESS[kind],
        turnOf: this.#options.turnOf,
        ...(kind === "bulk" ? { messagesMax: BULK_MESSAGES_MAX } : {}),
      },
      { log: this.#log },
    );
  }
}

function workerKindOf({ task, message }: VaultRequest): WorkerKind {
  if (BULK_TASKS.has(task)) return "bulk";
  return message !== null && "worker" in message ? message.worker : "prompt";
}

function all({ prompt, bulk }: Workers): VaultWorker[] {
  return [...prompt, bulk];
}

async function stopAll(workers: Workers): Promise<void> {
  await Promise.all(
    all(workers).map(async (worker) => {
      await worker.stop();
    }),
  );
}
