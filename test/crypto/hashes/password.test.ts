import { argon2id } from "@noble/hashes/argon2.js";
import { describe, expect, it } from "vitest";
import {
  PASSWORD_HASH_COST,
  decoyPasswordHash,
  hashPassword,
  isPasswordHashStale,
  verifyPassword,
} from "../../../src/crypto/hashes/password.js";

const CHEAP = { memoryKiB: 8, passes: 1, lanes: 1 };

describe("Argon2id password hash", () => {
  // SOURCE: RFC 9106 section 5.3. The addon takes no associated data, so the vector anchors a second implementation,
  // and that one the addon.
  it("agrees with an implementation that meets the RFC's vector", async () => {
    const vector = argon2id(new Uint8Array(32).fill(1), new Uint8Array(16).fill(2), {
      t: 3,
      m: 32,
      p: 4,
      dkLen: 32,
      key: new Uint8Array(8).fill(3),
      personalization: new Uint8Array(12).fill(4),
    });
    expect(Buffer.from(vector).toString("hex")).toBe(
      "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659",
    );
    for (const cost of [CHEAP, { memoryKiB: 64, passes: 3, lanes: 2 }]) {
      const phc = await hashPassword("pässwort 密码", cost);
      const [salt, digest] = phc
        .split("$")
        .slice(-2)
        .map((text) => Buffer.from(text, "base64"));
      const expected = argon2id("pässwort 密码", salt!, {
        t: cost.passes,
        m: cost.memoryKiB,
        p: cost.lanes,
        dkLen: 32,
      });
      expect(digest!.equals(expected)).toBe(true);
    }
  });

  it("carries its parameters, and a salt of its own", async () => {
    const [one, two] = await Promise.all([hashPassword("same words", CHEAP), hashPassword("same words", CHEAP)]);
    expect(one).toMatch(/^\$argon2id\$v=19\$m=8,t=1,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(one).not.toBe(two);
    expect(await verifyPassword(one, "same words")).toBe(true);
  });

  it("uses the whole password: characters after the 72nd and the 128th count", async () => {
    for (const length of [72, 128, 500]) {
      const phc = await hashPassword("x".repeat(length), CHEAP);
      expect(await verifyPassword(phc, "x".repeat(length))).toBe(true);
      expect(await verifyPassword(phc, "x".repeat(length + 1))).toBe(false);
      expect(await verifyPassword(phc, `${"x".repeat(length - 1)}y`)).toBe(false);
    }
  });

  it("does not stop at a zero character", async () => {
    expect(await verifyPassword(await hashPassword("before\0after", CHEAP), "before\0other")).toBe(false);
  });

  it("has a default cost of 19 MiB, 2 passes, 1 lane", async () => {
    expect(await hashPassword("some words", PASSWORD_HASH_COST)).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  it("is stale exactly when its parameters differ from today's or cannot be read", async () => {
    const phc = await hashPassword("some words", CHEAP);
    expect(isPasswordHashStale(phc, CHEAP)).toBe(false);
    expect(isPasswordHashStale(phc, { ...CHEAP, memoryKiB: 16 })).toBe(true);
    expect(isPasswordHashStale(phc, { ...CHEAP, passes: 2 })).toBe(true);
    expect(isPasswordHashStale(phc, { ...CHEAP, lanes: 2 })).toBe(true);
    expect(isPasswordHashStale(phc.replace("argon2id", "argon2i"), CHEAP)).toBe(true);
  });

  it("has a decoy of the same form that no password opens", async () => {
    const decoy = decoyPasswordHash(CHEAP);
    expect(isPasswordHashStale(decoy, CHEAP)).toBe(false);
    expect(await verifyPassword(decoy, "some words")).toBe(false);
    expect(await verifyPassword(decoy, "")).toBe(false);
  });
});
