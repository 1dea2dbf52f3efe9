import { createSecretKey, type KeyObject } from "node:crypto";
import { shake128 } from "@noble/hashes/sha3.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AuthenticationFailure } from "../../../src/crypto/ciphers/aead.js";
import { xaes256Gcm } from "../../../src/crypto/ciphers/xaes-256-gcm.js";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const NONCE = utf8("ABCDEFGHIJKLMNOPQRSTUVWX");

// SOURCE: https://c2sp.org/XAES-256-GCM, "Test vectors": first with the MSB of L clear, second with it set.
const VECTORS = [
  { key: 0x01, aad: "", sealed: "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271" },
  { key: 0x03, aad: "c2sp.org/XAES-256-GCM", sealed: "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d" },
];
// SOURCE: the same document, accumulated test: SHAKE-128 of 10,000 random ciphertexts.
const ACCUMULATED_10000 = "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939";

describe("XAES-256-GCM (C2SP)", () => {
  it.each(VECTORS)("answers the published vector for key $key", ({ key, aad, sealed }) => {
    const input = { key: createSecretKey(Buffer.alloc(32, key)), nonce: NONCE, aad: utf8(aad) };
    expect(hex(xaes256Gcm.seal(input, utf8("XAES-256-GCM")))).toBe(sealed);
    expect(Buffer.from(xaes256Gcm.open(input, Buffer.from(sealed, "hex"))).toString()).toBe("XAES-256-GCM");
  });

  it("answers the accumulated vector of 10,000 messages", () => {
    const source = shake128.create();
    const digest = shake128.create();
    const lengthByte = (): number => source.xof(1)[0]!;
    for (let i = 0; i < 10_000; i += 1) {
      const key = createSecretKey(source.xof(32));
      const nonce = source.xof(24);
      const plaintext = source.xof(lengthByte());
      const aad = source.xof(lengthByte());
      const sealed = xaes256Gcm.seal({ key, nonce, aad }, plaintext);
      if (i % 100 === 0) expect(hex(xaes256Gcm.open({ key, nonce, aad }, sealed))).toBe(hex(plaintext));
      digest.update(sealed);
    }
    expect(hex(digest.xof(32))).toBe(ACCUMULATED_10000);
  });

  it("opens what it sealed, whatever the sizes", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.uint8Array({ minLength: 24, maxLength: 24 }),
        fc.uint8Array({ maxLength: 300 }),
        fc.uint8Array({ maxLength: 300 }),
        (key, nonce, aad, plaintext) => {
          const input = { key: createSecretKey(key), nonce, aad };
          expect(hex(xaes256Gcm.open(input, xaes256Gcm.seal(input, plaintext)))).toBe(hex(plaintext));
        },
      ),
    );
  });

  it("refuses every flipped bit of ciphertext and tag, another nonce, other associated data, and short input", () => {
    const input = { key: createSecretKey(Buffer.alloc(32, 9)), nonce: NONCE, aad: utf8("place") };
    const sealed = xaes256Gcm.seal(input, utf8("twelve bytes"));
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const bad = Uint8Array.from(sealed);
      bad[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => xaes256Gcm.open(input, bad)).toThrow(AuthenticationFailure);
    }
    for (let i = 0; i < 24; i += 1) {
      const nonce = Uint8Array.from(NONCE);
      nonce[i]! ^= 1;
      expect(() => xaes256Gcm.open({ ...input, nonce }, sealed)).toThrow(AuthenticationFailure);
    }
    expect(() => xaes256Gcm.open({ ...input, aad: utf8("elsewhere") }, sealed)).toThrow(AuthenticationFailure);
    for (let length = 0; length < sealed.length; length += 1)
      expect(() => xaes256Gcm.open(input, sealed.subarray(0, length))).toThrow(AuthenticationFailure);
  });

  it("refuses keys and nonces of another length", () => {
    const key = createSecretKey(Buffer.alloc(32, 9));
    expect(() =>
      xaes256Gcm.seal({ key: createSecretKey(Buffer.alloc(16)), nonce: NONCE, aad: utf8("") }, utf8("")),
    ).toThrow(TypeError);
    expect(() => xaes256Gcm.seal({ key, nonce: NONCE.subarray(12), aad: utf8("") }, utf8(""))).toThrow(TypeError);
  });

  it("never writes a nonce twice, and begins at most 128 of a key alike", () => {
    const keys = [1, 2].map((byte) => createSecretKey(Buffer.alloc(32, byte)));
    const nonces = new Set<string>();
    const begins = new Map<string, number>();
    const beginsOf = new Map(keys.map((key) => [key, new Set<string>()]));
    const count = 20_000;
    for (let i = 0; i < count; i += 1) {
      const key = keys[i % 2]!;
      const nonce = new Uint8Array(24);
      xaes256Gcm.writeNonce(key, nonce);
      nonces.add(hex(nonce));
      const begin = hex(nonce.subarray(0, 12));
      begins.set(begin, (begins.get(begin) ?? 0) + 1);
      beginsOf.get(key)!.add(begin);
    }
    expect(nonces.size).toBe(count);
    expect(Math.max(...begins.values())).toBe(128);
    expect([...beginsOf.get(keys[0]!)!].filter((begin) => beginsOf.get(keys[1]!)!.has(begin))).toEqual([]);
    // Halves of random bits: each bit is set in about half of them.
    const ends = [...nonces].map((nonce) => Buffer.from(nonce.slice(24), "hex"));
    for (let bit = 0; bit < 96; bit += 1) {
      const set = ends.filter((end) => (end[bit >> 3]! >> (bit & 7)) & 1).length;
      expect(Math.abs(set - count / 2), `bit ${String(bit)}`).toBeLessThan(count / 20);
    }
  });

  it("takes the sub-key of the nonce at hand, whatever came before under the same key", () => {
    const key = createSecretKey(Buffer.alloc(32, 7));
    const fresh = (): KeyObject => createSecretKey(Buffer.alloc(32, 7));
    const nonce = new Uint8Array(24);
    const [one, other] = [Buffer.alloc(24, 1), Buffer.alloc(24, 2)];
    for (let i = 0; i < 300; i += 1) {
      xaes256Gcm.writeNonce(key, nonce);
      const aad = utf8(String(i));
      const sealed = xaes256Gcm.seal({ key, nonce, aad }, utf8("text"));
      expect(hex(xaes256Gcm.seal({ key: fresh(), nonce, aad }, utf8("text")))).toBe(hex(sealed));
      const between = i % 3 === 0 ? one : other;
      const known = xaes256Gcm.seal({ key: fresh(), nonce: between, aad }, utf8("between"));
      expect(Buffer.from(xaes256Gcm.open({ key, nonce: between, aad }, known)).toString()).toBe("between");
      expect(Buffer.from(xaes256Gcm.open({ key, nonce, aad }, sealed)).toString()).toBe("text");
    }
  });
});
