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
import { OverlaySpace, transactionSpace, type RecordSpace } from "../../../../src/platform/store/lmdb/record-space.js";
import { scrubStoreNow } from "../../../../src/platform/store/lmdb/lmdb-scrub.js";
import type { StoreCommit, StoreKey } from "../../../../src/platform/store/store.js";
import { CommitPacker, unpackCommits, type PackedCommit } from "../../../../src/platform/store/wire.js";
import { seededRandom, type SeededRandom } from "../../../support/seeded.js";
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

function randomGroup(random: SeededRandom): PackedCommit[] {
  const part = (): string | number => random.pick(["a", "b", "ab", 0, 1]);
  const key = (): StoreKey => Array.from({ length: 1 + random.below(3) }, part);
  const keys = (most: number): StoreKey[] => Array.from({ length: random.below(most) }, key);
  const packer = new CommitPacker();
  for (let left = 1 + random.below(8); left > 0; left -= 1) {
    const commit: StoreCommit = {
      checks: keys(2).map((at) => ({ key: at, version: random.chance(0.5) ? "absent" : 1 + random.below(30) })),
      puts: keys(4).map((at) => ({ key: at, value: "x".repeat(random.below(40)) })),
      deletes: keys(2),
      deletePrefixes: random.chance(0.3) ? keys(2) : [],
      appends: random.chance(0.3) ? [{ chain: "log", value: left, indexes: [["by", left]] }] : [],
    };
    packer.add(commit);
  }
  return unpackCommits(packer.take());
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
    const space = new OverlaySpace(judged);
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
