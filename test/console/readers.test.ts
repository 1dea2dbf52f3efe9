/** What the console reads: events of a stream, addresses, audit lines, arguments, permissions, amounts. */
import { describe, expect, it } from "vitest";
import { checkAuditLines } from "../../src/console/browser/audit/audit-chain.js";
import { abiArgument, isReading } from "../../src/console/browser/chain/abi-arguments.js";
import { ago, bytes, duration, ether, short } from "../../src/console/browser/parts/format.js";
import { EventReader } from "../../src/console/browser/parts/sse.js";
import { PERMISSION_NAMES, permissionBits, permissionNames } from "../../src/console/browser/people/permissions.js";
import { PERMISSIONS } from "../../src/platform/auth/permissions.js";

describe("the reader of events", () => {
  const TEXT =
    'id: 7\ndata: {"a":1}\n\n: a comment\n\nid: 8\r\ndata: one\r\ndata: two\r\n\r\ndata: three\n\nid: 9\ndata: open';

  it("reads the same whatever pieces arrive", () => {
    const expected = [
      { id: "7", data: '{"a":1}' },
      { id: "8", data: "one\ntwo" },
      { id: "8", data: "three" },
    ];
    for (let size = 1; size <= TEXT.length; size += 1) {
      const reader = new EventReader();
      const found = [];
      for (let at = 0; at < TEXT.length; at += size) found.push(...reader.push(TEXT.slice(at, at + size)));
      expect(found).toEqual(expected);
    }
  });
});

describe("the check of audit lines", () => {
  const line = (number: number, at = "2026-01-01T00:00:00.000Z"): string =>
    JSON.stringify({ number, mac: "ab".repeat(32), event: { at } });

  it("goes on over pages and ends with the head", () => {
    const first = checkAuditLines(`${line(1)}\n${line(2)}\n`);
    expect(checkAuditLines(`${line(3)}\n`, first)).toEqual({
      records: 3,
      head: `3:${"ab".repeat(32)}`,
      fault: undefined,
    });
  });

  it.each([
    [`${line(1)}\n${line(3)}`, 1, "Record 2 is missing; 3 comes in its place."],
    [`${line(1)}\n${line(1)}`, 1, "Record 2 is missing; 1 comes in its place."],
    [line(1).replace("abab", "ab"), 0, "Record 1 has no link."],
    [`${line(1)}\n{"number": 2`, 1, "The line after record 1 is not JSON."],
    [`${line(1)}\n${line(2, "2025-01-01T00:00:00.000Z")}`, 1, "Record 2 is older than the one before it."],
  ])("finds what is wrong with %j", (text, records, fault) => {
    expect(checkAuditLines(text)).toMatchObject({ records, fault });
  });
});

describe("the arguments of contracts", () => {
  it("are read by their types", () => {
    const of = (type: string, text: string): unknown => abiArgument({ name: "x", type }, text);
    expect(of("uint256", " 5 ")).toBe("5");
    expect(of("bool", "true")).toBe(true);
    expect(of("string", " as it is ")).toBe(" as it is ");
    expect(of("uint8[]", '["1"]')).toEqual(["1"]);
    expect(() => of("uint256", "5.5")).toThrow("x must be a whole number.");
    expect(() => of("bool", "yes")).toThrow("x must be true or false.");
    expect(() => of("address", "")).toThrow("x is empty.");
    expect(() => of("tuple", "1,2")).toThrow("x takes JSON");
    expect(["view", "pure", "payable", "nonpayable", undefined].map(isReading)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe("permissions", () => {
  it("are the server's, bit by bit", () => {
    expect(Object.fromEntries(PERMISSION_NAMES.map((name) => [name, permissionBits([name])]))).toEqual(PERMISSIONS);
    expect(permissionNames(permissionBits(["read", "sudo"]))).toEqual(["read", "sudo"]);
  });
});

describe("figures", () => {
  it("read as people write them", () => {
    expect([0, 999, 1000, 12_345, 123_456, 5_000_000].map(bytes)).toEqual([
      "0 B",
      "999 B",
      "1.0 KB",
      "12.3 KB",
      "123 KB",
      "5.0 MB",
    ]);
    expect([1.23, 45.6, 1234, 12_345, 125_000].map(duration)).toEqual([
      "1.2 ms",
      "46 ms",
      "1.23 s",
      "12.3 s",
      "2 min 5 s",
    ]);
    expect(["1000000000000000000", "1", 0, "1500000000000000000"].map(ether)).toEqual(["1", "< 0.000001", "0", "1.5"]);
    expect(short("0123456789abcdef")).toBe("01234567…cdef");
    expect(ago("2026-01-01T00:00:00Z", Date.parse("2026-01-01T02:30:00Z"))).toBe("2 h ago");
  });
});
