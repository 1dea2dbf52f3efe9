import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { encodeKey } from "../../../src/platform/store/keys.js";
import { decodeRecord, encodeRecord } from "../../../src/platform/store/record.js";

const key = encodeKey(["vault", 1]);
const json = Buffer.from('{"name":"master0"}');
const bytes = Buffer.from(encodeRecord(key, 258, json).bytes);

describe("a stored record", () => {
  it("has the documented layout", () => {
    const body = Buffer.concat([Buffer.from("010000000000000102", "hex"), json]);
    const tag = createHash("sha256").update(Buffer.of(0, key.length)).update(key).update(body).digest().subarray(0, 8);
    expect(bytes.toString("hex")).toBe(Buffer.concat([body, tag]).toString("hex"));
  });

  it("is decoded to what was encoded", () => {
    expect(decodeRecord(key, bytes)).toMatchObject({ version: 258, json });
  });

  it("is the same in one piece and in several, as text and as bytes, at any length and version", () => {
    for (const [length, version] of [
      [0, 0],
      [1, 2 ** 32 - 1],
      [64 * 1024 - 1, 2 ** 32],
      [64 * 1024, Number.MAX_SAFE_INTEGER],
      [300_000, 1],
    ] as const) {
      const text = `"${"x".repeat(length)}"`;
      const whole = Buffer.from(encodeRecord(key, version, Buffer.from(text)).bytes);
      const inPieces = encodeRecord(key, version, text.slice(0, 1), Buffer.from(text.slice(1, -1)), text.slice(-1));
      expect(inPieces.bytes.equals(whole), `${length} bytes`).toBe(true);
      const back = decodeRecord(key, whole);
      expect([back.version, back.tag, back.json.toString()]).toEqual([version, inPieces.tag, text]);
    }
  });

  it("is refused after any single bit flips", () => {
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const rotten = Buffer.from(bytes);
      rotten[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => decodeRecord(key, rotten), `bit ${bit}`).toThrow(
        expect.objectContaining({ code: "data_corrupt", status: 500 }),
      );
    }
  });

  it("is refused under another key, cut short, or empty", () => {
    for (const [at, content] of [
      [encodeKey(["vault", 2]), bytes],
      [key, bytes.subarray(0, -1)],
      [key, bytes.subarray(0, 16)],
      [key, Buffer.alloc(0)],
    ] as const) {
      expect(() => decodeRecord(at, content)).toThrow(expect.objectContaining({ code: "data_corrupt" }));
    }
  });
});
