/** Commits over few keys, so that they meet: checks that hold or not, writes, deletions of records and prefixes, logs. */
import type { StoreCommit, StoreKey } from "../../src/platform/store/store.js";
import { CommitPacker, unpackCommits, type PackedCommit } from "../../src/platform/store/wire.js";
import type { SeededRandom } from "./seeded.js";

/** Returns a group of one to eight. */
export function randomGroup(random: SeededRandom): PackedCommit[] {
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
