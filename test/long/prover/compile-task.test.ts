/** Untrusted source that takes the compile process long, some of it to its deadline. */
import { expect, it } from "vitest";
import {
  DEFAULT_COMPILE_LIMITS,
  type CompileLimits,
  type CompileResult,
} from "../../../src/engine/circuit/compile-circuit.js";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { compileInProcess, compileProcessLimits } from "../../../src/prover/compute/compile-task.js";

async function compile(
  source: string,
  deadlineMs: number,
  limits: Partial<CompileLimits> = {},
): Promise<CompileResult> {
  const outcome = await compileInProcess(
    new ProcessTasks(),
    { sources: { "main.circom": `pragma circom 2.1.0; ${source}` }, main: "main.circom", curve: "BN254" },
    {
      limits: { ...DEFAULT_COMPILE_LIMITS, ...limits },
      processLimits: { ...compileProcessLimits({ memoryMb: 2048, seconds: 60 }), deadlineMs },
    },
  );
  if (!outcome.settled) throw new Error(outcome.failure.code);
  return outcome.result;
}

it("tells how far the compiler is, from its process", async () => {
  const shares: number[] = [];
  const source =
    "template Rounds() { signal input a; signal output b; signal x[40001]; x[0] <== a; for (var i = 0; i < 40000; i++) { x[i + 1] <== x[i] * x[i] + 1; } b <== x[40000]; } component main = Rounds();";
  const outcome = await compileInProcess(
    new ProcessTasks(),
    { sources: { "main.circom": `pragma circom 2.1.0; ${source}` }, main: "main.circom", curve: "BN254" },
    {
      processLimits: compileProcessLimits({ memoryMb: 2048, seconds: 60 }),
      onProgress: (share) => {
        shares.push(share);
      },
    },
  );
  expect(outcome).toMatchObject({ settled: true, result: { ok: true } });
  expect(shares.slice(0, 2)).toEqual([0.45, 0.9]);
});

it("ends nested templates that double on each level with a named failure", async () => {
  const source =
    "template L(n) { signal input a; signal output b; if (n == 0) { b <== a * a; } else { component c[2]; for (var i = 0; i < 2; i++) { c[i] = L(n - 1); c[i].a <== a + i; } b <== c[0].b * c[1].b; } } component main = L(30);";
  const result = await compile(source, 8_000, { compilerPagesMax: 4_096 });
  if (result.ok) throw new Error("the circuit compiled");
  expect(["circuit_too_large", "source_invalid"]).toContain(result.code);
  expect(result.diagnostics.length).toBeGreaterThan(0);
});

it("ends a loop of a billion rounds at the deadline and says so", async () => {
  const source =
    "template A() { signal input a; signal output b; b <== a * a; var i = 0; for (var j = 0; j < 1000000000; j++) { i += j; } } component main = A();";
  const result = await compile(source, 1_500);
  expect(result).toMatchObject({ ok: false, code: "circuit_too_large" });
  expect(!result.ok && result.diagnostics[0]?.message).toContain("a loop without end");
});

it("survives a flood of compile-time output", async () => {
  const source =
    'function f(n) { log("flood", n); return n; } template A() { signal input a; signal output b; b <== a * a; for (var j = 0; j < 200000; j++) { var k = f(j); } } component main = A();';
  const result = await compile(source, 20_000);
  if (!result.ok) expect(result.code).toBe("circuit_too_large");
});
