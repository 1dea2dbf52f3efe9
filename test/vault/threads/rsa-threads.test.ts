import { createPrivateKey, createPublicKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { generateRsaKeyOnThread } from "../../../src/vault/threads/rsa-threads.js";

describe("threads that generate RSA keys", () => {
  it("make a different key each, also side by side", async () => {
    const pairs = await Promise.all(Array.from({ length: 3 }, () => generateRsaKeyOnThread(2048)));
    for (const { pkcs8, spki } of pairs) {
      const key = createPrivateKey({ key: Buffer.from(pkcs8), format: "der", type: "pkcs8" });
      expect(createPublicKey(key).export({ format: "der", type: "spki" }).equals(spki)).toBe(true);
      expect(key.asymmetricKeyDetails).toEqual({ modulusLength: 2048, publicExponent: 65537n });
    }
    expect(new Set(pairs.map(({ spki }) => Buffer.from(spki).toString("hex"))).size).toBe(pairs.length);
  });

  it("hand over memory that holds the key and nothing else", async () => {
    const { pkcs8, spki } = await generateRsaKeyOnThread(2048);
    expect(pkcs8.buffer.byteLength).toBe(pkcs8.length);
    expect(spki.buffer.byteLength).toBe(spki.length);
  });

  it("reject a size that OpenSSL cannot make", async () => {
    await expect(generateRsaKeyOnThread(-1)).rejects.toThrow();
  });
});
