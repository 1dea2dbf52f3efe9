import { createSecretKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { AuthenticationFailure } from "../../../src/crypto/ciphers/aead.js";
import { xchacha20Poly1305 } from "../../../src/crypto/ciphers/xchacha20-poly1305.js";

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "hex"));

// SOURCE: draft-irtf-cfrg-xchacha-03, appendix A.3.1.
const KEY = createSecretKey(bytes("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"));
const NONCE = bytes("404142434445464748494a4b4c4d4e4f5051525354555657");
const AAD = bytes("50515253c0c1c2c3c4c5c6c7");
const PLAINTEXT =
  "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.";
const SEALED =
  "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49";

describe("XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha)", () => {
  it("answers the published vector", () => {
    const input = { key: KEY, nonce: NONCE, aad: AAD };
    expect(Buffer.from(xchacha20Poly1305.seal(input, Buffer.from(PLAINTEXT))).toString("hex")).toBe(SEALED);
    expect(Buffer.from(xchacha20Poly1305.open(input, bytes(SEALED))).toString()).toBe(PLAINTEXT);
  });

  it("refuses a changed tag, other associated data and short input", () => {
    const sealed = bytes(SEALED);
    sealed[sealed.length - 1]! ^= 1;
    expect(() => xchacha20Poly1305.open({ key: KEY, nonce: NONCE, aad: AAD }, sealed)).toThrow(AuthenticationFailure);
    expect(() => xchacha20Poly1305.open({ key: KEY, nonce: NONCE, aad: bytes("50") }, bytes(SEALED))).toThrow(
      AuthenticationFailure,
    );
    expect(() => xchacha20Poly1305.open({ key: KEY, nonce: NONCE, aad: AAD }, new Uint8Array(15))).toThrow(
      AuthenticationFailure,
    );
  });
});
