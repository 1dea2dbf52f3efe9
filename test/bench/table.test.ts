import { describe, expect, it } from "vitest";
import type { BenchRow } from "../../bench/subject.js";
import { ratioOf, tableOf } from "../../bench/table.js";

const row = (id: string, peer: string, unit: BenchRow["unit"], median: number, circuit?: string): BenchRow => ({
  subject: "s",
  id,
  peer,
  unit,
  median,
  samples: 1,
  ...(circuit === undefined ? {} : { circuit }),
});

describe("the ratio of a bench row", () => {
  const rows = [
    row("prove", "proofwright fma", "ms", 100, "cubic"),
    row("prove", "proofwright integer", "ms", 150, "cubic"),
    row("prove", "snarkjs", "ms", 700, "cubic"),
    row("prove", "snarkjs", "ms", 900, "mimc"),
    row("commits", "proofwright", "ops/s", 20_900),
    row("commits", "lmdb", "ops/s", 66_000),
    row("memory", "proofwright", "MB", 547),
    row("memory", "snarkjs", "MB", 1192),
  ];

  it.each([
    ["a time", 2, 7],
    ["a rate that ours loses", 5, 20_900 / 66_000],
    ["a size", 7, 1192 / 547],
  ])("is above 1 where ours is better: %s", (_name, index, ratio) => {
    expect(ratioOf(rows[index]!, rows)).toBe(ratio);
  });

  it("compares with the first of ours, and only the same id, circuit and unit", () => {
    expect(ratioOf(rows[0]!, rows)).toBeUndefined();
    expect(ratioOf(rows[1]!, rows)).toBeUndefined();
    expect(ratioOf(rows[3]!, rows)).toBeUndefined();
  });

  it("is missing in words where nothing was measured beside ours", () => {
    const table = tableOf([row("sign", "proofwright", "ops/s", 1), row("sign", "peer", "ops/s", 1)]);
    expect(table).not.toContain("no peer");
    expect(tableOf([row("sign", "proofwright", "ops/s", 1)]).split("\n")[2]).toMatch(/\| no peer +\|/);
  });

  it("is cut and not rounded in the table", () => {
    const table = tableOf([row("sign", "proofwright", "ops/s", 799.9), row("sign", "peer", "ops/s", 1000)]);
    expect(table.split("\n")[3]).toMatch(/\| 0\.79 +\|/);
  });
});
