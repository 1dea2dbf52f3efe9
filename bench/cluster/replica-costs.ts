/** What a commit costs the node that makes it, without the database: packed, judged, encoded, and applied. */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { ROW_FORMAT, encodeBody, rowMac, type LogRow } from "../../src/platform/cluster/log/log-row.js";
import { Replica } from "../../src/platform/cluster/replica.js";
import { emptyMeta, openEnvironment, transact, writeMeta } from "../../src/platform/store/lmdb/lmdb-environment.js";
import type { StoreCommit } from "../../src/platform/store/store.js";
import { CommitPacker, unpackCommits } from "../../src/platform/store/wire.js";

const UUID = "00000000-0000-4000-8000-000000000000";
const WARM_UP = 20;
const GROUPS = 200;

export interface OwnCosts {
  /** Packing, judging and encoding a commit, in milliseconds. */
  readonly judgeMs: number;
  /** Applying it when it is in the log. */
  readonly applyMs: number;
  /** The part of that which the next group waits for. */
  readonly stageShare: number;
}

/**
 * Returns what a commit takes in groups of so many.
 * @param folder for a folder of its own
 * @param commit of that number
 */
export async function ownCosts(
  folder: string,
  { group, commit }: { readonly group: number; readonly commit: (index: number) => StoreCommit },
): Promise<OwnCosts> {
  const environment = openEnvironment(mkdtempSync(join(folder, "replica-")), { isUnsynced: true });
  transact(environment, () => {
    writeMeta(environment, emptyMeta(1));
  });
  const replica = new Replica(environment, undefined);
  const packer = new CommitPacker();
  let mac: Buffer = Buffer.alloc(32);
  let [judgeMs, stageMs, settleMs] = [0, 0, 0];
  for (let g = 1; g <= WARM_UP + GROUPS; g += 1) {
    if (g === WARM_UP + 1) [judgeMs, stageMs, settleMs] = [0, 0, 0];
    const startedMs = performance.now();
    for (let index = 0; index < group; index += 1) packer.add(commit(index + g * group));
    const { change } = replica.evaluate(unpackCommits(packer.take()));
    if (change === undefined) throw new Error("the commits change nothing");
    const { body, first, end } = change;
    const whole = { g, node: UUID, incarnation: UUID, format: ROW_FORMAT, first, ...end, body: encodeBody(body) };
    mac = rowMac(new Uint8Array(32), whole, { cluster: UUID, previous: mac });
    const row: LogRow = { ...whole, mac };
    const judgedMs = performance.now();
    replica.stage(row, UUID, body);
    const stagedMs = performance.now();
    replica.settle();
    judgeMs += judgedMs - startedMs;
    stageMs += stagedMs - judgedMs;
    settleMs += performance.now() - stagedMs;
  }
  await environment.close();
  const commits = GROUPS * group;
  const applyMs = stageMs + settleMs;
  return { judgeMs: judgeMs / commits, applyMs: applyMs / commits, stageShare: stageMs / applyMs };
}
