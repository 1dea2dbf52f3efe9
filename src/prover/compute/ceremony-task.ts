/**
 * The compute of ceremonies in processes of their own, each with as much memory as its key takes. Files of contributors
 * are passed by path and hash; nothing of them runs.
 */
import { circuitCounts, memoryNeeds, phase1Bytes } from "../../engine/proof-systems/memory-needs.js";
import { readR1csHeader } from "../../engine/circuit/r1cs.js";
import { MemoryBudget } from "../../platform/concurrency/memory-budget.js";
import { AppError } from "../../platform/errors.js";
import { workerPath } from "../../platform/files/package-root.js";
import type { Log } from "../../platform/log.js";
import type {
  ProcessTaskFailure,
  ProcessTaskLimits,
  ProcessTaskResult,
  ProcessTasks,
} from "../../platform/pool/process-task.js";
import { diagnostic } from "../provisioning/diagnostics.js";
import type { CeremonyCompute, CheckedContribution, EndedKey, FirstKey } from "./ceremony-compute.js";
import type { ComputeOptions, StepFailure } from "./compute.js";
import { refusalOf } from "./memory-refusal.js";
import { limitsFor } from "./setup-task.js";

type FirstKeyInput = Parameters<CeremonyCompute["makeFirstKey"]>[0];
type CheckInput = Parameters<CeremonyCompute["checkContribution"]>[0];
type BeaconInput = Parameters<CeremonyCompute["applyBeacon"]>[0];

/** What the process is asked for. */
export type CeremonyTaskRequest =
  | ({ readonly step: "first_key" } & FirstKeyInput)
  | ({ readonly step: "check" } & CheckInput)
  | ({ readonly step: "beacon" } & BeaconInput);

type Refused = { readonly ok: false; readonly code: string; readonly message: string };
/** What it answers, by the step. */
export interface CeremonyTaskAnswers {
  readonly first_key:
    { readonly ok: true; readonly value: FirstKey } | { readonly ok: false; readonly referencePower: number } | Refused;
  readonly check: { readonly ok: true; readonly value: CheckedContribution } | Refused;
  readonly beacon: { readonly ok: true; readonly value: EndedKey } | Refused;
}

/**
 * A key of 2^16 constraints takes a second or, from a powers-of-tau file without Lagrange points, minutes; 2^24 hashes
 * of a beacon ten seconds. Longer keys get as many times more.
 */
const LIMITS: ProcessTaskLimits = {
  deadlineMs: 900_000,
  cpuSeconds: 1_800,
  memoryBytesMax: 3 * 1024 ** 3,
  answerBytesMax: 64 * 1024 ** 2,
  heapMegabytesMax: 1024,
  niceness: 15,
};
const MIB = 1024 ** 2;
/** A process with the code, and threads with tables. */
const PROCESS_BYTES = 512 * MIB;
/** The new key, which is answered as it is, and what reads its verifying key. */
const KEY_TIMES = 3;
/** The length of a key of 2^16 constraints, for which the limits of time are made. */
const ORDINARY_KEY_BYTES = 64 * MIB;
const MESSAGE_BYTES = MIB;

interface ProcessCeremoniesDependencies {
  readonly tasks: ProcessTasks;
  /** Memory that all processes share; no limit unless given. */
  readonly memory?: MemoryBudget;
  readonly log: Log;
}

export class ProcessCeremonies implements CeremonyCompute {
  readonly #with: ProcessCeremoniesDependencies;
  readonly #memory: MemoryBudget;

  constructor(dependencies: ProcessCeremoniesDependencies) {
    this.#with = dependencies;
    this.#memory = dependencies.memory ?? new MemoryBudget({ bytes: Infinity });
  }

  /** Makes the first key in a process. */
  async makeFirstKey(input: FirstKeyInput, options: ComputeOptions = {}): ReturnType<CeremonyCompute["makeFirstKey"]> {
    const { r1cs } = input;
    const needs = memoryNeeds("groth16/BN254", circuitCounts(readR1csHeader(r1cs), r1cs.length));
    const bytes = needs.setup + phase1Bytes(needs.domainPower);
    const what = "the first key of this circuit's ceremony";
    const refused = refusalOf(this.#memory, { bytes, what });
    if (refused !== undefined) return refused;
    const limits = limitsFor(LIMITS, { bytes, domainPower: needs.domainPower, answerBytes: needs.keyFile });
    const made = await this.#run<"first_key">({ step: "first_key", ...input }, { bytes, what, limits }, options);
    if (!made.ok) return this.#stepFailure(made, options);
    if (made.value.ok || "referencePower" in made.value) return made.value;
    return { ok: false, errors: [diagnostic(made.value.code, made.value.message)] };
  }

  /**
   * Checks a contribution in a process.
   * @throws AppError `insufficient_memory`, `deadline_exceeded` where the check took too long, `internal_error`
   */
  async checkContribution(
    input: CheckInput,
    options: ComputeOptions = {},
  ): ReturnType<CeremonyCompute["checkContribution"]> {
    // Both keys are read in ranges.
    const needs = this.#needs(input.before.bytes, { answerBytes: MESSAGE_BYTES, times: 1 });
    const what = "the check of this contribution";
    this.#memory.require(needs.bytes, what);
    const checked = await this.#run<"check">({ step: "check", ...input }, { ...needs, what }, options);
    if (checked.ok) return checked.value;
    if (checked.code === "deadline" || checked.code === "memory")
      throw new AppError("deadline_exceeded", {
        message: "the check of the contribution took too long; send it again",
      });
    throw this.#processError(checked, options);
  }

  /** Applies the beacon in a process. */
  async applyBeacon(input: BeaconInput, options: ComputeOptions = {}): ReturnType<CeremonyCompute["applyBeacon"]> {
    const needs = this.#needs(input.before.bytes, { answerBytes: 2 * input.before.bytes, times: KEY_TIMES });
    const what = "the end of this ceremony";
    const refused = refusalOf(this.#memory, { bytes: needs.bytes, what });
    if (refused !== undefined) return refused;
    const made = await this.#run<"beacon">({ step: "beacon", ...input }, { ...needs, what }, options);
    if (!made.ok) return this.#stepFailure(made, options);
    if (made.value.ok) return made.value;
    return { ok: false, errors: [diagnostic(made.value.code, made.value.message)] };
  }

  async #run<Step extends keyof CeremonyTaskAnswers>(
    request: CeremonyTaskRequest,
    { bytes, what, limits }: { readonly bytes: number; readonly what: string; readonly limits: ProcessTaskLimits },
    { signal, onProgress, owner }: ComputeOptions,
  ): Promise<ProcessTaskResult<CeremonyTaskAnswers[Step]>> {
    return await this.#memory.run(
      { bytes, what, signal, owner },
      async () =>
        await this.#with.tasks.run<CeremonyTaskRequest, CeremonyTaskAnswers[Step]>({
          entry: workerPath("ceremony.process"),
          request,
          limits,
          ...(signal === undefined ? {} : { signal }),
          ...(onProgress === undefined ? {} : { onProgress }),
        }),
    );
  }

  #needs(
    keyBytes: number,
    { answerBytes, times }: { readonly answerBytes: number; readonly times: number },
  ): { readonly bytes: number; readonly limits: ProcessTaskLimits } {
    const bytes = PROCESS_BYTES + times * keyBytes;
    const longer = Math.max(1, keyBytes / ORDINARY_KEY_BYTES);
    const limits = {
      ...limitsFor(LIMITS, { bytes, domainPower: 0, answerBytes }),
      deadlineMs: Math.ceil(LIMITS.deadlineMs * longer),
      cpuSeconds: Math.ceil(LIMITS.cpuSeconds * longer),
    };
    return { bytes, limits };
  }

  #stepFailure(failure: ProcessTaskFailure, options: ComputeOptions): StepFailure {
    if (failure.code === "aborted" || failure.code === "crashed") throw this.#processError(failure, options);
    return { ok: false, errors: [diagnostic("circuit_too_large", `ceremony: ${failure.message}`)] };
  }

  #processError(failure: ProcessTaskFailure, options: ComputeOptions): unknown {
    if (options.signal?.aborted === true) return options.signal.reason;
    this.#with.log.error("process ended without an answer", { step: "ceremony", code: failure.code });
    return new AppError("internal_error", {
      message: "ceremony: the process ended without an answer",
      cause: failure,
    });
  }
}
