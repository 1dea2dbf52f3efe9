// Commits on their way to the writer thread arrive as they were sent, however long and in whatever script.
import { describe, expect, it } from "vitest";
import { encodeKey, KEY_BYTES_MAX } from "../../../src/platform/store/keys.js";
import { RECORD_BYTES_MAX } from "../../../src/platform/store/record.js";
import type { StoreCommit, StoreKey } from "../../../src/platform/store/store.js";
import {
  ABSENT,
  APPEND,
  CHECK,
  CommitPacker,
  DELETE,
  DELETE_PREFIX,
  PUT,
  unpackCommits,
  type Operation,
} from "../../../src/platform/store/wire.js";
import { seededRandom } from "../../support/seeded.js";

/** What a commit says, in the order of the operations. */
function expected({ checks = [], puts = [], deletes = [], deletePrefixes = [], appends = [] }: StoreCommit): unknown[] {
  const key = (parts: StoreKey): string => encodeKey(parts).toString("hex");
  return [
    ...checks.map((check) => [CHECK, key(check.key), check.version === "absent" ? ABSENT : check.version]),
    ...deletePrefixes.map((prefix) => [DELETE_PREFIX, key(prefix)]),
    ...deletes.map((deleted) => [DELETE, key(deleted)]),
    ...puts.map((put) => [PUT, key(put.key), JSON.stringify(put.value)]),
    ...appends.map(({ chain, value, indexes = [], unlinked = false }) => [
      APPEND,
      key([chain]),
      JSON.stringify(value),
      unlinked,
      ...indexes.map(key),
    ]),
  ];
}

function arrived(operation: Operation): unknown[] {
  const key = operation.key.toString("hex");
  switch (operation.kind) {
    case CHECK:
      return [CHECK, key, operation.version];
    case PUT:
      return [PUT, key, operation.json.toString()];
    case APPEND:
      return [
        APPEND,
        key,
        operation.json.toString(),
        operation.unlinked,
        ...operation.indexes.map((index) => index.toString("hex")),
      ];
    default:
      return [operation.kind, key];
  }
}

const take = (packer: CommitPacker): { urgent: boolean; operations: unknown[] }[] =>
  unpackCommits(packer.take()).map(({ urgent, operations }) => ({ urgent, operations: operations.map(arrived) }));

describe("packed commits", () => {
  it("are unpacked to what was packed", () => {
    const random = seededRandom();
    const many = <T>(make: () => T): T[] => Array.from({ length: random.below(4) }, make);
    const text = (): string =>
      random.pick(["", "a", "\u0000b", "\u00e4\u20ac\ud83d\ude00", "x"]).repeat(random.pick([1, 3, 40]));
    const key = (): StoreKey => [text(), random.pick([0, -1.5, 2 ** 40]), text()];
    const value = (): string =>
      random
        .pick(["v", "\u20ac", "\ud83d\ude00", "\ud800", '"\n'])
        .repeat(random.pick([0, 1, 900, 5_500, 16_383, 16_384, 40_000]));
    const packer = new CommitPacker();
    for (let round = 0; round < 60; round += 1) {
      const commits = Array.from({ length: 1 + random.below(5) }, (): StoreCommit => ({
        checks: many(() => ({ key: key(), version: random.pick(["absent" as const, 0, 7, 2 ** 50]) })),
        puts: many(() => ({ key: key(), value: value() })),
        deletes: many(key),
        deletePrefixes: many(key),
        appends: many(() => ({ chain: text(), value: value(), indexes: many(key), unlinked: random.chance(0.5) })),
        urgent: random.chance(0.5),
      }));
      for (const commit of commits) packer.add(commit);
      expect(take(packer), `seed ${random.seed}, round ${round}`).toEqual(
        commits.map((commit) => ({ urgent: commit.urgent, operations: expected(commit) })),
      );
    }
  });

  it("leave no trace of one that cannot be packed", () => {
    const packer = new CommitPacker();
    const good = { puts: [{ key: ["k"], value: 1 }] };
    packer.add(good);
    for (const bad of [
      ["k".repeat(KEY_BYTES_MAX)],
      [Number.NaN],
      ["\ud800"],
      [...Array.from({ length: 10 }, () => "k".repeat(200))],
    ]) {
      expect(() =>
        packer.add({
          puts: [
            { key: ["k"], value: 1 },
            { key: bad, value: 1 },
          ],
        }),
      ).toThrow(expect.objectContaining({ code: "invalid_request" }));
    }
    packer.add(good);
    expect(take(packer)).toEqual([good, good].map((commit) => ({ urgent: false, operations: expected(commit) })));
  });

  it.each([
    ["ASCII", "x", 1],
    ["three bytes a character", "\u20ac", 3],
  ])("a record may be as long as the limit and no longer: %s", (_, letter, bytes) => {
    const packer = new CommitPacker();
    const fits = Math.floor((RECORD_BYTES_MAX - 2) / bytes);
    packer.add({ puts: [{ key: ["k"], value: letter.repeat(fits) }] });
    expect(() => packer.add({ puts: [{ key: ["k"], value: letter.repeat(fits + 1) }] })).toThrow(
      expect.objectContaining({ code: "invalid_request" }),
    );
    expect(packer.commits).toBe(1);
  });
});
