/** The analysis in its own processes, on source as an attacker would send it. */
import { describe, expect, it } from "vitest";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { Sandbox } from "../../../src/platform/pool/sandbox.js";
import { ProcessAnalyzer, type AnalysisOutcome } from "../../../src/prover/compute/analysis-task.js";

const compile = { memoryMb: 1024, seconds: 60 };
const none = new AbortController().signal;

async function analyze(body: string, tasks = new ProcessTasks(), seconds = 60): Promise<AnalysisOutcome> {
  const text = `pragma circom 2.1.0; template T() { signal input a; signal output b; ${body} } component main = T();`;
  return await new ProcessAnalyzer({ compile, seconds }, { tasks }).analyze(
    { source: { files: { "main.circom": text }, main: "main.circom" }, curve: "BN254" },
    none,
  );
}

describe("analysing in a process", () => {
  it("returns the report and, for an accused output, witnesses and the files that they belong to", async () => {
    const { report, witnesses, files } = await analyze("b <-- a * a;");
    expect(report).toMatchObject({
      verdict: "under_determined",
      system: { optimization: 0 },
      pair: { differs: "output" },
    });
    expect(witnesses?.map(({ length }) => length)).toEqual([96, 96]);
    expect(files?.r1cs.length).toBeGreaterThan(0);
  });

  it("calls what does not compile not proven", async () => {
    expect((await analyze("b <== c;")).report).toMatchObject({ verdict: "not_proven", reason: "compiler" });
  });

  it("runs nothing where the sandbox is required and incomplete", async () => {
    const sandbox = new Sandbox({ mode: "require", tools: { hasProcStatus: false } });
    const outcome = await analyze("b <-- a;", new ProcessTasks({ sandbox }));
    expect(outcome.report).toMatchObject({ verdict: "not_proven", reason: "compiler" });
  });

  it("rejects with the reason of an abort", async () => {
    const stopped = new AbortController();
    stopped.abort(new Error("stopped"));
    const running = new ProcessAnalyzer({ compile, seconds: 60 }, { tasks: new ProcessTasks() }).analyze(
      { source: { files: { "main.circom": "" }, main: "main.circom" }, curve: "BN254" },
      stopped.signal,
    );
    await expect(running).rejects.toThrow("stopped");
  });
});
