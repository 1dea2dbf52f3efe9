// Deterministic nonces: published values, and the candidates after the first against the library's generator.
import { createHash, createHmac } from "node:crypto";
import { createHmacDrbg } from "@noble/curves/utils.js";
import { describe, expect, it } from "vitest";
import { DeterministicNonces } from "../../../src/crypto/secp256k1/rfc6979.js";

const hex = (text: string): Buffer => Buffer.from(text, "hex");
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const sha256 = (message: string): Buffer => createHash("sha256").update(message).digest();
const KEY = hex("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");

describe("RFC 6979 nonces", () => {
  // SOURCE: RFC 6979, A.2.5 (the order of P-256 has 256 bits as well), SHA-256.
  it.each([
    ["sample", "a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60"],
    ["test", "d16b6ae827f17175e040871a1c7ec3500192c4c92677336ec2537acaee0008e0"],
  ])("have the published value for %j", (message, nonce) => {
    expect(text(new DeterministicNonces(KEY, sha256(message)).next())).toBe(nonce);
  });

  it("go on as the library's generator does", () => {
    const digest = sha256("go on");
    const wanted: string[] = [];
    const library = createHmacDrbg<boolean>(32, 32, (key: Uint8Array, message: Uint8Array) =>
      createHmac("sha256", key).update(message).digest(),
    );
    library(Buffer.concat([KEY, digest]), (candidate) => wanted.push(text(candidate)) === 4 || undefined);
    const nonces = new DeterministicNonces(KEY, digest);
    expect(wanted.map(() => text(nonces.next()))).toEqual(wanted);
    expect(new Set(wanted).size).toBe(4);
  });

  it("are overwritten when they are not needed any more", () => {
    const nonces = new DeterministicNonces(KEY, sha256("sample"));
    const first = nonces.next();
    const second = nonces.next();
    expect(first.every((byte) => byte === 0)).toBe(true);
    expect(second.some((byte) => byte !== 0)).toBe(true);
    nonces.wipe();
    expect(second.every((byte) => byte === 0)).toBe(true);
  });

  it("are made of 32 bytes each", () => {
    expect(() => new DeterministicNonces(KEY.subarray(1), sha256("m"))).toThrow(TypeError);
    expect(() => new DeterministicNonces(KEY, Buffer.alloc(20))).toThrow(TypeError);
  });
});
