/**
 * The form of the kernels that prove and verify in this process, four lanes or two: chosen once, before any thread is
 * started that runs kernels, and given to the threads that are started afterwards.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { setEnvironmentData } from "node:worker_threads";
import { randomNonZero } from "../engine/field/bytes.js";
import { chooseWideForm, isTriedLine } from "../engine/kernels/wide/choose-form.js";
import type { TrialAnswer, WideChoice, WideMode } from "../engine/kernels/wide/choose-form.js";
import { WIDE_FLAG } from "../engine/kernels/wide/try-form.js";
import { WIDE_FORMS_KEY, useWideForms, wideDiscards } from "../engine/kernels/wide/wide-form.js";
import { workerPath } from "../platform/files/package-root.js";
import type { Log } from "../platform/log.js";
import type { ProcessTaskLimits, ProcessTasks } from "../platform/pool/process-task.js";

/** What runs, for administrators. */
export interface KernelFormStatus {
  readonly form: "four_lanes" | "two_lanes";
  /** A clause. */
  readonly reason: string;
  /** How many times as fast each kernel is on four lanes, of those that were tried and right. */
  readonly speedups: Readonly<Record<string, number>>;
}

const run = promisify(execFile);
const MIB = 1024 ** 2;
/** Text of all options of V8: 120 KB in Node 26. */
const OPTIONS_BYTES_MAX = 4 * MIB;
/** It takes a second; a machine under load, ten. */
const TRIAL_LIMITS: ProcessTaskLimits = {
  deadlineMs: 60_000,
  cpuSeconds: 60,
  memoryBytesMax: 512 * MIB,
  answerBytesMax: 64 * 1024,
  heapMegabytesMax: 256,
  niceness: 0,
};

/**
 * Of the process, as V8's flag and optimised code are: a second server of the same process must not have V8 pair
 * instructions while the first one's threads prove.
 */
let chosen: Promise<WideChoice> | undefined;

export class KernelForm {
  readonly #choice: WideChoice;
  readonly #log: Log;
  #discardsTold: number;

  private constructor(choice: WideChoice, log: Log) {
    this.#choice = choice;
    this.#log = log;
    this.#discardsTold = wideDiscards();
  }

  /** Chooses, and says in the log why where it is not what was hoped for. */
  static async open(
    { mode }: { readonly mode: WideMode },
    { tasks, log }: { readonly tasks: ProcessTasks; readonly log: Log },
  ): Promise<KernelForm> {
    const choice = await (mode === "off" ? choose(mode, tasks) : (chosen ??= choose(mode, tasks)));
    useWideForms(choice.forms);
    setEnvironmentData(WIDE_FORMS_KEY, choice.forms);
    const form = new KernelForm(choice, log);
    const { reason: state } = choice;
    if (choice.forms !== undefined) log.info("the kernels run on four lanes", { state });
    else if (mode === "off" || (mode === "auto" && !isTriedLine(process.versions.node)))
      log.debug("the kernels run on two lanes", () => ({ state }));
    else log.warn("the kernels run on two lanes", { state });
    return form;
  }

  /** Returns what runs now. */
  get status(): KernelFormStatus {
    const { forms, reason, findings } = this.#choice;
    const speedups = Object.fromEntries(
      findings.flatMap(({ kernel, speedup }) =>
        speedup === undefined ? [] : [[kernel, Math.floor(100 * speedup) / 100]],
      ),
    );
    if (forms === undefined) return { form: "two_lanes", reason, speedups };
    if (wideDiscards() > 0)
      return { form: "two_lanes", reason: "a proof or a verification on four lanes was wrong", speedups };
    return { form: "four_lanes", reason, speedups };
  }

  /** How often the form was discarded because a result was wrong: 0 or 1. */
  get discards(): number {
    return this.#choice.forms === undefined ? 0 : wideDiscards();
  }

  /** Says once that a result was wrong, after it; its thread has computed it again by then. */
  tellDiscards(): void {
    if (this.discards <= this.#discardsTold) return;
    this.#discardsTold = this.discards;
    this.#log.error(
      "a proof or a verification on four lanes was wrong and was computed again on two, on which all run from now on: report it with the versions of Node and the CPU, and set PROOFWRIGHT_WIDE=off until it is solved",
    );
  }
}

async function hasFlag(): Promise<boolean> {
  const { stdout } = await run(process.execPath, ["--v8-options"], { maxBuffer: OPTIONS_BYTES_MAX });
  return stdout.includes(`--${WIDE_FLAG}`);
}

async function choose(mode: WideMode, tasks: ProcessTasks): Promise<WideChoice> {
  return await chooseWideForm({
    mode,
    version: process.versions.node,
    random: (limit) => randomNonZero(limit + 1n) - 1n,
    now: () => performance.now(),
    tryInChild: async () => {
      // V8 would complain on standard error about a flag that it does not have.
      if (!(await hasFlag())) return "its V8 has no option that pairs instructions";
      const task = { entry: workerPath("wide-trial.process"), request: {}, limits: TRIAL_LIMITS };
      const result = await tasks.run<object, TrialAnswer>(task);
      return result.ok ? result.value.failure : result.message;
    },
  });
}
