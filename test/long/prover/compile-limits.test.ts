import { readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_COMPILE_LIMITS } from "../../../src/engine/circuit/compile-circuit.js";
import type { CompileLimits, CompileResult } from "../../../src/engine/circuit/compile-circuit.js";
import {
  compileInProcess,
  compileProcessLimits,
  type CompileTaskResult,
} from "../../../src/prover/compute/compile-task.js";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { SETTINGS } from "../../../src/platform/settings.js";
import { probeSandboxTools } from "../../../src/platform/pool/process-sandbox.js";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { Sandbox } from "../../../src/platform/pool/sandbox.js";
import type { ProcessTaskLimits } from "../../../src/platform/pool/process-task.js";
import { newFolder } from "../../support/temporary-folder.js";

// Untrusted source as an attacker would send it; each ends in a failure that names itself, none in a crash of the
// process.

const SQUARE =
  "pragma circom 2.1.0; template Square() { signal input x; signal output y; y <== x * x; } component main = Square();";
const tasks = new ProcessTasks();
const PROCESS_LIMITS = compileProcessLimits({ memoryMb: 2048, seconds: 60 });
let folder = "";

beforeAll(async () => {
  folder = newFolder("compile-task");
  await writeFile(join(folder, "secret.circom"), "swordfish");
});

afterAll(async () => rm(folder, { recursive: true, force: true }));

async function compile(
  source: string,
  limits: Partial<ProcessTaskLimits> = {},
  compileLimits: Partial<CompileLimits> = {},
): Promise<CompileResult> {
  const request = { sources: { "main.circom": source }, main: "main.circom", curve: "BN254" } as const;
  const outcome = await compileInProcess(tasks, request, {
    limits: { ...DEFAULT_COMPILE_LIMITS, ...compileLimits },
    processLimits: { ...PROCESS_LIMITS, ...limits },
  });
  if (!outcome.settled) throw new Error(`${outcome.failure.code}: ${outcome.failure.stderr ?? ""}`);
  return outcome.result;
}

function body(text: string, before = ""): string {
  return `pragma circom 2.1.0; ${before} template A() { signal input a; signal output b; b <== a * a; ${text} } component main = A();`;
}

describe("the limits of a compile process", () => {
  const { compile_seconds, compile_memory_mb } = SETTINGS;
  const byDefault = { memoryMb: compile_memory_mb.default, seconds: compile_seconds.default };

  it("are the settings' ones, in processor time, and the clock allows five times as much", () => {
    expect(compileProcessLimits({ memoryMb: 300, seconds: 7 })).toMatchObject({
      cpuSeconds: 7,
      deadlineMs: 35_000,
      memoryBytesMax: 300 * 1024 ** 2,
    });
  });

  it("are by default what the README says", () => {
    const { cpuSeconds, deadlineMs, memoryBytesMax } = compileProcessLimits(byDefault);
    const time = `${cpuSeconds} s of processor time and ${deadlineMs / 1000} s by the clock`;
    const said = `${time} (\`PROOFWRIGHT_COMPILE_SECONDS\`), ${memoryBytesMax / 1024 ** 3} GiB`;
    expect(readFileSync(join(PACKAGE_ROOT, "README.md"), "utf8")).toContain(`| compilation    | ${said}`);
  });
});

describe("compileInProcess where the sandbox is required", () => {
  const request = { sources: { "main.circom": SQUARE }, main: "main.circom", curve: "BN254" } as const;
  const compileIn = async (searchPath?: string): Promise<{ sandbox: Sandbox; outcome: CompileTaskResult }> => {
    const sandbox = new Sandbox({ mode: "require", tools: await probeSandboxTools(searchPath) });
    return {
      sandbox,
      outcome: await compileInProcess(new ProcessTasks({ sandbox }), request, { processLimits: PROCESS_LIMITS }),
    };
  };

  it("is refused without the system's tools, and names the missing limits", async () => {
    const { outcome } = await compileIn(folder);
    expect(outcome).toMatchObject({
      settled: true,
      result: {
        ok: false,
        code: "sandbox_incomplete",
        diagnostics: [
          { severity: "error", code: "sandbox_incomplete", message: expect.stringContaining("network") as string },
        ],
      },
    });
  });

  it("compiles where every limit holds", async () => {
    const { sandbox, outcome } = await compileIn();
    expect(outcome).toMatchObject({ settled: true, result: { ok: sandbox.missing.length === 0 } });
  });
});

describe("compileInProcess", () => {
  it("gives the three files, the compiler's name and no warning for a sound circuit", async () => {
    const result = await compile(SQUARE);
    expect(result).toMatchObject({ ok: true, warnings: [], compiler: "circom2 0.2.23" });
    expect(result.ok && Buffer.from(result.r1cs.subarray(0, 4)).toString()).toBe("r1cs");
    expect(result.ok && new WebAssembly.Module(result.wasm)).toBeInstanceOf(WebAssembly.Module);
    expect(result.ok && Buffer.from(result.sym).toString()).toBe("1,1,0,main.y\n2,2,0,main.x\n");
  });

  it("is called off by the caller", async () => {
    const outcome = await compileInProcess(
      tasks,
      { sources: { "main.circom": SQUARE }, main: "main.circom", curve: "BN254" },
      { processLimits: PROCESS_LIMITS, signal: AbortSignal.abort() },
    );
    expect(outcome).toMatchObject({ settled: false, failure: { code: "aborted" } });
  });

  it("ends a loop without end at the deadline and says so", async () => {
    const result = await compile(body("var i = 0; while (1 == 1) { i += 1; }"), { deadlineMs: 1_500 });
    expect(result).toMatchObject({ ok: false, code: "circuit_too_large" });
    expect(!result.ok && result.diagnostics[0]?.message).toMatch(
      /within 60 seconds of processor time and 1\.5 by the clock \(PROOFWRIGHT_COMPILE_SECONDS\): a loop without end/,
    );
  });

  it.each([
    [
      "an array of ten million signals",
      "template A() { signal input a[10000000]; signal output b; b <== a[0] * a[1]; } component main = A();",
    ],
    ["a recursive function without end", body("var x = f(1);", "function f(n) { return f(n + 1) + 1; }")],
    [
      "a recursive template without end",
      "template A(n) { signal input a; signal output b; component c = A(n + 1); c.a <== a; b <== c.b; } component main = A(0);",
    ],
  ])("ends %s with a named failure", async (_name, source) => {
    const result = await compile(
      `pragma circom 2.1.0; ${source.replace(/^pragma circom 2\.1\.0; /, "")}`,
      { deadlineMs: 8_000 },
      { compilerPagesMax: 4_096 },
    );
    expect(result.ok).toBe(false);
    expect(!result.ok && ["circuit_too_large", "source_invalid"]).toContain(!result.ok && result.code);
    expect(!result.ok && result.diagnostics.length).toBeGreaterThan(0);
  });

  it("is bounded by the memory limit of the process too", async () => {
    const result = await compile(
      "template A() { signal input a[10000000]; signal output b; b <== a[0] * a[1]; } component main = A();",
      { memoryBytesMax: 300 * 1024 ** 2 },
    );
    expect(result).toMatchObject({
      ok: false,
      code: "circuit_too_large",
      limit: "memory",
      diagnostics: [
        { message: expect.stringMatching(/more memory than .*, 300 MiB \(PROOFWRIGHT_COMPILE_MEMORY_MB/) as string },
      ],
    });
  });

  it("refuses a circuit over the number of values of inputs and outputs", async () => {
    const wide =
      "pragma circom 2.1.0; template W() { signal input a[2]; signal input b; signal output c[2]; c[0] <== a[0] * a[1]; c[1] <== a[0] * b; } component main {public [b]} = W();";
    expect(await compile(wide, {}, { valuesMax: 5 })).toMatchObject({ ok: true });
    const result = await compile(wide, {}, { valuesMax: 4 });
    expect(result).toMatchObject({ ok: false, code: "circuit_too_large" });
    expect(!result.ok && result.diagnostics[0]?.message).toContain("5 values of inputs and outputs, 4 are allowed");
  });

  it("refuses a circuit over the number of constraints", async () => {
    const chain = (n: number) =>
      `pragma circom 2.1.0; template C(n) { signal input a; signal s[n + 1]; s[0] <== a; for (var i = 0; i < n; i++) { s[i + 1] <== s[i] * s[i]; } } component main = C(${n});`;
    expect(await compile(chain(100), {}, { constraintsMax: 100 })).toMatchObject({ ok: true });
    const result = await compile(chain(101), {}, { constraintsMax: 100 });
    expect(result).toMatchObject({ ok: false, code: "circuit_too_large" });
    expect(!result.ok && result.diagnostics[0]?.message).toContain("101 constraints, 100 are allowed");
  });

  it.each([
    "/etc/passwd",
    "../../../../../../etc/passwd",
    "../secret.circom",
    "/proc/self/environ",
    "file:///etc/passwd",
    "circomlib/../../../etc/passwd",
    "circomlib/circuits/../../package.json",
  ])("does not read the host's files through include %s", async (path) => {
    const result = await compile(
      `pragma circom 2.1.0; include "${path}"; ${SQUARE.replace("pragma circom 2.1.0; ", "")}`,
    );
    expect(result).toMatchObject({ ok: false, code: "source_invalid" });
    // Not found, or no path at all.
    expect(!result.ok && result.diagnostics[0]?.code).toMatch(/^P101[24]$/);
    expect(JSON.stringify(result)).not.toMatch(/root:|swordfish|PATH=|node_modules|\/tmp\//);
  });

  it("does not read an absolute path of a readable file either", async () => {
    const result = await compile(`include "${join(folder, "secret.circom")}"; ${SQUARE}`);
    expect(result).toMatchObject({ ok: false, code: "source_invalid" });
    expect(JSON.stringify(result)).not.toContain("swordfish");
  });
});
