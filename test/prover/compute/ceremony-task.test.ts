/** Whose memory a step of a ceremony takes. */
import { expect, it, vi } from "vitest";
import { MemoryBudget } from "../../../src/platform/concurrency/memory-budget.js";
import type { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { ProcessCeremonies } from "../../../src/prover/compute/ceremony-task.js";
import { recordedLog } from "../../support/silent-log.js";

it("takes memory in its owner's turn", async () => {
  const memory = new MemoryBudget({ bytes: Infinity });
  const run = vi.spyOn(memory, "run");
  const value = { ok: true, value: { hash: "00", name: null } };
  const tasks = { run: async () => await Promise.resolve({ ok: true, value }) } as unknown as ProcessTasks;
  const ceremonies = new ProcessCeremonies({ tasks, memory, log: recordedLog() });
  const file = { sha256: "", path: "", bytes: 1 };
  await ceremonies.checkContribution({ before: file, after: file }, { owner: "user:ada" });
  expect(run.mock.calls.map(([{ owner }]) => owner)).toEqual(["user:ada"]);
});
