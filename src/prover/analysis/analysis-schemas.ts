/** Shapes of analyses on the wire. */
import Type, { type Static } from "typebox";
import { NOT_PROVEN_REASONS, VERDICTS } from "../../engine/analysis/analysis-report.js";
import { Timestamp, Uuid, nullable } from "../../platform/contract/schemas.js";

const Verdict = Type.Enum([...VERDICTS], {
  description:
    "determined: the inputs fix every signal, proved; determined_except: all but where one of `conditions` is zero; not_proven: neither proved nor disproved; under_determined: two witnesses of the same inputs differ in an output",
});
const Reason = Type.Enum([...NOT_PROVEN_REASONS], {
  description:
    "why nothing is proved: rules (no rule covers what is left), size, time or memory (a limit was reached), compiler (the circuit does not compile without optimization), fault (of the server)",
});

const RESULT = {
  verdict: nullable(Verdict),
  reason: nullable(Reason),
  analyzed_at: nullable(Timestamp),
};
/** What a prover's record says of its analysis. */
export const ProverAnalysis = Type.Object(
  { state: Type.Union([Type.Literal("pending"), Type.Literal("finished")]), ...RESULT },
  { description: "whether the inputs fix every signal of the circuit; more at /provers/:id/analysis" },
);
export type ProverAnalysis = Static<typeof ProverAnalysis>;

const Count = Type.Integer({ minimum: 0 });
const PLACE = {
  name: Type.String({ description: "full path, such as main.a.b[3]" }),
  role: Type.Union([Type.Literal("output"), Type.Literal("internal")]),
  template: Type.Optional(Type.String()),
  file: Type.Optional(Type.String()),
  line: Type.Optional(Type.Integer({ minimum: 1, description: "of the statement that sets the signal; 1-based" })),
};
const AnalyzedSignal = Type.Object(
  { ...PLACE, state: Type.Union([Type.Literal("open"), Type.Literal("conditional")]) },
  { description: "a signal that is not proved to be fixed; template, file and line are absent where not known" },
);
const DifferingSignal = Type.Object({
  ...PLACE,
  values: Type.Array(Type.String(), {
    minItems: 2,
    maxItems: 2,
    description: "decimal, of the first and second witness",
  }),
});

const System = Type.Object(
  { optimization: Count, constraints: Count, wires: Count },
  { description: "what was analysed: the circuit compiled at this level, not the system that is proved" },
);
const Counts = Type.Object({
  inputs: Count,
  determined: Count,
  conditional: Count,
  open: Count,
  without_effect: Type.Integer({
    minimum: 0,
    description: "free where no constraint looks at them, such as the inverse in a zero test",
  }),
});
const Condition = Type.Object({
  denominator: Type.String({ description: "such as main.a.x - main.b.x" }),
  signal: Type.Object(AnalyzedSignal.properties, { description: "not fixed where the denominator is zero" }),
});
const Pair = Type.Object(
  {
    differs: Type.Union([Type.Literal("output"), Type.Literal("internal")]),
    inputs: Type.Record(Type.String(), Type.String(), { description: "made up by the server; decimal" }),
    signals: Type.Array(DifferingSignal),
    signal_count: Count,
  },
  {
    description:
      "two witnesses of the same inputs that both satisfy every constraint; in full as the artifacts witness_1.wtns and witness_2.wtns, with analysis.r1cs and analysis.sym",
  },
);

export const CircuitAnalysis = Type.Object(
  {
    id: Type.String({ ...Uuid, description: "the prover" }),
    state: Type.Union([Type.Literal("none"), Type.Literal("pending"), Type.Literal("finished")], {
      description:
        "none: the prover is not provisioned yet, its circuit was made elsewhere, or the server analyses no circuits",
    }),
    ...RESULT,
    system: nullable(System),
    counts: nullable(Counts),
    signals: Type.Array(AnalyzedSignal, { description: "outputs first; at most 84" }),
    conditions: Type.Array(Condition, { description: "at most 20" }),
    condition_count: Count,
    samples: Type.Integer({ minimum: 0, description: "witnesses from which a second one was searched" }),
    pair: nullable(Pair),
  },
  { description: "the analysis of a prover's circuit" },
);
export type CircuitAnalysis = Static<typeof CircuitAnalysis>;
