/** Groups that are decided in memory over LMDB, against groups that are written as they are decided. */
import { afterAll, expect, it } from "vitest";
import { ChainKey } from "../../../../src/platform/store/chain.js";
import { evaluateCommit } from "../../../../src/platform/store/lmdb/commit-evaluation.js";
import { ChainTails } from "../../../../src/platform/store/lmdb/lmdb-chains.js";
import { ChangeSet } from "../../../../src/platform/store/lmdb/lmdb-changes.js";
import {
  emptyMeta,
  openEnvironment,
  readMeta,
  transact,
  writeMeta,
  type Environment,
  type StoreMeta,
} from "../../../../src/platform/store/lmdb/lmdb-environment.js";
import { storedMeta } from "../../../../src/platform/store/lmdb/lmdb-migrate.js";
import { readRange } from "../../../../src/platform/store/lmdb/lmdb-reader.js";
import {
  OverlaySpace,
  storedRecords,
  transactionSpace,
  type RecordSpace,
} from "../../../../src/platform/store/lmdb/record-space.js";
import { scrubStoreNow } from "../../../../src/platform/store/lmdb/lmdb-scrub.js";
import type { PackedCommit } from "../../../../src/platform/store/wire.js";
import { randomGroup } from "../../../support/random-commits.js";
import { seededRandom } from "../../../support/seeded.js";
import { newFolder, removeFolder } from "../../../support/temporary-folder.js";

const CHAIN_KEY = new ChainKey(new Uint8Array(32));
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) removeFolder(folder);
});

function open(): Environment {
  const folder = newFolder("space");
  folders.push(folder);
  const environment = openEnvironment(folder);
  transact(environment, () => {
    writeMeta(environment, emptyMeta(1));
  });
  return environment;
}

/** Decides a group in a space; returns its outcomes. */
function decide(commits: readonly PackedCommit[], space: RecordSpace, meta: StoreMeta): unknown[] {
  const tails = new ChainTails(space, CHAIN_KEY);
  const outcomes = commits.map((commit) => {
    const evaluated = evaluateCommit(commit, space, tails);
    if (!(evaluated instanceof ChangeSet)) return evaluated;
    evaluated.write(meta);
    return "applied";
  });
  tails.write(meta);
  return outcomes;
}

it("have the same outcomes, records and sums, and nothing is written while they are decided", async () => {
  const random = seededRandom();
  const [written, judged] = [open(), open()];
  for (let round = 0; round < 150; round += 1) {
    const group = randomGroup(random);
    const label = `round ${String(round)}, seed ${String(random.seed)}`;
    let expected: unknown[] = [];
    transact(written, () => {
      const meta = storedMeta(written);
      expected = decide(group, transactionSpace(written), meta);
      writeMeta(written, meta);
    });
    written.resetReadTxn();
    const before = readRange(judged, []);
    const meta = storedMeta(judged);
    const space = new OverlaySpace(storedRecords(judged));
    expect(decide(group, space, meta), label).toEqual(expected);
    judged.resetReadTxn();
    expect(readRange(judged, []), label).toEqual(before);
    transact(judged, () => {
      for (const { key, bytes } of space.changes)
        if (bytes === undefined) void judged.remove(key);
        else void judged.put(key, bytes);
      writeMeta(judged, meta);
    });
    judged.resetReadTxn();
    expect(readMeta(judged), label).toEqual(readMeta(written));
    expect(readRange(judged, []), label).toEqual(readRange(written, []));
  }
  expect(scrubStoreNow(judged)).toMatchObject({ sound: true });
  await written.close();
  await judged.close();
});
