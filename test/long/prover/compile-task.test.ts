/** Untrusted source that takes the compile process to its deadline. */
import { expect, it } from "vitest";
import { DEFAULT_COMPILE_LIMITS } from "../../../src/engine/circuit/compile-circuit.js";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { compileInProcess, compileProcessLimits } from "../../../src/prover/compute/compile-task.js";

it("ends nested templates that double on each level with a named failure", async () => {
  const source =
    "pragma circom 2.1.0; template L(n) { signal input a; signal output b; if (n == 0) { b <== a * a; } else { component c[2]; for (var i = 0; i < 2; i++) { c[i] = L(n - 1); c[i].a <== a + i; } b <== c[0].b * c[1].b; } } component main = L(30);";
  const outcome = await compileInProcess(
    new ProcessTasks(),
    { sources: { "main.circom": source }, main: "main.circom", curve: "BN254" },
    {
      limits: { ...DEFAULT_COMPILE_LIMITS, compilerPagesMax: 4_096 },
      processLimits: { ...compileProcessLimits({ memoryMb: 2048, seconds: 60 }), deadlineMs: 8_000 },
    },
  );
  if (!outcome.settled) throw new Error(outcome.failure.code);
  const { result } = outcome;
  if (result.ok) throw new Error("the circuit compiled");
  expect(["circuit_too_large", "source_invalid"]).toContain(result.code);
  expect(result.diagnostics.length).toBeGreaterThan(0);
});
