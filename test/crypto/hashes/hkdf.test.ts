import { createHmac, createSecretKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { hkdfKey, hkdfSha256 } from "../../../src/crypto/hashes/hkdf.js";

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "hex"));
const range = (from: number, to: number): string =>
  Buffer.from(Array.from({ length: to - from + 1 }, (_, i) => from + i)).toString("hex");

// SOURCE: RFC 5869, appendix A, test cases 1 to 3.
const VECTORS = [
  {
    ikm: "0b".repeat(22),
    salt: range(0x00, 0x0c),
    info: range(0xf0, 0xf9),
    okm: "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
  },
  {
    ikm: range(0x00, 0x4f),
    salt: range(0x60, 0xaf),
    info: range(0xb0, 0xff),
    okm: "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
  },
  {
    ikm: "0b".repeat(22),
    salt: "",
    info: "",
    okm: "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
  },
];

describe("HKDF-SHA256 (RFC 5869)", () => {
  it.each(VECTORS.map((vector, i) => [i + 1, vector] as const))(
    "answers test case %i",
    (_number, { ikm, salt, info, okm }) => {
      const input = { salt: hex(salt), info: hex(info), lengthBytes: okm.length / 2 };
      expect(Buffer.from(hkdfSha256({ ikm: hex(ikm), ...input })).toString("hex")).toBe(okm);
      expect(Buffer.from(hkdfSha256({ ikm: createSecretKey(hex(ikm)), ...input })).toString("hex")).toBe(okm);
    },
  );

  it("agrees with an independent implementation on both sides of OpenSSL's limit of 1024 bytes of info", () => {
    for (const length of [0, 1, 1023, 1024, 1025, 5000]) {
      const input = { salt: hex("00ff"), info: Buffer.alloc(length, 0x61), lengthBytes: 64 };
      // RFC 5869 section 2.3 written out: T(1) = HMAC(PRK, info || 1), T(2) = HMAC(PRK, T(1) || info || 2).
      const prk = createHmac("sha256", input.salt)
        .update(hex("0b".repeat(22)))
        .digest();
      const t1 = createHmac("sha256", prk).update(input.info).update(Buffer.of(1)).digest();
      const t2 = createHmac("sha256", prk).update(t1).update(input.info).update(Buffer.of(2)).digest();
      for (const ikm of [hex("0b".repeat(22)), createSecretKey(hex("0b".repeat(22)))])
        expect(Buffer.from(hkdfSha256({ ikm, ...input }))).toEqual(Buffer.concat([t1, t2]));
    }
  });

  it("derives the same 32 bytes as a KeyObject", () => {
    const input = { ikm: hex("0b".repeat(22)), salt: hex("00"), info: hex("01") };
    expect(hkdfKey(input).export()).toEqual(Buffer.from(hkdfSha256({ ...input, lengthBytes: 32 })));
  });
});
