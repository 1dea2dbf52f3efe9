/** The result of an analysis: a verdict, the signals that it is about, and two witnesses where there are two. */

export const VERDICTS = ["determined", "determined_except", "not_proven", "under_determined"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Why a verdict is `not_proven`. */
export const NOT_PROVEN_REASONS = ["rules", "size", "time", "memory", "compiler", "fault"] as const;
export type NotProvenReason = (typeof NOT_PROVEN_REASONS)[number];

export interface ReportedSignal {
  /** Full path, such as `main.a.b[3]`. */
  readonly name: string;
  readonly role: "output" | "internal";
  readonly state: "open" | "conditional";
  readonly template?: string;
  readonly file?: string;
  readonly line?: number;
}

export interface ReportedCondition {
  /** Such as `main.a.x - main.b.x`. */
  readonly denominator: string;
  /** The signal that is not fixed where the denominator is zero. */
  readonly signal: ReportedSignal;
}

/** Two witnesses of the same inputs; both satisfy every constraint. */
export interface WitnessPair {
  readonly differs: "output" | "internal";
  /** Decimal values by path. */
  readonly inputs: Readonly<Record<string, string>>;
  readonly signals: readonly (Omit<ReportedSignal, "state"> & { readonly values: readonly [string, string] })[];
  /** How many signals differ; `signals` lists the first of them. */
  readonly signalCount: number;
}

export interface AnalysisReport {
  readonly verdict: Verdict;
  /** Null unless the verdict is `not_proven`. */
  readonly reason: NotProvenReason | null;
  /** What was analysed: the circuit compiled at this level, which differs from that of the proofs. */
  readonly system: { readonly optimization: number; readonly constraints: number; readonly wires: number } | null;
  /** Signals by what is known of them. */
  readonly counts: {
    readonly inputs: number;
    readonly determined: number;
    readonly conditional: number;
    readonly open: number;
    /** Free in places where no constraint looks at them, such as the inverse in a zero test. */
    readonly without_effect: number;
  } | null;
  readonly signals: readonly ReportedSignal[];
  readonly conditions: readonly ReportedCondition[];
  readonly condition_count: number;
  /** Witnesses from which a second one was searched. */
  readonly samples: number;
  readonly pair: WitnessPair | null;
}

/** A report with the two witnesses in full: one 32-byte little-endian element a wire. */
export interface Analysis {
  readonly report: AnalysisReport;
  readonly witnesses?: readonly [Uint8Array, Uint8Array];
}

/** Returns the report of an analysis that did not come to a result. */
export function unfinished(reason: NotProvenReason): AnalysisReport {
  return {
    verdict: "not_proven",
    reason,
    system: null,
    counts: null,
    signals: [],
    conditions: [],
    condition_count: 0,
    samples: 0,
    pair: null,
  };
}
