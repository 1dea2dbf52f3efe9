/**
 * Looks for signals that the inputs of a circuit do not fix: an under-determined output lets a prover claim what it
 * likes. Propagation proves signals fixed; what is left is searched for a second witness of the same inputs, which is a
 * proof of the fault. Neither may be found: then nothing is claimed.
 *
 * Works on a constraint system that the compiler has not simplified (--O0, or --O1 for large circuits): the one that is
 * proved has lost private inputs and with them what fixes the rest.
 */
import { scalarFieldOf, type CircuitInterface } from "../circuit/interface.js";
import { readR1cs } from "../circuit/r1cs.js";
import { writeBigIntLE } from "../field/bytes.js";
import type { Analysis, AnalysisReport, NotProvenReason, Verdict } from "./analysis-report.js";
import type { BelowPrime } from "./bound-rules.js";
import { ComponentSources, type SourceFile } from "./component-sources.js";
import {
  evaluate,
  rowsOf,
  rowsWith,
  systemOf,
  SIDE_A,
  SIDE_B,
  type ConstraintSystem,
  type Row,
} from "./constraint-system.js";
import type { Guard } from "./factor-rules.js";
import { solveFromNothing, type SolveOptions } from "./guarded-witness.js";
import { locallyFree } from "./jacobian.js";
import { CONDITIONAL, OPEN, UNIQUE, type Knowledge } from "./knowledge.js";
import { numbersBelowPrime } from "./library-contracts.js";
import { propagate, type Propagated } from "./propagation.js";
import { ReportWriter } from "./report-writer.js";
import { sampleWitnesses } from "./sample-witnesses.js";
import { findSecondWitness, type SecondWitness } from "./second-witness.js";
import { readSignalTable, type SignalTable } from "./signal-table.js";

export interface AnalysisInput {
  readonly r1cs: Uint8Array;
  readonly sym: Uint8Array;
  /** The witness program of the same compilation. */
  readonly program: Uint8Array;
  readonly circuit: CircuitInterface;
  readonly optimization: 0 | 1;
  /** What the compiler has read. */
  readonly sources: readonly SourceFile[];
  /** The shipped library, by its paths in `sources`; contracts hold for these very texts. */
  readonly library: ReadonlyMap<string, string>;
  /** Inputs known to satisfy the circuit, which may be shown. */
  readonly example?: unknown;
}

export interface AnalysisBudget {
  /** Grows with the work; processor time, so that a busy server changes no verdict. */
  readonly elapsedMs: () => number;
  readonly propagationMs: number;
  readonly samplesMs: number;
  readonly searchMs: number;
  readonly guardsMs: number;
}

export const DEFAULT_BUDGET: Omit<AnalysisBudget, "elapsedMs"> = {
  propagationMs: 30_000,
  samplesMs: 10_000,
  searchMs: 10_000,
  guardsMs: 5_000,
};

/** Constraints of a system that is analysed: propagation of 125,000 took 9 s and 0.8 GB. */
export const ANALYSIS_CONSTRAINTS_MAX = 200_000;
const SAMPLES_MAX = 8;
const GUARDS_MAX = 60;

/** What one analysis has found so far. */
interface Findings {
  readonly system: ConstraintSystem;
  readonly rows: readonly Row[];
  readonly table: SignalTable;
  readonly propagated: Propagated;
  /** Wires whose freedom no other constraint sees. */
  readonly inert: ReadonlySet<number>;
}

interface Pair {
  readonly first: readonly bigint[];
  readonly second: readonly bigint[];
  readonly differsInOutput: boolean;
}

/**
 * Analyses one circuit. Cost: 1 s for 20,000 constraints that are proved determined; the budget otherwise.
 * @throws R1csFormatError, SignalTableError when the files are not a circuit's
 */
export async function analyzeCircuit(input: AnalysisInput, budget: AnalysisBudget): Promise<Analysis> {
  const r1cs = readR1cs(input.r1cs);
  const table = readSignalTable(r1cs, input.sym);
  const places = new ComponentSources(input.sources);
  const rows = rowsOf(r1cs);
  const system = systemOf(rows, r1cs.wireCount, r1cs.prime);
  const belowPrime: BelowPrime =
    r1cs.prime === scalarFieldOf("BN254") ? numbersBelowPrime(table, places, input.library) : [];
  const isOver = deadline(budget.elapsedMs, budget.propagationMs);
  const propagated = propagate(system, { inputs: table.inputs, belowPrime, isOver });
  const inert = inertWires(system, propagated, new Set(table.outputs));
  const findings: Findings = { system, rows, table, propagated, inert };
  const writer = new ReportWriter({ table, places, prime: r1cs.prime, inert, propagated });
  const common = {
    system: { optimization: input.optimization, constraints: r1cs.constraintCount, wires: r1cs.wireCount },
    ...writer.states(),
  };
  if (openWires(findings).length === 0)
    return { report: { ...common, verdict: "determined", reason: null, samples: 0, pair: null } };
  const samples = await sampleWitnesses({
    program: input.program,
    circuit: input.circuit,
    rows,
    ...(input.example === undefined ? {} : { example: input.example }),
    samplesMax: SAMPLES_MAX,
    isOver: deadline(budget.elapsedMs, budget.samplesMs),
  });
  const pair = searchPair(findings, samples, budget);
  const report: AnalysisReport = {
    ...common,
    ...verdictOf(findings, pair),
    samples: samples.length,
    pair: pair === undefined ? null : writer.pair(pair),
  };
  return pair === undefined ? { report } : { report, witnesses: [bytesOf(pair.first), bytesOf(pair.second)] };
}

function verdictOf(
  { propagated, inert }: Findings,
  pair: Pair | undefined,
): { readonly verdict: Verdict; readonly reason: NotProvenReason | null } {
  if (pair?.differsInOutput === true) return { verdict: "under_determined", reason: null };
  const isOpen = propagated.knowledge.states.some((state, wire) => state === OPEN && !inert.has(wire));
  if (!isOpen && propagated.isComplete) return { verdict: "determined_except", reason: null };
  return { verdict: "not_proven", reason: propagated.isComplete ? "rules" : "time" };
}

function searchPair(
  findings: Findings,
  samples: readonly (readonly bigint[])[],
  budget: AnalysisBudget,
): Pair | undefined {
  const isSearchOver = deadline(budget.elapsedMs, budget.searchMs);
  const made =
    samples.length > 0 ? samples : [solveFromNothing(findings.system, undefined, solving(findings, isSearchOver))];
  let internal: Pair | undefined;
  for (const sample of made) {
    if (sample === undefined || isSearchOver() || isFixedAt(findings, sample)) continue;
    const found = searchFrom(findings, sample, { first: [], isOver: isSearchOver });
    if (found?.differsInOutput === true) return found;
    internal ??= found;
  }
  const isOver = deadline(budget.elapsedMs, budget.guardsMs);
  for (const guard of guardsOf(findings)) {
    if (isOver()) break;
    const solved = solveFromNothing(findings.system, guard, solving(findings, isOver));
    if (solved === undefined) continue;
    const found = searchFrom(findings, solved, { first: [guard.wire], isOver });
    if (found?.differsInOutput === true) return found;
    internal ??= found;
  }
  return internal;
}

function solving({ propagated, table, rows }: Findings, isOver: () => boolean): SolveOptions {
  const guarded = propagated.guards.map(({ wire }) => wire);
  return { knowledge: propagated.knowledge, inputs: table.inputs, guarded, rows, isOver };
}

/** Whether this witness is the only one of its inputs: all is fixed but for denominators, and none of them is zero. */
function isFixedAt({ system, propagated, inert }: Findings, sample: readonly bigint[]): boolean {
  const { knowledge, guards } = propagated;
  if (knowledge.states.some((state, wire) => state === OPEN && !inert.has(wire))) return false;
  return guards.every(({ wire, denominator }) => inert.has(wire) || evaluate(denominator, sample, system.prime) !== 0n);
}

function searchFrom(
  findings: Findings,
  sample: readonly bigint[],
  { first, isOver }: { readonly first: readonly number[]; readonly isOver: () => boolean },
): Pair | undefined {
  const { system, rows, table, propagated, inert } = findings;
  const outputs = new Set(table.outputs);
  const free = locallyFree(system, sample, openWires(findings)) ?? [];
  const found: SecondWitness | undefined = findSecondWitness(system, sample, {
    knowledge: propagated.knowledge,
    rows,
    isOutput: (wire) => outputs.has(wire),
    guarded: propagated.guards.map(({ wire }) => wire),
    first: [...first, ...free],
    isIgnored: (wire) => inert.has(wire),
    isOver,
  });
  return found === undefined
    ? undefined
    : { first: sample, second: found.values, differsInOutput: found.differsInOutput };
}

/** Guards whose wire has an effect, evenly chosen where there are many. */
function guardsOf({ propagated, inert }: Findings): Guard[] {
  const guards = propagated.guards.filter(({ wire }) => !inert.has(wire));
  const step = Math.max(1, guards.length / GUARDS_MAX);
  return guards.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

/** Wires that are not proved fixed, without those that have no effect. */
function openWires({ propagated, inert }: Pick<Findings, "propagated" | "inert">): number[] {
  const open: number[] = [];
  propagated.knowledge.states.forEach((state, wire) => {
    if (state !== UNIQUE && !inert.has(wire)) open.push(wire);
  });
  return open;
}

/**
 * Wires whose freedom no other constraint sees: in no constraint at all, or a factor of one beside a denominator and
 * nowhere else. Where the denominator is zero the constraint does not see them either.
 */
function inertWires(
  system: ConstraintSystem,
  { knowledge }: Propagated,
  outputs: ReadonlySet<number>,
): ReadonlySet<number> {
  const inert = new Set<number>();
  for (let wire = 1; wire < system.wireCount; wire += 1) {
    if (knowledge.states[wire] === UNIQUE || outputs.has(wire)) continue;
    if (isUnseen(system, knowledge, wire)) inert.add(wire);
  }
  return inert;
}

function isUnseen(system: ConstraintSystem, knowledge: Knowledge, wire: number): boolean {
  const holders = rowsWith(system, wire);
  if (holders.length === 0) return true;
  if (holders.length > 1 || knowledge.states[wire] !== CONDITIONAL) return false;
  const sides = system.sidesOfWire[system.columnOffsets[wire] ?? 0];
  return sides === SIDE_A || sides === SIDE_B;
}

function deadline(elapsedMs: () => number, allowedMs: number): () => boolean {
  const endMs = elapsedMs() + allowedMs;
  return () => elapsedMs() > endMs;
}

const FIELD_BYTES = 32;

function bytesOf(values: readonly bigint[]): Uint8Array {
  const bytes = new Uint8Array(values.length * FIELD_BYTES);
  values.forEach((value, wire) => {
    writeBigIntLE(value, bytes, wire * FIELD_BYTES);
  });
  return bytes;
}
