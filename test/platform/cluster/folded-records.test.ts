/** How many folded records one statement has, whatever their size: PostgreSQL takes no message of a gigabyte. */
import type pg from "pg";
import { expect, it } from "vitest";
import { putRecords } from "../../../src/platform/cluster/log/folded-records.js";
import { seededRandom } from "../../support/seeded.js";

const MEBIBYTE = 2 ** 20;

it("are written in their order, by statements of 2,000 records and 16 MiB at most, or of one", async () => {
  const random = seededRandom();
  const sizes = Array.from({ length: 6_000 }, () =>
    random.chance(0.01) ? random.below(6 * MEBIBYTE) : random.below(200),
  );
  sizes.push(17 * MEBIBYTE, 3);
  const statements: Buffer[][] = [];
  const client = {
    query: (_: string, [keys, values]: [Buffer[], Buffer[]]) => {
      expect(values.length).toBe(keys.length);
      statements.push(values);
    },
  } as unknown as pg.Client;
  const room = Buffer.alloc(17 * MEBIBYTE);
  await putRecords(
    client,
    sizes.map((size, index) => ({ key: Buffer.of(index), bytes: room.subarray(0, size) })),
  );
  expect(statements.flat().map(({ length }) => length)).toEqual(sizes);
  for (const values of statements) {
    const bytes = values.reduce((sum, { length }) => sum + length, 0);
    expect(values.length, `seed ${String(random.seed)}`).toBeLessThanOrEqual(2_000);
    if (values.length > 1) expect(bytes, `seed ${String(random.seed)}`).toBeLessThanOrEqual(16 * MEBIBYTE);
  }
});
