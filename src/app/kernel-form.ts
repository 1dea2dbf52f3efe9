/**
 * The form of the kernels that prove and verify in this process, four lanes or two: chosen once, before any thread is
 * started that runs kernels, and given to the threads that are started afterwards.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { setEnvironmentData } from "node:worker_threads";
import type { CurveParameters } from "../engine/curves/curve-parameters.js";
import { randomNonZero } from "../engine/field/bytes.js";
import { chooseWideForm, isTriedHost } from "../engine/kernels/wide/choose-form.js";
import type { TrialAnswer, WideChoice, WideMode } from "../engine/kernels/wide/choose-form.js";
import { WIDE_FLAG } from "../engine/kernels/wide/try-form.js";
import type { KernelFinding } from "../engine/kernels/wide/try-form.js";
import { WIDE_FORMS_KEY, useWideForms, wideDiscards } from "../engine/kernels/wide/wide-form.js";
import type { WideForms } from "../engine/kernels/wide/wide-form.js";
import { workerPath } from "../platform/files/package-root.js";
import type { Log } from "../platform/log.js";
import type { ProcessTaskLimits, ProcessTasks } from "../platform/pool/process-task.js";

/** What runs, for administrators. */
export interface KernelFormStatus {
  readonly form: "four_lanes" | "two_lanes";
  /** A clause. */
  readonly reason: string;
  /** The kernels that run on four lanes, by curve. */
  readonly four_lanes: Readonly<Record<string, string[]>>;
  /** How many times as fast each kernel is on four lanes, of those that were tried and right, by curve. */
  readonly speedups: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const run = promisify(execFile);
const HOST = { version: process.versions.node, arch: process.arch };
const MIB = 1024 ** 2;
/** Text of all options of V8: 120 KB in Node 26. */
const OPTIONS_BYTES_MAX = 4 * MIB;
/** It takes one or two seconds; a machine under load, ten. */
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

interface FormWanted {
  readonly mode: WideMode;
  /** Curves whose pairing is tried; the usual ones unless given. */
  readonly pairings?: readonly CurveParameters[] | undefined;
}

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
    { mode, pairings }: FormWanted,
    { tasks, log }: { readonly tasks: ProcessTasks; readonly log: Log },
  ): Promise<KernelForm> {
    const choice = await (mode === "off" ? choose({ mode }, tasks) : (chosen ??= choose({ mode, pairings }, tasks)));
    useWideForms(choice.forms);
    setEnvironmentData(WIDE_FORMS_KEY, choice.forms);
    const form = new KernelForm(choice, log);
    const { reason: state } = choice;
    if (choice.forms !== undefined) log.info("the kernels run on four lanes", { state });
    else if (mode === "off" || (mode === "auto" && !isTriedHost(HOST)))
      log.debug("the kernels run on two lanes", () => ({ state }));
    else log.warn("the kernels run on two lanes", { state });
    return form;
  }

  /** Returns what runs now. */
  get status(): KernelFormStatus {
    const { forms, reason, findings } = this.#choice;
    const speedups = speedupsOf(findings);
    if (forms === undefined) return { form: "two_lanes", reason, four_lanes: {}, speedups };
    if (wideDiscards() > 0)
      return {
        form: "two_lanes",
        reason: "a proof, a key or a verification on four lanes was wrong",
        four_lanes: {},
        speedups,
      };
    return { form: "four_lanes", reason, four_lanes: fourLanesOf(forms), speedups };
  }

  /** How often the form was discarded because a result was wrong: 0 or 1. */
  get discards(): number {
    return this.#choice.forms === undefined ? 0 : wideDiscards();
  }

  /** Says once that a result was wrong, after it; it has been computed again by then. */
  tellDiscards(): void {
    if (this.discards <= this.#discardsTold) return;
    this.#discardsTold = this.discards;
    this.#log.error(
      "a proof, a key or a verification on four lanes was wrong and was computed again on two, on which all run from now on: report it with the versions of Node and the CPU, and set PROOFWRIGHT_WIDE=off until it is solved",
    );
  }
}

function fourLanesOf({ forms }: WideForms): KernelFormStatus["four_lanes"] {
  const kernelsOf: Record<string, string[]> = {};
  for (const { curve, kernels } of forms) (kernelsOf[curve] ??= []).push(...kernels);
  return kernelsOf;
}

function speedupsOf(findings: readonly KernelFinding[]): KernelFormStatus["speedups"] {
  const speedups: Record<string, Record<string, number>> = {};
  for (const { curve, kernel, speedup } of findings) {
    if (speedup === undefined) continue;
    (speedups[curve] ??= {})[kernel] = Math.floor(100 * speedup) / 100;
  }
  return speedups;
}

async function hasFlag(): Promise<boolean> {
  const { stdout } = await run(process.execPath, ["--v8-options"], { maxBuffer: OPTIONS_BYTES_MAX });
  return stdout.includes(`--${WIDE_FLAG}`);
}

async function choose({ mode, pairings }: FormWanted, tasks: ProcessTasks): Promise<WideChoice> {
  return await chooseWideForm({
    mode,
    pairings,
    host: HOST,
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
