/**
 * Analyses the circuits of provers as durable jobs of their own, so that no prover waits for its analysis, and none is
 * lost. A strict prover is the exception: its provisioning begins when its analysis has accused no output.
 */
import type { AnalysisReport } from "../../engine/analysis/analysis-report.js";
import { unfinished } from "../../engine/analysis/analysis-report.js";
import { wtnsFile } from "../../engine/analysis/wtns.js";
import { scalarFieldOf, type CircuitInterface } from "../../engine/circuit/interface.js";
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Events } from "../../platform/events/events.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import type { AnalysisOutcome, CircuitAnalyzer } from "../compute/analysis-task.js";
import { analysisFinished } from "../prover-events.js";
import { proofSystemRow } from "../providers/circom-systems.js";
import type { SourceFiles } from "../provisioning/source-files.js";
import type { BuiltInCircuits, CircuitSource } from "../provisioning/sources.js";
import {
  scopeOf,
  type AnalysisArtifactName,
  type AnalysisResult,
  type ProverRepository,
  type StoredProver,
} from "../repository.js";
import type { CircuitAnalysis } from "./analysis-schemas.js";

/** Where a strict prover goes after its analysis. */
export interface StrictEnd {
  /** Prepares the job that provisions the prover. */
  readonly provision: (owner: Subject, proverId: string) => StoreCommit;
  /** Prepares the failure of the prover. */
  readonly fail: (
    owner: Subject,
    proverId: string,
    reason: { readonly code: string; readonly message: string },
  ) => StoreCommit | undefined;
}

export interface AnalysesDependencies {
  readonly repository: ProverRepository;
  readonly artifacts: Artifacts;
  /** Holds the files of an analysis until the records name them. */
  readonly files: Pick<SourceFiles, "holdAll" | "keepAll">;
  readonly analyzer: CircuitAnalyzer;
  readonly builtIns: BuiltInCircuits;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
  readonly strict: StrictEnd;
  /** The name under which a subject's work waits for its turn. */
  readonly turnOf: (subject: Subject) => string;
}

interface AnalysisSubject {
  readonly owner: Subject;
  readonly proverId: string;
}

/** Reasons that another prover of the same circuit need not meet. */
const PASSING_REASONS: ReadonlySet<AnalysisReport["reason"]> = new Set(["time", "memory", "fault"]);

const NONE: Pick<CircuitAnalysis, "state" | "verdict" | "reason" | "analyzed_at"> & Pick<AnalysisResult, "artifacts"> =
  {
    state: "none",
    verdict: null,
    reason: null,
    analyzed_at: null,
    artifacts: {},
  };

export class Analyses {
  readonly #with: AnalysesDependencies;

  constructor(dependencies: AnalysesDependencies) {
    this.#with = dependencies;
  }

  /**
   * Runs the analysis of a prover and commits its result. Does nothing when the prover was deleted.
   * @param commit writes the result under the lease of the job
   */
  async run(
    { owner, proverId }: AnalysisSubject,
    lease: { readonly signal: AbortSignal; readonly commit: (commit: StoreCommit) => Promise<void> },
  ): Promise<void> {
    const prover = this.#with.repository.find(owner, proverId)?.value;
    if (prover === undefined || this.#isFinished(owner, proverId)) return;
    const scope = scopeOf(prover);
    const hash = prover.build.circuit_hash;
    const known = this.#with.repository.findCircuitAnalysis(scope, hash);
    const finish = async (result: AnalysisResult, shared: StoreCommit): Promise<void> => {
      const end = this.#finish(owner, proverId, result);
      if (end !== undefined) await lease.commit(mergeCommits(end, shared));
    };
    if (known !== undefined && (await this.#with.files.keepAll(Object.values(known.artifacts)))) {
      await finish(known, {});
      return;
    }
    const { curve } = proofSystemRow(prover);
    await this.#hold(await this.#analyze(prover, lease.signal), curve, async (result) => {
      const isShared = !PASSING_REASONS.has(result.reason);
      await finish(result, isShared ? this.#with.repository.putCircuitAnalysis(scope, hash, result) : {});
    });
  }

  /** Prepares the commit for when the queue gives up: nothing is proved. */
  failure({ owner, proverId }: AnalysisSubject): StoreCommit | undefined {
    const { verdict, reason } = unfinished("fault");
    return this.#finish(owner, proverId, { verdict, reason, artifacts: {} });
  }

  #isFinished(owner: Subject, proverId: string): boolean {
    return this.#with.repository.findAnalysis(owner, proverId)?.value.state !== "pending";
  }

  /** Undefined when there is nothing to finish. */
  #finish(owner: Subject, proverId: string, result: AnalysisResult): StoreCommit | undefined {
    const { repository, events, clock } = this.#with;
    const record = repository.findAnalysis(owner, proverId);
    const prover = repository.find(owner, proverId)?.value;
    if (record?.value.state !== "pending" || prover === undefined) return undefined;
    const finished = {
      ...record.value,
      ...result,
      state: "finished" as const,
      analyzed_at: isoTimestamp(clock.nowMs()),
    };
    return mergeCommits(
      repository.updateAnalysis(record, finished),
      events.commitOf(analysisFinished(owner, proverId, result.verdict)),
      prover.build.is_strict === true ? this.#afterStrict(owner, proverId, result) : {},
    );
  }

  #afterStrict(owner: Subject, proverId: string, { verdict }: AnalysisResult): StoreCommit {
    const { strict } = this.#with;
    if (verdict !== "under_determined") return strict.provision(owner, proverId);
    const message =
      "an output of the circuit is not fixed by its inputs: two witnesses of the same inputs are in the prover's analysis";
    return strict.fail(owner, proverId, { code: "circuit_under_determined", message }) ?? {};
  }

  async #analyze(prover: StoredProver, signal: AbortSignal): Promise<AnalysisOutcome> {
    const { artifacts, analyzer, builtIns } = this.#with;
    const stored = prover.build.artifacts["source.json"];
    const { curve } = proofSystemRow(prover);
    if (stored === undefined) return { report: unfinished("compiler") };
    const text = await artifacts.read(stored.sha256);
    const circuit = await this.#interface(prover);
    const example = prover.build.is_built_in ? builtIns.find(prover.identifier)?.satisfyingInputs : undefined;
    return await analyzer.analyze(
      {
        source: JSON.parse(text.toString("utf8")) as CircuitSource,
        curve,
        owner: this.#with.turnOf(prover.build.owner),
        ...(circuit === undefined ? {} : { constraintCount: circuit.constraintCount }),
        ...(example === undefined ? {} : { example }),
      },
      signal,
    );
  }

  /** Undefined while the circuit is not compiled. */
  async #interface(prover: StoredProver): Promise<CircuitInterface | undefined> {
    const stored = prover.build.artifacts["interface.json"];
    if (stored === undefined) return undefined;
    return JSON.parse((await this.#with.artifacts.read(stored.sha256)).toString("utf8")) as CircuitInterface;
  }

  /** Stores the files of an analysis and keeps them until `use` has ended. */
  async #hold(
    { report, witnesses, files }: AnalysisOutcome,
    curve: CurveName,
    use: (result: AnalysisResult) => Promise<void>,
  ): Promise<void> {
    const { verdict, reason } = report;
    const prime = scalarFieldOf(curve);
    const pair =
      witnesses === undefined || files === undefined
        ? {}
        : {
            "witness_1.wtns": wtnsFile(witnesses[0], prime),
            "witness_2.wtns": wtnsFile(witnesses[1], prime),
            "analysis.r1cs": files.r1cs,
            "analysis.sym": files.sym,
          };
    const made: { readonly [Name in AnalysisArtifactName]?: Uint8Array } = {
      "analysis.json": Buffer.from(JSON.stringify(report)),
      ...pair,
    };
    await this.#with.files.holdAll(made, async (artifacts) => {
      await use({ verdict, reason, artifacts });
    });
  }
}

/** Reads the analysis of a prover in full; its state is `none` when there is none. */
export async function readAnalysis(
  { owner, proverId }: AnalysisSubject,
  { repository, artifacts }: Pick<AnalysesDependencies, "repository" | "artifacts">,
): Promise<CircuitAnalysis> {
  const found = repository.findAnalysis(owner, proverId)?.value;
  const { state, verdict, reason, analyzed_at, artifacts: files } = found ?? NONE;
  const stored = files["analysis.json"];
  const report =
    stored === undefined
      ? unfinished(reason ?? "fault")
      : (JSON.parse((await artifacts.read(stored.sha256)).toString("utf8")) as AnalysisReport);
  const { system, counts, signals, conditions, condition_count, samples, pair } = report;
  return {
    id: proverId,
    ...{ state, verdict, reason, analyzed_at },
    ...{ system, counts, signals: [...signals], conditions: [...conditions], condition_count, samples },
    pair:
      pair === null
        ? null
        : {
            ...{ differs: pair.differs, inputs: { ...pair.inputs }, signal_count: pair.signalCount },
            signals: pair.signals.map((signal) => ({ ...signal, values: [...signal.values] })),
          },
  };
}
