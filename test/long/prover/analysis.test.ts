/** Analyses that take long: SHA-256, the built-in circuits, and a witness program that never ends. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { ProcessTasks, type ProcessTask, type ProcessTaskResult } from "../../../src/platform/pool/process-task.js";
import { ProcessAnalyzer } from "../../../src/prover/compute/analysis-task.js";
import { BuiltInCircuits } from "../../../src/prover/provisioning/sources.js";
import { analyzed, libraryCircuit } from "../../support/analyzed-circuits.js";

/** Large circuits would be searched for hours, were steps counted. */
const elapsedMs = (): number => process.cpuUsage().user / 1000;
/** For what is not proven: the search for a second witness, which finds none, ends in a quarter of its time. */
const fasterMs = (): number => 4 * elapsedMs();

describe("large circuits and the built-in ones", () => {
  it("proves SHA-256 at level 1", async () => {
    const { verdict } = await analyzed(libraryCircuit("sha256/sha256", "Sha256(64)"), { optimization: 1, elapsedMs });
    expect(verdict).toBe("determined");
  });

  const builtIns = new BuiltInCircuits({ folder: join(PACKAGE_ROOT, "circuits") });
  it.each(builtIns.identifiers)("accuses nothing in the built-in circuit %s", async (identifier) => {
    const { source, satisfyingInputs } = builtIns.get(identifier);
    const optimization = identifier === "sha256_preimage" ? 1 : 0;
    // Sums of points divide.
    const isOnPoints = ["eddsa_signature", "semaphore"].includes(identifier);
    const { verdict } = await analyzed(source, {
      ...{ optimization, example: satisfyingInputs },
      elapsedMs: isOnPoints ? fasterMs : elapsedMs,
    });
    expect(verdict).toBe(isOnPoints ? "determined_except" : "determined");
  });
});

describe("a witness program that never ends", () => {
  /** Gives an analysis two seconds of the processor, so that a test need not wait for a minute. */
  class ShortTasks extends ProcessTasks {
    override async run<Request, Answer>(task: ProcessTask<Request>): Promise<ProcessTaskResult<Answer>> {
      return await super.run({ ...task, limits: { ...task.limits, cpuSeconds: 2 } });
    }
  }

  it("is ended", async () => {
    const analyzer = new ProcessAnalyzer(
      { compile: { memoryMb: 1024, seconds: 20 }, seconds: 1 },
      { tasks: new ShortTasks() },
    );
    const files = {
      "main.circom": `pragma circom 2.1.0;
        function endless(x) { var i = 1; while (i != 0) { i = 1 + x * 0; } return i; }
        template T() { signal input a; signal output b; b <-- endless(a); }
        component main = T();`,
    };
    const never = new AbortController().signal;
    const outcome = await analyzer.analyze({ source: { files, main: "main.circom" }, curve: "BN254" }, never);
    expect(outcome.report).toMatchObject({ verdict: "not_proven", reason: "time" });
  });
});
