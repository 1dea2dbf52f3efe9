import { describe, expect, it } from "vitest";
import type { SolidityRequest, SolidityResult } from "../../../src/engine/solidity/compile-solidity.js";
import { probeSandboxTools } from "../../../src/platform/pool/process-sandbox.js";
import { Sandbox } from "../../../src/platform/pool/sandbox.js";
import { ProcessTasks, type ProcessTaskLimits } from "../../../src/platform/pool/process-task.js";
import {
  compileSolidityInProcess,
  SOLIDITY_PROCESS_LIMITS,
  type SolidityTaskResult,
} from "../../../src/chain/contracts/builds/solidity-task.js";

// Untrusted Solidity as an attacker would send it. Each source ends in a named failure, none in a crash of the process.

const HEAD = "// SPDX-License-Identifier: MIT\npragma solidity ^0.8.0;\n";
const tasks = new ProcessTasks();

async function compile(
  sources: string | Record<string, string>,
  more: Partial<SolidityRequest> = {},
  limits: Partial<ProcessTaskLimits> = {},
): Promise<SolidityResult> {
  const request: SolidityRequest = {
    sources: typeof sources === "string" ? { "a.sol": HEAD + sources } : sources,
    settings: { evmVersion: "cancun", optimizerRuns: 200, viaIr: false },
    ...more,
  };
  const outcome = await compileSolidityInProcess(tasks, request, {
    limits: { ...SOLIDITY_PROCESS_LIMITS, niceness: 0, ...limits },
  });
  if (!outcome.settled) throw new Error(`${outcome.failure.code}: ${outcome.failure.stderr ?? ""}`);
  return outcome.result;
}

describe("compileSolidityInProcess where the sandbox is required", () => {
  const request: SolidityRequest = {
    sources: { "a.sol": `${HEAD}contract A {}` },
    settings: { evmVersion: "cancun", optimizerRuns: 200, viaIr: false },
  };
  const compileIn = async (searchPath?: string): Promise<{ sandbox: Sandbox; outcome: SolidityTaskResult }> => {
    const sandbox = new Sandbox({ mode: "require", tools: await probeSandboxTools(searchPath) });
    return { sandbox, outcome: await compileSolidityInProcess(new ProcessTasks({ sandbox }), request) };
  };

  it("is refused without the system's tools, and names the missing limits", async () => {
    const { outcome } = await compileIn("");
    expect(outcome).toMatchObject({
      settled: true,
      result: {
        ok: false,
        diagnostics: [{ code: "sandbox_incomplete", message: expect.stringContaining("network") as string }],
      },
    });
  });

  it("compiles where every limit holds", async () => {
    const { sandbox, outcome } = await compileIn();
    expect(outcome).toMatchObject({ settled: true, result: { ok: sandbox.missing.length === 0 } });
  });
});

describe("compileSolidityInProcess", () => {
  it("gives ABI, creation code, opcodes, metadata and the compiler's name, the same code each time", async () => {
    const [one, other] = await Promise.all([
      compile("contract A { uint256 public x; }"),
      compile("contract A { uint256 public x; }"),
    ]);
    expect(one).toMatchObject({
      ok: true,
      file: "a.sol",
      name: "A",
      warnings: [],
      compiler: expect.stringMatching(/^solc 0\.8\.37\+commit\.[0-9a-f]+$/) as string,
    });
    expect(one).toEqual(other);
    expect(one.ok && one.bytecode).toMatch(/^60[0-9a-f]+$/);
  });

  it("says that an answer is larger than it may be", async () => {
    expect(await compile("contract A { uint256 public x; }", {}, { answerBytesMax: 100 })).toMatchObject({
      ok: false,
      diagnostics: [{ code: "source_too_large" }],
    });
  });

  it("opens no file but those of the request", async () => {
    const result = await compile({ "a.sol": `${HEAD}import "/etc/passwd";\nimport "./b.sol";\ncontract A {}` });
    expect(result).toMatchObject({
      ok: false,
      diagnostics: [
        { file: "a.sol", line: 3, column: 1 },
        { file: "a.sol", line: 4, column: 1 },
      ],
    });
    expect(!result.ok && result.diagnostics[0]?.message).toBe(
      'Source "/etc/passwd" not found: it is not among the files of the source',
    );
  });

  it("asks for a name where several contracts can be deployed, and reports one that cannot be", async () => {
    const source = "contract A { } contract B { } interface C { function f() external; }";
    const [unnamed, named, unfit] = await Promise.all([
      compile(source),
      compile(source, { contract: "a.sol:B" }),
      compile(source, { contract: "C" }),
    ]);
    expect(unnamed).toMatchObject({
      ok: false,
      diagnostics: [{ code: "contract_ambiguous", message: expect.stringContaining("a.sol:A, a.sol:B") as string }],
    });
    expect(named).toMatchObject({ ok: true, name: "B" });
    expect(unfit).toMatchObject({
      ok: false,
      diagnostics: [{ code: "no_contract", message: expect.stringContaining("interface") as string }],
    });
  });

  it("is cancelled by the caller", async () => {
    const request: SolidityRequest = {
      sources: { "a.sol": "contract A {}" },
      settings: { evmVersion: "cancun", optimizerRuns: null, viaIr: false },
    };
    expect(await compileSolidityInProcess(tasks, request, { signal: AbortSignal.abort() })).toMatchObject({
      settled: false,
      failure: { code: "aborted" },
    });
  });
});
