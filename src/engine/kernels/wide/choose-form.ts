/** Decides whether this process takes the four-lane forms of kernels, and says why. */
import { BLS12_381 } from "../../curves/bls12-381.js";
import { BN254 } from "../../curves/bn254.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { hasFusedMultiplyAdd } from "../wasm/features.js";
import type { RandomBelow } from "./trial-memory.js";
import { tryWideForms } from "./try-form.js";
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

/** What runs the kernels. */
export interface FormHost {
  /** Of Node, as `process.versions.node`. */
  readonly version: string;
  /** Of the CPU, as `process.arch`. */
  readonly arch: string;
}

interface ChooseOptions {
  readonly mode: WideMode;
  readonly host: FormHost;
  /** Curves whose pairing is tried; the usual ones unless given. */
  readonly pairings?: readonly CurveParameters[] | undefined;
  readonly random: RandomBelow;
  /** Milliseconds, such as `performance.now`. */
  readonly now: () => number;
  /** Does the same in a child process; resolves to why that failed, or to undefined. */
  readonly tryInChild: () => Promise<string | undefined>;
  /** For tests. */
  readonly tryHere?: () => readonly FormFinding[];
}

/** Curves whose kernels have a four-lane form. */
export const WIDE_CURVES = [BN254, BLS12_381] as const;

/** Lines of Node whose V8 pairs the kernels, and the versions of them on which that was seen to be right. */
const TRIED_LINES: ReadonlyMap<number, readonly string[]> = new Map([
  [24, ["24.21.0"]],
  [26, ["26.10.0"]],
]);

/** V8 pairs instructions nowhere else. */
const PAIRING_ARCH = "x64";

/** Whether `auto` takes the form on such a host, where the CPU allows it. */
export function isTriedHost({ version, arch }: FormHost): boolean {
  return arch === PAIRING_ARCH && TRIED_LINES.has(lineOf(version));
}

/**
 * Chooses the form of this process. Takes about a second on the calling thread where the form is tried; no other
 * WebAssembly may run in the process meanwhile (try-form.ts).
 */
export async function chooseWideForm(options: ChooseOptions): Promise<WideChoice> {
  const { mode, host, tryInChild } = options;
  const { version, arch } = host;
  if (mode === "off") return twoLanes("four lanes are switched off");
  if (mode === "auto" && arch !== PAIRING_ARCH) return twoLanes(`V8 has four lanes on ${PAIRING_ARCH} alone`);
  if (!hasFusedMultiplyAdd()) return twoLanes("this CPU or this Node has no fused multiply-add for WebAssembly");
  const tried = TRIED_LINES.get(lineOf(version));
  if (mode === "auto" && !isTriedHost(host))
    return twoLanes(`four lanes were not tried with Node ${String(lineOf(version))}`);
  // The wrong version of V8 ends the process that tries.
  if (tried?.includes(version) !== true) {
    const failure = await tryInChild();
    if (failure !== undefined) return twoLanes(`a trial of four lanes with Node ${version} failed: ${failure}`);
  }
  return chosenOf((options.tryHere ?? (() => tryWideForms({ curves: WIDE_CURVES, ...options })))());
}

/**
 * What the findings of all modules decide: one wrong answer, and nothing of that compiler's is trusted; a slow kernel
 * stays on two lanes alone.
 */
export function chosenOf(found: readonly FormFinding[]): WideChoice {
  const findings = found.flatMap((each) => each.findings);
  const wrong = findings.filter(({ isRight }) => !isRight).map(({ curve, kernel }) => `${kernel} of ${curve}`);
  if (wrong.length > 0)
    return { ...twoLanes(`this Node computed wrong answers on four lanes (${wrong.join(", ")})`), findings };
  const forms = found.map(({ form }) => form).filter(({ kernels }) => kernels.length > 0);
  if (forms.length === 0) return { ...twoLanes("four lanes are not faster on this CPU"), findings };
  const faster = found.map(
    ({ form: { curve, kind, kernels }, findings: { length } }) =>
      `${String(kernels.length)} of ${String(length)} kernels of ${curve}${kind === "pairing" ? "'s pairing" : ""}`,
  );
  const reason = `four lanes answered right and are faster in ${faster.join(", ")}`;
  return { forms: newWideForms(forms), reason, findings };
}

function twoLanes(reason: string): WideChoice {
  return { forms: undefined, reason, findings: [] };
}

function lineOf(version: string): number {
  return Number.parseInt(version, 10);
}
