import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { encodeKey } from "../../../src/platform/store/keys.js";
import { decodeRecord, encodeRecord } from "../../../src/platform/store/record.js";

const key = encodeKey(["vault", 1]);
const json = Buffer.from('{"name":"master0"}');
const { bytes } = encodeRecord(key, 258, json);

describe("a stored record", () => {
  it("has the documented layout", () => {
    const body = Buffer.concat([Buffer.from("010000000000000102", "hex"), json]);
    const tag = createHash("sha256").update(Buffer.of(0, key.length)).update(key).update(body).digest().subarray(0, 8);
    expect(bytes.toString("hex")).toBe(Buffer.concat([body, tag]).toString("hex"));
  });

  it("comes back whole", () => {
    expect(decodeRecord(key, bytes)).toMatchObject({ version: 258, json });
  });

  it("is refused after any single bit flips", () => {
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const rotten = Buffer.from(bytes);
      rotten[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => decodeRecord(key, rotten), `bit ${bit}`).toThrow(expect.objectContaining({ code: "data_corrupt", status: 500 }));
    }
  });

  it("is refused under another key, cut short, or empty", () => {
    for (const [at, content] of [[encodeKey(["vault", 2]), bytes], [key, bytes.subarray(0, -1)], [key, bytes.subarray(0, 16)], [key, Buffer.alloc(0)]] as const) {
      expect(() => decodeRecord(at, content)).toThrow(expect.objectContaining({ code: "data_corrupt" }));
    }
  });
});
