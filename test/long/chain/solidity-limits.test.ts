/** Solidity source that takes its compile process to the limits of time and memory. */
import { expect, it } from "vitest";
import {
  compileSolidityInProcess,
  SOLIDITY_PROCESS_LIMITS,
} from "../../../src/chain/contracts/builds/solidity-task.js";
import type { SolidityResult } from "../../../src/engine/solidity/compile-solidity.js";
import { ProcessTasks, type ProcessTaskLimits } from "../../../src/platform/pool/process-task.js";

const tasks = new ProcessTasks();

async function compile(source: string, limits: Partial<ProcessTaskLimits>): Promise<SolidityResult> {
  const outcome = await compileSolidityInProcess(
    tasks,
    {
      sources: { "a.sol": `// SPDX-License-Identifier: MIT\npragma solidity ^0.8.0;\n${source}` },
      settings: { evmVersion: "cancun", optimizerRuns: 200, viaIr: false },
    },
    { limits: { ...SOLIDITY_PROCESS_LIMITS, niceness: 0, ...limits } },
  );
  if (!outcome.settled) throw new Error(`${outcome.failure.code}: ${outcome.failure.stderr ?? ""}`);
  return outcome.result;
}

/** Each struct has the one before twice, so that the signature of the last has 2^40 members. */
function doublingStructs(): string {
  const structs = Array.from(
    { length: 40 },
    (_, index) => `struct S${String(index + 1)} { S${String(index)} a; S${String(index)} b; }`,
  );
  return `struct S0 { uint a; uint b; } ${structs.join(" ")} contract A { function f(S40 memory) external {} }`;
}

it("stops endless source at the limits of time and memory, and says so", async () => {
  const slow = await compile(doublingStructs(), { deadlineMs: 4_000 });
  expect(slow).toMatchObject({
    ok: false,
    diagnostics: [
      { code: "source_too_large", message: expect.stringContaining("did not compile within 60 seconds") as string },
    ],
  });
  const large = await compile(doublingStructs(), { memoryBytesMax: 220 * 1024 ** 2 });
  expect(large).toMatchObject({
    ok: false,
    diagnostics: [{ code: "source_too_large", message: expect.stringContaining("memory") as string }],
  });
});
