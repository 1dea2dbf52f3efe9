/**
 * Rehearsals of first proofs (engine/rehearsal.ts), one at a time, each on a thread that ends with it. A rehearsal runs
 * what a tenant's circuit has: it gets the memory that the circuit's proofs get, the priority of a proof and a few
 * seconds, and gives way to any proof.
 */
import { Worker } from "node:worker_threads";
import { REHEARSAL_PHASE, rehearsesKernels, type RehearsalRequest } from "../../engine/rehearsal-request.js";

interface RehearsalsOptions {
  /** Compiled worker entry. */
  readonly entry: string;
  /** Time for the circuit's witness program. */
  readonly programMs?: number;
}

/** `lost`: the thread ended while it had a workspace of the key, which must be opened anew. */
export type RehearsalOutcome = "done" | "given_up" | "lost";

/** That of the threads that prove: a proof may wait for what a rehearsal has. */
const NICENESS = 15;
/** A witness of a few hundred thousand constraints takes a tenth of it, on a processor that nothing else wants. */
const PROGRAM_MS = 2_000;
const OLD_SPACE_MB_MAX = 256;
/** See platform/pool/thread-pool.ts: such a thread can be terminated while it loads. */
const THREAD_FLAGS = ["--no-experimental-require-module"];

export class Rehearsals {
  readonly #options: RehearsalsOptions;
  #running: Rehearsal | undefined;
  #isStopped = false;

  constructor(options: RehearsalsOptions) {
    this.#options = options;
  }

  /** Runs one to its end, unless another one runs. Never rejects. */
  async run(request: Omit<RehearsalRequest, "state">, signal?: AbortSignal): Promise<RehearsalOutcome> {
    if (this.#running !== undefined || this.#isStopped || signal?.aborted === true) return "given_up";
    const rehearsal = new Rehearsal(request, this.#options);
    const onAbort = (): void => {
      rehearsal.giveUp();
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#running = rehearsal;
    try {
      return await rehearsal.ended;
    } finally {
      signal?.removeEventListener("abort", onAbort);
      this.#running = undefined;
    }
  }

  /** Gives up what runs, for something that matters: at once, or once it has given back the key's workspace. */
  giveWay(): void {
    this.#running?.giveUp();
  }

  /** Resolves as soon as no rehearsal has a workspace of the key. */
  async untilFree(keyId: string): Promise<void> {
    if (this.#running?.keyId === keyId) await this.#running.keyFreed;
  }

  /** Ends what runs; later ones are given up. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running?.end();
  }
}

class Rehearsal {
  readonly keyId: string;
  /** Resolves when the thread has ended. */
  readonly ended: Promise<RehearsalOutcome>;
  /** Resolves when the thread has no workspace of the key any more. */
  readonly keyFreed: Promise<void>;
  readonly #thread: Worker;
  readonly #phase: Int32Array;
  #isGivenUp = false;

  constructor(given: Omit<RehearsalRequest, "state">, { entry, programMs = PROGRAM_MS }: RehearsalsOptions) {
    const request: RehearsalRequest = { ...given, state: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT) };
    this.keyId = given.openKey.id;
    this.#phase = new Int32Array(request.state);
    const thread = new Worker(entry, {
      workerData: { request, niceness: NICENESS },
      ...{ env: {}, execArgv: THREAD_FLAGS, name: "rehearsal" },
      resourceLimits: { maxOldGenerationSizeMb: OLD_SPACE_MB_MAX, stackSizeMb: 4 },
    });
    this.#thread = thread;
    const inProgram = new Promise<void>((resolve) => thread.once("message", () => resolve()));
    const exited = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
    let hasFailed = false;
    thread.once("error", () => {
      hasFailed = true;
    });
    let timer: NodeJS.Timeout | undefined;
    void inProgram.then(() => {
      timer = setTimeout(() => this.giveUp(), programMs);
    });
    this.keyFreed = rehearsesKernels(request) ? Promise.race([inProgram, exited]) : Promise.resolve();
    this.ended = exited.then(() => {
      clearTimeout(timer);
      if (hasFailed && this.#isInKernels && rehearsesKernels(request)) return "lost";
      return this.#isGivenUp || hasFailed ? "given_up" : "done";
    });
  }

  /** Ends the thread, unless it would take a workspace of the key with it; then it ends by itself. */
  giveUp(): void {
    this.#isGivenUp = true;
    const { kernels, program, cancelled } = REHEARSAL_PHASE;
    if (Atomics.compareExchange(this.#phase, 0, kernels, cancelled) === program) void this.#thread.terminate();
  }

  /** Ends the thread whatever it does. */
  async end(): Promise<void> {
    this.giveUp();
    await this.#thread.terminate();
  }

  get #isInKernels(): boolean {
    return Atomics.load(this.#phase, 0) !== REHEARSAL_PHASE.program;
  }
}
