/** Decides whether this process takes the four-lane form of kernels, and says why. */
import { BN254 } from "../../curves/bn254.js";
import { hasFusedMultiplyAdd } from "../wasm/features.js";
import type { RandomBelow } from "./trial-memory.js";
import { tryWideForm } from "./try-form.js";
import type { FormFinding, KernelFinding } from "./try-form.js";
import { newWideForms } from "./wide-form.js";
import type { WideForms } from "./wide-form.js";

/** `auto` takes the form on lines of Node that were tried with it, `on` on any, `off` on none. */
export type WideMode = "auto" | "on" | "off";

export interface WideChoice {
  /** Undefined: everything on two lanes. */
  readonly forms: WideForms | undefined;
  /** A clause that says why it is so. */
  readonly reason: string;
  /** Empty where nothing was tried. */
  readonly findings: readonly KernelFinding[];
}

/** What a trial in a child process answers: why the form cannot be used there; undefined where it can. */
export interface TrialAnswer {
  readonly failure: string | undefined;
}

interface ChooseOptions {
  readonly mode: WideMode;
  /** Of Node, as `process.versions.node`. */
  readonly version: string;
  readonly random: RandomBelow;
  /** Milliseconds, such as `performance.now`. */
  readonly now: () => number;
  /** Does the same in a child process; resolves to why that failed, or to undefined. */
  readonly tryInChild: () => Promise<string | undefined>;
  /** For tests. */
  readonly tryHere?: () => FormFinding;
}

/** Lines of Node whose V8 pairs the kernels, and the versions of them on which that was seen to be right. */
const TRIED_LINES: ReadonlyMap<number, readonly string[]> = new Map([
  [24, ["24.21.0"]],
  [26, ["26.10.0"]],
]);

/** Whether `auto` takes the form on this version of Node, where the CPU allows it. */
export function isTriedLine(version: string): boolean {
  return TRIED_LINES.has(lineOf(version));
}

/**
 * Chooses the form of this process. Takes some 0.4 s on the calling thread where the form is tried; no other
 * WebAssembly may run in the process meanwhile (try-form.ts).
 */
export async function chooseWideForm(options: ChooseOptions): Promise<WideChoice> {
  const { mode, version, tryInChild } = options;
  if (mode === "off") return twoLanes("four lanes are switched off");
  if (!hasFusedMultiplyAdd()) return twoLanes("this CPU or this Node has no fused multiply-add for WebAssembly");
  const tried = TRIED_LINES.get(lineOf(version));
  if (mode === "auto" && tried === undefined)
    return twoLanes(`four lanes were not tried with Node ${String(lineOf(version))}`);
  // The wrong version of V8 ends the process that tries.
  if (tried?.includes(version) !== true) {
    const failure = await tryInChild();
    if (failure !== undefined) return twoLanes(`a trial of four lanes with Node ${version} failed: ${failure}`);
  }
  return chosenOf((options.tryHere ?? (() => tryWideForm({ curve: BN254, ...options })))());
}

/** What a finding decides: one wrong answer, and nothing of that compiler's is trusted. */
export function chosenOf({ forms, findings }: FormFinding): WideChoice {
  const wrong = findings.filter(({ isRight }) => !isRight).map(({ kernel }) => kernel);
  if (wrong.length > 0)
    return { ...twoLanes(`this Node computed wrong answers on four lanes (${wrong.join(", ")})`), findings };
  if (forms.every(({ kernels }) => kernels.length === 0))
    return { ...twoLanes("four lanes are not faster on this CPU"), findings };
  return { forms: newWideForms(forms), reason: "four lanes answered right and are faster", findings };
}

function twoLanes(reason: string): WideChoice {
  return { forms: undefined, reason, findings: [] };
}

function lineOf(version: string): number {
  return Number.parseInt(version, 10);
}
