import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readSealKey, SEAL_BODY_BYTES_MAX } from "../../../src/vault/seal/seal-request.js";
import { codeOf, PHRASE } from "../support.js";

const read = (text: string): string => Buffer.from(readSealKey(Buffer.from(text))).toString();

describe("the body of unseal and seal", () => {
  it("gives the text of the member key, whatever the white space and escapes", () => {
    expect(read(`{"key":"${PHRASE}"}`)).toBe(PHRASE);
    expect(read(` \t\r\n{ "key" : "a b"\n} `)).toBe("a b");
    expect(read('{"\\u006bey":"\\u0061\\tb\\n\\"\\\\\\/\\b\\f\\r\\u00e4\\u3000"}')).toBe('a\tb\n"\\/\b\f\rä\u3000');
    expect(read('{"key":"grüße"}')).toBe("grüße");
  });

  it("agrees with JSON.parse on any text without surrogates", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 100 }), fc.boolean(), (text, spaced) => {
        const body = JSON.stringify({ key: text }, null, spaced ? 2 : undefined);
        expect(read(body)).toBe(text);
      }),
    );
  });

  it.each([
    ["", "malformed_json"],
    ["{", "malformed_json"],
    ["[]", "malformed_json"],
    ['"key"', "malformed_json"],
    ["null", "malformed_json"],
    ['{"key":"a"', "malformed_json"],
    ['{"key":"a"} x', "malformed_json"],
    ['{"key":"a"}{', "malformed_json"],
    ['{"key" "a"}', "malformed_json"],
    ['{"key":"a\nb"}', "malformed_json"],
    ['{"key":"\\x61"}', "malformed_json"],
    ['{"key":"\\u00g1"}', "malformed_json"],
    ['{"key":"\\ud83d\\ude00"}', "malformed_json"],
    ['{"key":"a\\', "malformed_json"],
    ['{"key":"a', "malformed_json"],
    ["{key:1}", "malformed_json"],
    ['{"other":"a"}', "unknown_member"],
    ['{"key":"a","key":"b"}', "unknown_member"],
    ['{"key":"a","more":1}', "unknown_member"],
    ['{"Key":"a"}', "unknown_member"],
    ["{}", "invalid_request"],
    ['{"key":""}', "invalid_request"],
    ['{"key":1}', "invalid_request"],
    ['{"key":null}', "invalid_request"],
    ['{"key":["a"]}', "invalid_request"],
    [`{"key":"${"a".repeat(SEAL_BODY_BYTES_MAX)}"}`, "body_too_large"],
  ])("refuses %j as %s", async (text, code) => {
    expect(await codeOf(() => read(text))).toBe(code);
  });

  it("overwrites the body, read or refused, and repeats nothing of it in an error", () => {
    for (const text of [`{"key":"${PHRASE}"}`, `{"${PHRASE}":1}`, `{"key":"${PHRASE}`, `{"key":"${PHRASE}","a":1}`]) {
      const body = Buffer.from(text);
      let message = "";
      try {
        readSealKey(body);
      } catch (error) {
        message = `${String(error)} ${JSON.stringify(error)}`;
      }
      expect(body.every((byte) => byte === 0)).toBe(true);
      expect(message).not.toContain("winner");
    }
  });

  it("hands the phrase over in shared memory, so that crossing threads copies nothing", () => {
    expect(readSealKey(Buffer.from(`{"key":"${PHRASE}"}`)).buffer).toBeInstanceOf(SharedArrayBuffer);
  });
});
