/** The jobs of analyses on a real store and real jobs, with an analyzer that says what the test wants. */
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { unfinished, type AnalysisReport } from "../../../src/engine/analysis/analysis-report.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import type { AnalysisInput, AnalysisOutcome, CircuitAnalyzer } from "../../../src/prover/compute/analysis-task.js";
import { untilAborted } from "../../support/aborted.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { subject } from "../../vault/support.js";
import {
  CUBIC,
  eventually,
  failureOf,
  never,
  openTestRegistry,
  provision,
  register,
  type TestRegistry,
} from "../../prover/support.js";

const PROVED: AnalysisReport = { ...unfinished("rules"), verdict: "determined", reason: null };
const ACCUSED: AnalysisReport = {
  ...PROVED,
  verdict: "under_determined",
  pair: {
    differs: "output",
    inputs: { "main.a": "0" },
    signals: [{ name: "main.c", role: "output", template: "T", file: "main.circom", line: 1, values: ["0", "1"] }],
    signalCount: 1,
  },
};
const BYTES = new Uint8Array(64);

/** Answers with what is set, or waits until it may. */
class ScriptedAnalyzer implements CircuitAnalyzer {
  outcome: AnalysisOutcome | Error = { report: PROVED };
  gate: Promise<void> = Promise.resolve();
  readonly inputs: AnalysisInput[] = [];

  async analyze(input: AnalysisInput, signal: AbortSignal): Promise<AnalysisOutcome> {
    this.inputs.push(input);
    await Promise.race([this.gate, untilAborted(signal)]);
    if (this.outcome instanceof Error) throw this.outcome;
    return this.outcome;
  }
}

let test: TestRegistry;
const analyzer = new ScriptedAnalyzer();
let sources = 0;
/** A circuit that no other test has. */
function fresh(): { readonly source: string } {
  sources += 1;
  return {
    source: `pragma circom 2.1.0; template T() { signal input a; signal output c; c <== a * a + ${String(sources)}; } component main = T();`,
  };
}

beforeAll(async () => {
  test = await openTestRegistry({ analyzer });
});
afterAll(async () => {
  await test.close({ keep: true });
  removeFolder(test.folder);
});

async function finished(who: Subject, id: string) {
  await eventually("the analysis is finished", () => test.provers.get(who, id).analysis?.state === "finished");
  return await test.provers.analysis(who, id);
}

function script(outcome: AnalysisOutcome | Error): () => void {
  analyzer.outcome = outcome;
  let open = (): void => {};
  analyzer.gate = new Promise((resolve) => {
    open = resolve;
  });
  return open;
}

describe("the analysis of a prover", () => {
  it("begins when the prover is provisioned, which does not wait for it", async () => {
    const who = subject();
    const open = script({ report: PROVED });
    const prover = await provision(test.provers, who, fresh());
    expect(prover).toMatchObject({
      status: "provisioned",
      strict: false,
      analysis: { state: "pending", verdict: null },
    });
    expect(await test.provers.analysis(who, prover.id)).toMatchObject({
      id: prover.id,
      state: "pending",
      counts: null,
    });
    open();
    const analysis = await finished(who, prover.id);
    expect(analysis).toMatchObject({ verdict: "determined", reason: null, pair: null });
    expect(test.provers.list(who, { page: 1, rpp: 5 }).body[0]?.analysis).toMatchObject({ verdict: "determined" });
  });

  it("tells two witnesses, as files too, which go with the prover", async () => {
    const who = subject();
    script({ report: ACCUSED, witnesses: [BYTES, BYTES], files: { r1cs: BYTES.slice(1), sym: BYTES.slice(2) } })();
    const { id } = await provision(test.provers, who, fresh());
    const { pair } = await finished(who, id);
    expect(pair).toEqual({ ...ACCUSED.pair, signalCount: undefined, signal_count: 1 });
    const names = ["analysis.json", "witness_1.wtns", "witness_2.wtns", "analysis.r1cs", "analysis.sym"];
    const files = await Promise.all(names.map(async (name) => await test.provers.artifact(who, id, name)));
    expect(files[1]?.bytes).toBe(12 + 12 + 40 + 12 + BYTES.length);
    await test.provers.delete(who, id);
    expect(files.filter(({ path }) => existsSync(path))).toEqual([]);
    expect(test.store.count(["prover_analysis", who.kind, who.id])).toBe(0);
    expect(test.store.count(["circuit_analysis", who.kind, who.id])).toBe(0);
  });

  it("is made once for all of an owner's provers of the circuit, and again for another owner", async () => {
    const [who, other] = [subject(), subject()];
    script({ report: PROVED })();
    const circuit = fresh();
    const before = analyzer.inputs.length;
    for (const owner of [who, who, other]) await finished(owner, (await provision(test.provers, owner, circuit)).id);
    expect(analyzer.inputs.length - before).toBe(2);
  });

  it("keeps its files for the circuit's other provers when the first one goes", async () => {
    const who = subject();
    const circuit = fresh();
    script({ report: { ...PROVED, samples: 41 } })();
    const first = await provision(test.provers, who, circuit);
    await finished(who, first.id);
    const open = script({ report: PROVED });
    const other = await provision(test.provers, who, fresh());
    const second = await provision(test.provers, who, circuit);
    const { path } = await test.provers.artifact(who, first.id, "analysis.json");
    await test.provers.delete(who, first.id);
    open();
    await finished(who, other.id);
    expect(await finished(who, second.id)).toMatchObject({ verdict: "determined", samples: 41 });
    await test.provers.delete(who, second.id);
    expect(existsSync(path)).toBe(false);
  });

  it("is tried again after a limit of time, and says so", async () => {
    const who = subject();
    script({ report: unfinished("time") })();
    const circuit = fresh();
    const before = analyzer.inputs.length;
    for (let i = 0; i < 2; i += 1) {
      const { id } = await provision(test.provers, who, circuit);
      expect(await finished(who, id)).toMatchObject({ verdict: "not_proven", reason: "time" });
    }
    expect(analyzer.inputs.length - before).toBe(2);
  });

  it("ends as not proven when the server fails at it again and again", async () => {
    const who = subject();
    script(new Error("no such process"))();
    const { id } = await provision(test.provers, who, fresh());
    expect(await finished(who, id)).toMatchObject({ verdict: "not_proven", reason: "fault" });
    expect(test.provers.get(who, id).status).toBe("provisioned");
  });

  it("is cancelled with its prover", async () => {
    const who = subject();
    script({ report: PROVED });
    const { id } = await provision(test.provers, who, fresh());
    await eventually("the analysis runs", () => test.jobs.figures()["analyze_circuit"]?.running === 1);
    await test.provers.delete(who, id);
    await eventually("the analysis has ended", () => test.jobs.figures()["analyze_circuit"]?.running === 0);
    expect(await failureOf(() => test.provers.get(who, id))).toMatchObject({ code: "not_found" });
  });

  it("gets a built-in circuit's example, and never a caller's inputs", async () => {
    const who = subject();
    script({ report: PROVED })();
    await finished(who, (await provision(test.provers, who, CUBIC)).id);
    const { id } = await provision(test.provers, who, fresh());
    await finished(who, id);
    expect(analyzer.inputs.at(-2)?.example).toBeDefined();
    expect(analyzer.inputs.at(-1)?.example).toBeUndefined();
  });

  it("keeps the files of a built-in circuit, whoever else has the same", async () => {
    const who = subject();
    script({ report: { ...PROVED, samples: 42 } })();
    const builtIn = await provision(test.provers, who, { identifier: "poseidon_preimage" });
    await finished(who, builtIn.id);
    const { path } = await test.provers.artifact(who, builtIn.id, "analysis.json");
    await test.provers.delete(who, builtIn.id);
    const { id } = await provision(test.provers, who, fresh());
    await finished(who, id);
    await test.provers.delete(who, id);
    expect(existsSync(path)).toBe(true);
  });

  it("is none while nothing has begun", async () => {
    const who = subject();
    const broken = await provision(test.provers, who, { source: "pragma circom 2.1.0; template" });
    expect(broken).toMatchObject({ status: "failed", analysis: null });
    expect(await test.provers.analysis(who, broken.id)).toMatchObject({ state: "none", verdict: null, signals: [] });
  });

  it("belongs to the owner", async () => {
    const { id } = await provision(test.provers, subject(), CUBIC);
    expect(await failureOf(() => test.provers.analysis(subject(), id))).toMatchObject({ code: "not_found" });
  });
});

describe("a strict prover", () => {
  const strict = () => ({ ...fresh(), strict: true });

  it("fails before anything is built when an output is accused", async () => {
    const who = subject();
    script({ report: ACCUSED })();
    const prover = await provision(test.provers, who, strict());
    expect(prover).toMatchObject({
      status: "failed",
      strict: true,
      errors: [{ code: "circuit_under_determined" }],
      analysis: { verdict: "under_determined" },
    });
    expect(await failureOf(() => test.provers.artifact(who, prover.id, "circuit.wasm"))).toMatchObject({
      code: "not_found",
    });
  });

  it("is analysed over the field of its own curve", async () => {
    script({ report: ACCUSED })();
    await provision(test.provers, subject(), { ...strict(), curve: "BLS12_381" });
    expect(analyzer.inputs.at(-1)?.curve).toBe("BLS12_381");
  });

  it.each([PROVED, unfinished("rules"), unfinished("size")])("is provisioned when none is: %o", async (report) => {
    script({ report })();
    const prover = await provision(test.provers, subject(), strict());
    expect(prover).toMatchObject({ status: "provisioned", analysis: { state: "finished", verdict: report.verdict } });
  });

  it("waits for its analysis without keeping others from being provisioned", async () => {
    const who = subject();
    const open = script({ report: PROVED });
    const waiting = [await register(test.provers, who, strict()), await register(test.provers, who, strict())];
    expect((await provision(test.provers, who, CUBIC)).status).toBe("provisioned");
    expect(waiting.map(({ id }) => test.provers.get(who, id).status)).toEqual(["init", "init"]);
    open();
    for (const { id } of waiting)
      await eventually("it is provisioned", () => test.provers.get(who, id).status === "provisioned");
  });

  it("is refused by a server that analyses nothing", async () => {
    const plain = await openTestRegistry({ idle: true });
    const refused = await failureOf(() => register(plain.provers, subject(), strict()));
    expect(refused).toMatchObject({ code: "invalid_request", details: [{ path: "strict" }] });
    await plain.close();
  });
});

describe("an analysis that a crash cuts off", () => {
  it("is taken up by the next process", async () => {
    const who = subject();
    script({ report: PROVED });
    const first = await openTestRegistry({ analyzer });
    const { id } = await first.provers.create(
      who,
      { ...fresh(), proving_scheme: "groth16", curve: "BN254" },
      { waitSec: 60, signal: never },
    );
    expect(first.provers.get(who, id).analysis?.state).toBe("pending");
    await first.close({ keep: true });
    script({ report: PROVED })();
    const second = await openTestRegistry({ analyzer, folder: first.folder });
    await eventually("it is finished", () => second.provers.get(who, id).analysis?.verdict === "determined");
    await second.close({ keep: true });
    removeFolder(first.folder);
  });
});
