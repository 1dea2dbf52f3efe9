/**
 * The thread pools of compute work. `interactive` (verification; milliseconds) has threads of its own, so that it never
 * waits behind `prove`. Compilation and setup run as processes of their own (process-task.ts) and use no pool.
 *
 * With many proofs, each runs on one thread. A proof that finds idle threads in its pool takes them as helpers; helpers
 * are dismissed as soon as another task needs a thread. Only the proof that called a helper waits for it.
 *
 * A server without provers has no such threads: they start at the server's start where it has provers, or else with the
 * first circuit that is compiled or imported, and are ready before its keys are.
 */
import { createTeam, dismissHelpers, endTeam, failTeam } from "../../engine/kernels/threads/thread-team.js";
import type {
  ComputeRequest,
  ComputeTaskName,
  ComputeTasks,
  OpenKey,
  PairingBackend,
  ProveMessage,
  ProveValue,
  TaskResult,
  WarmKeyMessage,
  WarmKeyValue,
} from "../../engine/protocol.js";
import type { ProofSystemName } from "../../engine/proof-systems/names.js";
import { rehearsesKernels, type RehearsalRequest } from "../../engine/rehearsal-request.js";
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import { workerPath } from "../../platform/files/package-root.js";
import type { LaneFigures } from "../../platform/pool/lane.js";
import { KeyPlaces } from "./keys/key-places.js";
import { Rehearsals, type RehearsalOutcome } from "./rehearsals.js";
import { ThreadPool, type RunOptions } from "../../platform/pool/thread-pool.js";

type PoolName = "interactive" | "prove";

interface ComputePoolsOptions {
  /** Threads that prove; one per core by default. */
  readonly proveThreads: number;
  readonly interactiveThreads: number;
  readonly proveQueueLengthMax: number;
  readonly interactiveQueueLengthMax: number;
  /** Threads that may help one proof; 0 keeps every proof on one thread. */
  readonly proveHelpersMax?: number;
  /** How long one owner's proofs may keep more than their share of the threads while another owner's wait. */
  readonly giveWayMs?: number;
  /** Called after every task and every setup, whatever came of it. */
  readonly onComputed?: () => void;
  /** What `warm` loads. The WebAssembly kernels unless given. */
  readonly kernels?: PairingBackend;
  /** Compiled worker entry; the server's own by default. */
  readonly entry?: string;
  /** The same of the threads that rehearse. */
  readonly rehearsalEntry?: string;
}

export interface ProveOptions extends RunOptions {
  /**
   * Called when a thread was lost during the proof, even if the proof succeeds on a second try: the key's workspace
   * that the thread had taken stays taken.
   */
  readonly onThreadLost?: () => void;
}

/** Niceness of the pools: proving yields to the event loop (0) and to verification; see `npm run bench -- http`. */
const PROVE_NICENESS = 15;
const INTERACTIVE_NICENESS = 2;

/**
 * Smaller circuits are proved in some ten milliseconds, and waking a thread takes one of them; see `npm run bench --
 * prove`.
 */
const HELP_DOMAIN_POWER_MIN = 10;
/**
 * An ordinary proof takes a second or two and is left to its end; a witness program that never ends must not keep
 * several threads from the other owners until its deadline.
 */
const GIVE_WAY_MS = 10_000;

export class ComputePools {
  readonly #pools: Readonly<Record<PoolName, ThreadPool>>;
  readonly #helpersMax: number;
  /** Tasks of the pool `prove`, queued ones and helpers included. */
  #proveTasks = 0;
  /** Teams with helpers, with the id of the key that they prove with. */
  readonly #teams = new Map<SharedArrayBuffer, string>();
  readonly #keyPlaces: KeyPlaces;
  readonly #onComputed: (() => void) | undefined;
  readonly #kernels: PairingBackend;
  readonly #log: Log;
  readonly #rehearsals: Rehearsals;
  /** Systems whose code the threads that prove have run. */
  readonly #rehearsed = new Set<ProofSystemName>();
  /** Proofs that run or wait. */
  #proofs = 0;
  #warming: Promise<void> | undefined;
  #isStopping = false;

  constructor(options: ComputePoolsOptions, dependencies: { log: Log }) {
    const entry = options.entry ?? workerPath("compute.worker");
    this.#helpersMax = options.proveHelpersMax ?? 0;
    this.#onComputed = options.onComputed;
    this.#kernels = options.kernels ?? "wasm";
    this.#log = dependencies.log;
    this.#rehearsals = new Rehearsals({ entry: options.rehearsalEntry ?? workerPath("rehearse.worker") });
    this.#keyPlaces = new KeyPlaces({ threads: options.proveThreads, queueLengthMax: options.proveQueueLengthMax });
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
          giveWayMs: options.giveWayMs ?? GIVE_WAY_MS,
        },
        dependencies,
      ),
    };
  }

  /**
   * Runs a compute task in a pool. Expected failures of the task are results; rejects as `ThreadPool.run` does
   * (thread-pool.ts).
   * @throws AppError `overloaded`, `deadline_exceeded`, or `internal_error` when the thread was lost
   */
  async run<Name extends ComputeTaskName>(
    pool: PoolName,
    task: Name,
    message: ComputeTasks[Name]["message"],
    options?: RunOptions,
  ): Promise<TaskResult<ComputeTasks[Name]["value"]>> {
    const request = { task, message } as ComputeRequest;
    try {
      return pool === "prove"
        ? await this.#runOnProvers(request, options)
        : await this.#pools.interactive.run(request, options);
    } finally {
      this.#onComputed?.();
    }
  }

  async #runOnProvers<Value>(request: ComputeRequest, options?: RunOptions): Promise<TaskResult<Value>> {
    if (this.#proveTasks >= this.#pools.prove.threads) for (const team of this.#teams.keys()) dismissHelpers(team);
    this.#proveTasks += 1;
    try {
      return await this.#pools.prove.run(request, options);
    } finally {
      this.#proveTasks -= 1;
    }
  }

  /**
   * Runs the task `prove`, with the idle threads of its pool as helpers; otherwise as `run`.
   * @throws GaveWay when the thread was needed for another owner: prove again, with the key opened anew
   */
  async prove(message: ProveMessage, given: ProveOptions = {}): Promise<TaskResult<ProveValue>> {
    const options = { sinceMs: performance.now(), mayGiveWay: true, ...given };
    const { openKey } = message;
    if (openKey !== undefined && this.#keyPlaces.freeOf(openKey) <= 0)
      for (const [team, id] of this.#teams) if (id === openKey.id) dismissHelpers(team);
    this.#proofs += 1;
    this.#rehearsals.giveWay();
    try {
      // A rehearsal that has begun keeps one of the key's workspaces for a moment: the first proof takes another.
      if (openKey !== undefined && this.#proofs > 1) await this.#rehearsals.untilFree(openKey.id);
      return await this.#keyPlaces.run(openKey, options, async () => await this.#proveInTeam(message, options));
    } finally {
      this.#proofs -= 1;
    }
  }

  /**
   * Rehearses the first proof with a key, for whose memory the caller answers until the end; given up where a proof
   * runs or waits. Never rejects.
   */
  async rehearse(
    request: Omit<RehearsalRequest, "state">,
    options: Pick<RunOptions, "signal">,
  ): Promise<RehearsalOutcome> {
    if (this.#proofs > 0) return "given_up";
    const outcome = await this.#rehearsals.run(request, options.signal);
    if (outcome === "done" && this.#proofs === 0) await this.#rehearseOnThreads(request, options);
    return outcome;
  }

  /** What is left is a thread's own: once for each system, when the kernels are compiled. */
  async #rehearseOnThreads(
    { system, openKey, circuit }: Omit<RehearsalRequest, "state">,
    options: Pick<RunOptions, "signal">,
  ): Promise<void> {
    const { threads } = this.#pools.prove;
    if (
      this.#rehearsed.has(system) ||
      !rehearsesKernels({ system, openKey }) ||
      openKey.key.workspaces.length < threads
    )
      return;
    this.#rehearsed.add(system);
    const rehearsal = async (): Promise<unknown> =>
      await this.run("prove", "rehearse", { system, openKey, circuit }, { ...options, retryOnCrash: false });
    await Promise.allSettled(Array.from({ length: threads }, rehearsal));
  }

  /** To be called after a setup, which runs in a process of its own. */
  tellSetUp(): void {
    this.#onComputed?.();
  }

  async #proveInTeam(message: ProveMessage, options: ProveOptions): Promise<TaskResult<ProveValue>> {
    const team = createTeam();
    const { openKey } = message;
    const helpers = openKey === undefined ? 0 : this.#helpersFor(openKey);
    try {
      const leading = this.run("prove", "prove", helpers === 0 ? message : { ...message, team }, {
        ...options,
        retryOnCrash: false,
      });
      if (openKey !== undefined && helpers > 0) this.#teams.set(team, openKey.id);
      for (let i = 0; i < helpers; i += 1) void this.#help(message, team, options);
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

  /**
   * Starts the threads and loads the backend in each, once, so that the first proof need not wait for it: a tenth of a
   * second each. For when there is a prover, or soon will be; whatever is run earlier starts its pool all the same.
   * Never rejects.
   */
  async warm(): Promise<void> {
    this.#warming ??= this.#warmAll().catch(() => {
      if (this.#isStopping) return;
      this.#log.warn("the compute threads did not load the proving backend ahead of the first request");
    });
    await this.#warming;
  }

  /**
   * Prepares the threads that prove for a key; of a thread that is busy all the while another one may take its turn.
   * Returns the witness program as they run it.
   * @throws as `run`
   */
  async warmKey(message: WarmKeyMessage, options?: RunOptions): Promise<WarmKeyValue | undefined> {
    const turns = Array.from(
      { length: this.#pools.prove.threads },
      async () => await this.run("prove", "warm_key", message, options),
    );
    const [first] = await Promise.all(turns);
    return first?.ok === true ? first.value : undefined;
  }

  /** Whether the threads of every pool have been started. */
  get areStarted(): boolean {
    return Object.values(this.#pools).every(({ isStarted }) => isStarted);
  }

  async #warmAll(): Promise<void> {
    const warmups = Object.values(this.#pools).flatMap((pool) => {
      const message = { backend: this.#kernels, withTrees: pool === this.#pools.interactive };
      return Array.from({ length: pool.threads }, async () => {
        await pool.run({ task: "warm", message });
      });
    });
    await Promise.all(warmups);
  }

  /** What waits and runs in each pool, for metrics. */
  figures(): Readonly<Record<PoolName, LaneFigures>> {
    return { interactive: this.#pools.interactive.figures, prove: this.#pools.prove.figures };
  }

  /** Ends all threads; tasks that still run or wait are rejected. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([
      this.#rehearsals.stop(),
      ...Object.values(this.#pools).map(async (pool) => {
        await pool.stop();
      }),
    ]);
  }

  /** The leader has a workspace of the key already, where they are counted. */
  #helpersFor(openKey: OpenKey): number {
    const { key } = openKey;
    if (key.domainPower < HELP_DOMAIN_POWER_MIN) return 0;
    const idle = this.#pools.prove.threads - this.#proveTasks - 1;
    const places = key.helperPlaces?.length ?? 0;
    const room = places > 0 ? places : Math.min(key.workspaces.length - 1, this.#keyPlaces.freeOf(openKey));
    return Math.max(0, Math.min(idle, this.#helpersMax, room));
  }

  /** Resolves when the helper's thread is free again; never rejects. */
  async #help(
    { system, openKey }: ProveMessage,
    team: SharedArrayBuffer,
    { owner, onThreadLost }: ProveOptions,
  ): Promise<void> {
    if (openKey === undefined) return;
    try {
      const turn = owner === undefined ? {} : { owner };
      const help = async (): Promise<unknown> =>
        await this.run("prove", "help", { system, openKey, team }, { ...turn, retryOnCrash: false });
      // Places of helpers are for this proof alone: the key has one workspace then, which it has taken.
      if ((openKey.key.helperPlaces?.length ?? 0) > 0) await help();
      else await this.#keyPlaces.run(openKey, turn, help);
    } catch {
      // The pool has logged the error. The helper's part may be half done, so the proof must not use it.
      failTeam(team);
      onThreadLost?.();
    }
  }
}
