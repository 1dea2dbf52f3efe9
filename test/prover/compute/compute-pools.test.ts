/** When the threads of proving and verification are started. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { ProcessTasks, type ProcessTaskFailure } from "../../../src/platform/pool/process-task.js";
import { ComputePools } from "../../../src/prover/compute/compute-pools.js";
import { PooledCompute } from "../../../src/prover/compute/pooled-compute.js";
import { recordedLog } from "../../support/silent-log.js";
import { folderOfTest } from "../../support/temporary-folder.js";

const log = recordedLog();
let pools: ComputePools;

afterEach(async () => {
  await pools.stop();
});

function openPools(entry?: string): ComputePools {
  const lengths = { proveQueueLengthMax: 8, interactiveQueueLengthMax: 8 };
  const threads = { proveThreads: 1, interactiveThreads: 1 };
  pools = new ComputePools({ ...threads, ...lengths, ...(entry === undefined ? {} : { entry }) }, { log });
  return pools;
}

/** Its processes end at once. */
class CrashingTasks extends ProcessTasks {
  override run(): Promise<ProcessTaskFailure> {
    return Promise.resolve({ ok: false, code: "crashed", message: "ended" });
  }
}

it("starts no thread before there is anything to prove, and all of them with the first circuit", async () => {
  openPools();
  const compute = new PooledCompute(
    { constraintsMax: 1000, compile: { memoryMb: 1024, seconds: 5 } },
    { pools, tasks: new CrashingTasks(), log },
  );
  expect(pools.areStarted).toBe(false);
  const source = { main: "a.circom", files: { "a.circom": "" }, options: {} };
  await expect(compute.compile({ source, curve: "BN254" })).rejects.toThrow("ended");
  expect(pools.areStarted).toBe(true);
  await pools.warm();
});

it("starts them once, however often it is told to", async () => {
  openPools();
  await Promise.all([pools.warm(), pools.warm()]);
  await pools.warm();
  const { interactive, prove } = pools.figures();
  expect([interactive.started, prove.started]).toEqual([1, 1]);
});

it("says when the backend does not load, and goes on", async () => {
  const entry = join(folderOfTest("failing-worker"), "failing.worker.mjs");
  writeFileSync(entry, 'export default () => { throw new Error("no backend"); };');
  openPools(entry);
  await pools.warm();
  expect(log.lines.map(({ message }) => message)).toContain(
    "the compute threads did not load the proving backend ahead of the first request",
  );
});
