import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createRefreshToken,
  createSuccessorSalt,
  parseRefreshToken,
  succeedingToken,
} from "../../../src/platform/auth/refresh-token.js";

describe("refresh token text", () => {
  it("has its prefix, 32 bytes and a checksum, and reads back", () => {
    for (let i = 0; i < 100; i++) {
      const token = createRefreshToken();
      expect(token.text).toMatch(/^prt_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}$/);
      expect(parseRefreshToken(token.text)).toEqual(token);
    }
  });

  it("keeps its handle over a rotation and changes its hash", () => {
    const first = createRefreshToken();
    const second = succeedingToken(first, createSuccessorSalt());
    expect(second.handleHash).toBe(first.handleHash);
    expect(second.tokenHash).not.toBe(first.tokenHash);
    expect(second.text).not.toBe(first.text);
  });

  it("follows from the replaced token and the salt of the rotation, and from nothing less", () => {
    const [first, other] = [createRefreshToken(), createRefreshToken()];
    const [salt, otherSalt] = [createSuccessorSalt(), createSuccessorSalt()];
    const second = succeedingToken(first, salt);
    expect(succeedingToken(parseRefreshToken(first.text)!, salt)).toEqual(second);
    expect(parseRefreshToken(second.text)).toEqual(second);
    expect(succeedingToken(first, otherSalt).text).not.toBe(second.text);
    expect(succeedingToken(other, salt).tokenHash.slice(0, 32)).not.toBe(second.tokenHash.slice(0, 32));
  });

  it("is refused with any one character changed", () => {
    const { text } = createRefreshToken();
    const characters = fc.constantFrom(...Array.from("ABCXYZabcxyz0189_-.+/= "));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: text.length - 1 }), characters, (at, character) => {
        fc.pre(text[at] !== character);
        expect(parseRefreshToken(text.slice(0, at) + character + text.slice(at + 1))).toBeUndefined();
      }),
    );
  });

  it.each([
    "",
    "prt_",
    "prt_ü",
    "eyJhbGciOiJub25lIn0.e30.",
    "PRT_" + "A".repeat(49),
    "prt_" + "A".repeat(49),
    "prt_" + "A".repeat(5000),
  ])("is refused as %j", (text) => {
    expect(parseRefreshToken(text)).toBeUndefined();
  });

  it("is refused in a second spelling of the same bytes, even with a checksum made for it", () => {
    // The last of 43 characters carries two unused bits; a decoder that ignores them reads four spellings as one token.
    const { text } = createRefreshToken();
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(text[46]!);
    for (const twin of [1, 2, 3]) {
      const respelt = text.slice(0, 46) + alphabet[(last & ~3) | ((last + twin) & 3)]!;
      expect(parseRefreshToken(respelt + text.slice(47))).toBeUndefined();
    }
  });
});
