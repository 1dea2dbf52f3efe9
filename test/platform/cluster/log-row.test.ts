/** Rows of the cluster's log: their bytes, and that their codes cover everything that they say. */
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  decodeBody,
  encodeBody,
  logKeyOf,
  rowMac,
  startMac,
  type LogRow,
} from "../../../src/platform/cluster/log/log-row.js";
import { seededRandom } from "../../support/seeded.js";

const CLUSTER = "7a4c1f2e-0000-4000-8000-00000000000a";
const OTHER = "7a4c1f2e-0000-4000-8000-00000000000b";
const KEY = logKeyOf(new Uint8Array(32).fill(1));
const PREVIOUS = Buffer.alloc(32, 2);
const ROW: Omit<LogRow, "mac"> = {
  g: 7,
  node: CLUSTER,
  incarnation: CLUSTER,
  format: 1,
  first: 11,
  version: 12,
  count: 30,
  tagSum: 2n ** 64n - 1n,
  body: encodeBody({ logs: ["audit"], changes: [{ key: Buffer.from("k"), bytes: Buffer.from("v") }] }),
};

describe("the body of a row", () => {
  it("comes back as it was", () => {
    const random = seededRandom();
    for (let round = 0; round < 50; round += 1) {
      const changes = Array.from({ length: random.below(20) }, () => ({
        key: randomBytes(1 + random.below(1900)),
        bytes: random.chance(0.3) ? undefined : randomBytes(random.below(5000)),
      }));
      const body = { logs: Array.from({ length: random.below(3) }, (_, index) => `log-${String(index)}-é`), changes };
      expect(decodeBody(encodeBody(body)), `seed ${String(random.seed)}`).toEqual(body);
    }
  });

  it("is refused when it is cut off, longer, of another version or of an unknown kind of change", () => {
    const { body } = ROW;
    for (let length = 0; length < body.length; length += 1)
      expect(() => decodeBody(body.subarray(0, length)), String(length)).toThrow(/not written by a node/);
    const version = Buffer.from(body);
    version[0] = 2;
    const kind = Buffer.from(body);
    kind[1 + 2 + 2 + 5 + 4] = 3;
    for (const wrong of [Buffer.concat([body, Buffer.of(0)]), version, kind])
      expect(() => decodeBody(wrong)).toThrow(/not written by a node/);
  });
});

describe("the code of a row", () => {
  it("changes with the key, the cluster, the row before and every member", () => {
    const link = { cluster: CLUSTER, previous: PREVIOUS };
    const changed: Partial<LogRow>[] = [
      { g: 8 },
      { node: OTHER },
      { incarnation: OTHER },
      { format: 2 },
      { first: 10 },
      { version: 13 },
      { count: 31 },
      { tagSum: 0n },
      { body: encodeBody({ logs: [], changes: [] }) },
    ];
    const codes = [
      rowMac(KEY, ROW, link),
      rowMac(logKeyOf(new Uint8Array(32).fill(2)), ROW, link),
      rowMac(KEY, ROW, { ...link, cluster: OTHER }),
      rowMac(KEY, ROW, { ...link, previous: Buffer.alloc(32, 3) }),
      ...changed.map((change) => rowMac(KEY, { ...ROW, ...change }, link)),
      startMac(KEY, CLUSTER, ROW),
      startMac(KEY, OTHER, ROW),
    ].map((code) => code.toString("hex"));
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes.every((code) => code.length === 64)).toBe(true);
  });

  it("needs a cluster key of 32 bytes", () => {
    for (const bytes of [0, 31, 33]) expect(() => logKeyOf(new Uint8Array(bytes))).toThrow(/32 bytes/);
  });
});
