/**
 * The lanes of compute work. `interactive` (verification; milliseconds) has threads of its own, so that it never waits
 * behind `prove`. Compilation and setup run as processes of their own (process-task.ts) and have no lane here.
 *
 * Many proofs run one a thread. A proof that finds other threads of its lane idle takes them as helpers; they are sent
 * away as soon as another task wants a thread, and none of them is ever waited for by anything but the proof that they
 * are in.
 */
import { createTeam, dismissHelpers, endTeam, failTeam } from "../../engine/kernels/groth16/thread-team.js";
import type {
  ComputeRequest,
  ComputeTaskName,
  ComputeTasks,
  OpenKey,
  PairingBackend,
  ProveMessage,
  ProveValue,
  TaskResult,
} from "../../engine/protocol.js";
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import { workerPath } from "../../platform/files/package-root.js";
import { ThreadPool, type RunOptions } from "../../platform/pool/thread-pool.js";

export type LaneName = "interactive" | "prove";

export interface LanesOptions {
  /** Threads that prove; one per core by default. */
  readonly proveThreads: number;
  readonly interactiveThreads: number;
  readonly proveQueueLengthMax: number;
  readonly interactiveQueueLengthMax: number;
  /** Threads that may help one proof; 0 keeps every proof on one thread. */
  readonly proveHelpersMax?: number;
  /** Compiled worker entry; the server's own by default. */
  readonly entry?: string;
}

export interface ProveOptions extends RunOptions {
  /**
   * Told when a thread was lost under the proof, whatever becomes of the proof: memory that it had taken stays taken.
   */
  readonly onThreadLost?: () => void;
}

/** Niceness of the lanes: proving yields to the event loop (0) and to verification; see `npm run bench -- http`. */
const PROVE_NICENESS = 15;
const INTERACTIVE_NICENESS = 2;

/**
 * Smaller circuits are proved in some ten milliseconds, and waking a thread takes one of them; see `npm run bench --
 * prove`.
 */
const HELP_DOMAIN_POWER_MIN = 10;

export class Lanes {
  readonly #pools: Readonly<Record<LaneName, ThreadPool>>;
  readonly #helpersMax: number;
  /** Tasks on the lane `prove`, those that wait and helpers included. */
  #proveTasks = 0;
  readonly #teams = new Set<SharedArrayBuffer>();

  constructor(options: LanesOptions, dependencies: { log: Log }) {
    const entry = options.entry ?? workerPath("compute.worker");
    this.#helpersMax = options.proveHelpersMax ?? 0;
    this.#pools = {
      interactive: new ThreadPool(
        {
          name: "interactive",
          entry,
          threads: options.interactiveThreads,
          queueLengthMax: options.interactiveQueueLengthMax,
          niceness: INTERACTIVE_NICENESS,
        },
        dependencies,
      ),
      prove: new ThreadPool(
        {
          name: "prove",
          entry,
          threads: options.proveThreads,
          queueLengthMax: options.proveQueueLengthMax,
          niceness: PROVE_NICENESS,
        },
        dependencies,
      ),
    };
  }

  /**
   * Runs a compute task on a lane; failures that are part of the task come back as a union, the rest rejects
   * (thread-pool.ts).
   */
  async run<Name extends ComputeTaskName>(
    lane: LaneName,
    task: Name,
    message: ComputeTasks[Name]["message"],
    options?: RunOptions,
  ): Promise<TaskResult<ComputeTasks[Name]["value"]>> {
    const request = { task, message } as ComputeRequest;
    if (lane === "interactive") return await this.#pools.interactive.run(request, options);
    if (this.#proveTasks >= this.#pools.prove.threads) this.#teams.forEach(dismissHelpers);
    this.#proveTasks += 1;
    try {
      return await this.#pools.prove.run(request, options);
    } finally {
      this.#proveTasks -= 1;
    }
  }

  /** Runs the task `prove`, with the idle threads of its lane as helpers; as `run` otherwise. */
  async prove(message: ProveMessage, options: ProveOptions = {}): Promise<TaskResult<ProveValue>> {
    const team = createTeam();
    const helpers = message.openKey === undefined ? 0 : this.#helpersFor(message.openKey);
    try {
      const leading = this.run("prove", "prove", helpers === 0 ? message : { ...message, team }, {
        ...options,
        retryOnCrash: false,
      });
      if (helpers > 0) this.#teams.add(team);
      for (let i = 0; i < helpers; i += 1) void this.#help(message.openKey, team, options.onThreadLost);
      return await leading;
    } catch (error) {
      if (!(error instanceof AppError && error.code === "internal_error")) throw error;
      options.onThreadLost?.();
      if (options.retryOnCrash === false) throw error;
    } finally {
      endTeam(team);
      this.#teams.delete(team);
    }
    return await this.run("prove", "prove", message, { ...options, retryOnCrash: false });
  }

  /** Loads in every thread, ahead of the first request, the backend that requests will ask for. */
  async warm(backend: PairingBackend): Promise<void> {
    const warmups = Object.values(this.#pools).flatMap((pool) =>
      Array.from({ length: pool.threads }, async () => {
        await pool.run({ task: "warm", message: { backend } });
      }),
    );
    await Promise.all(warmups);
  }

  /** Tasks waiting per lane, for metrics. */
  waiting(): Readonly<Record<LaneName, number>> {
    return { interactive: this.#pools.interactive.waiting, prove: this.#pools.prove.waiting };
  }

  #helpersFor({ key }: OpenKey): number {
    if (key.domainPower < HELP_DOMAIN_POWER_MIN) return 0;
    const idle = this.#pools.prove.threads - this.#proveTasks - 1;
    return Math.max(0, Math.min(idle, this.#helpersMax, key.workspaces.length - 1));
  }

  /** Settles when the helper is back in its lane, and never rejects. */
  async #help(
    openKey: OpenKey | undefined,
    team: SharedArrayBuffer,
    onThreadLost: (() => void) | undefined,
  ): Promise<void> {
    if (openKey === undefined) return;
    try {
      await this.run("prove", "help", { openKey, team }, { retryOnCrash: false });
    } catch {
      // The pool has logged it. Whatever the helper had begun is half done: the proof must not go on with it.
      failTeam(team);
      onThreadLost?.();
    }
  }

  async stop(): Promise<void> {
    await Promise.all(
      Object.values(this.#pools).map(async (pool) => {
        await pool.stop();
      }),
    );
  }
}
