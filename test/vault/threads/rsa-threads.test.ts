import { createPrivateKey, createPublicKey } from "node:crypto";
import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { RsaThreads } from "../../../src/vault/threads/rsa-threads.js";

describe("threads that make RSA keys", () => {
  it("make more keys than there are cores at once, all of them different", async () => {
    const threads = new RsaThreads();
    const pairs = await Promise.all(Array.from({ length: availableParallelism() + 1 }, () => threads.generate(2048)));
    for (const { pkcs8, spki } of pairs) {
      const key = createPrivateKey({ key: Buffer.from(pkcs8), format: "der", type: "pkcs8" });
      expect(createPublicKey(key).export({ format: "der", type: "spki" }).equals(spki)).toBe(true);
      expect(key.asymmetricKeyDetails).toEqual({ modulusLength: 2048, publicExponent: 65537n });
    }
    expect(new Set(pairs.map(({ spki }) => Buffer.from(spki).toString("hex"))).size).toBe(pairs.length);
  });

  it("hand over memory that holds the key and nothing else", async () => {
    const { pkcs8, spki } = await new RsaThreads().generate(2048);
    expect(pkcs8.buffer.byteLength).toBe(pkcs8.length);
    expect(spki.buffer.byteLength).toBe(spki.length);
  });

  it("reject what cannot be made, and go on with what waits", async () => {
    const threads = new RsaThreads();
    const refused = Array.from({ length: availableParallelism() + 1 }, () => threads.generate(-1));
    const made = threads.generate(2048);
    for (const { status } of await Promise.allSettled(refused)) expect(status).toBe("rejected");
    expect((await made).pkcs8.length).toBeGreaterThan(1000);
  });
});
