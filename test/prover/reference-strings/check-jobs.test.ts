/** Jobs that check powers-of-tau files: which node takes them, and what becomes of those whose file is gone. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Nodes } from "../../../src/platform/nodes/nodes.js";
import { Jobs } from "../../../src/platform/jobs/jobs.js";
import { CHECK_JOB, createReferenceStrings } from "../../../src/prover/reference-strings/create-reference-strings.js";
import { openArtifacts } from "../../../src/platform/store/artifacts.js";
import { PowersRecords } from "../../../src/prover/reference-strings/powers-records.js";
import { eventually } from "../../support/eventually.js";
import { NodesInMemory } from "../../support/nodes-in-memory.js";
import { recordedLog } from "../../support/silent-log.js";
import { folderOfTest } from "../../support/temporary-folder.js";

const TOLD_WITHIN_MS = 180_000;
const FILE = "one.ptau";
let cluster: NodesInMemory;
let nowMs: number;
let checked: string[];
const opened: Jobs[] = [];
beforeEach(() => {
  cluster = new NodesInMemory();
  nowMs = Date.UTC(2026, 0, 1);
  checked = [];
});
afterEach(async () => {
  for (const jobs of opened.splice(0)) await jobs.stop();
});

/** A node with a folder of its own, which has the file or not; all refuse it, as the fault of its content. */
async function node(
  name: string,
  {
    hasFile,
    isSealed = false,
    nodes = cluster.node(name).nodes,
  }: { readonly hasFile: boolean; readonly isSealed?: boolean; readonly nodes?: Nodes },
): Promise<Jobs> {
  const { store } = cluster.node(name);
  const folder = folderOfTest(`ptau-${name}`);
  if (hasFile) writeFileSync(join(folder, FILE), "no powers of tau");
  const artifacts = await openArtifacts(folderOfTest(`artifacts-${name}`));
  const shared = { store, nodes, clock: { nowMs: () => nowMs, monotonicMs: () => nowMs }, log: recordedLog() };
  const jobs = new Jobs({ retryDelayMs: 1, settleDelayMs: 1, takes: () => !isSealed }, shared);
  opened.push(jobs);
  const { folders } = createReferenceStrings(
    { folder, tellsFolder: true, uploadBytesMax: 1 },
    {
      ...{ ...shared, jobs, artifacts, records: new PowersRecords({ store }) },
      check: () => {
        checked.push(name);
        return Promise.resolve({ ok: true, value: { ok: false, fault: "truncated", message: "cut off" } });
      },
      files: {
        holdFile: () => Promise.reject(new Error("nothing is uploaded")),
        removeUnused: () => Promise.resolve(),
      },
      ...{ forget: () => ({}), isUsed: () => false, keep: () => ({}) },
    },
  );
  await folders.start();
  folders.stop();
  await jobs.start();
  return jobs;
}

async function queue(jobs: Jobs): Promise<string> {
  const { job, commit } = jobs.enqueueCommit({
    ...{ kind: CHECK_JOB, subject_key: ["powers_of_tau", FILE], phase: "check", input: FILE },
  });
  await cluster.node("caller").store.commit(commit);
  jobs.wake();
  return job.id;
}

async function reach(jobs: Jobs, id: string, state: string): Promise<void> {
  await eventually(() => {
    expect(jobs.get(id)?.state).toBe(state);
  });
}

it("are left to a node that has the file, whichever is asked", async () => {
  const without = await node("without", { hasFile: false });
  await node("with", { hasFile: true });
  await reach(without, await queue(without), "done");
  expect(checked).toEqual(["with"]);
});

it("fail on a single server whose file is gone", async () => {
  const { nodes } = cluster.node("single");
  const single = await node("single", { hasFile: false, nodes: { ...nodes, count: 1 } });
  const id = await queue(single);
  await reach(single, id, "failed");
  expect(single.get(id)?.error).toMatchObject({ code: "not_found" });
});

it("wait for three minutes in a cluster where no node has the file, and fail then", async () => {
  const first = await node("a", { hasFile: false });
  const id = await queue(first);
  nowMs += TOLD_WITHIN_MS;
  first.wake();
  expect(first.get(id)?.state).toBe("queued");
  nowMs += 1;
  first.wake();
  await reach(first, id, "failed");
  expect(checked).toEqual([]);
});

it("wait for longer while a node that has the file takes no work", async () => {
  await node("with", { hasFile: true, isSealed: true });
  const without = await node("without", { hasFile: false });
  const id = await queue(without);
  nowMs += 10 * TOLD_WITHIN_MS;
  without.wake();
  expect(without.get(id)?.state).toBe("queued");
  cluster.end("with");
  without.wake();
  await reach(without, id, "failed");
});
