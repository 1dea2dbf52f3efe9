import { format, inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { equalBytes } from "../../src/crypto/constant-time.js";
import { SecretBytes } from "../../src/crypto/secret-bytes.js";

describe("SecretBytes", () => {
  it("shows [redacted] in every way of printing it", () => {
    const secret = SecretBytes.take(Buffer.from("canary-value"));
    const shown = [
      JSON.stringify({ secret }),
      String(secret),
      [secret].join(),
      inspect(secret),
      inspect({ deep: [secret] }),
      format("%s %o %j", secret, secret, secret),
      JSON.stringify(Object.entries(secret)),
    ];
    for (const text of shown) expect(text).not.toMatch(/canary|99,97|63616e/);
    expect(shown[1]).toBe("[redacted]");
  });

  it("does not travel through a structured clone", () => {
    expect(Object.keys(structuredClone(SecretBytes.take(Buffer.from("canary-value"))))).toEqual([]);
  });

  it("overwrites its bytes when wiped", () => {
    const bytes = Buffer.from("canary-value");
    const secret = SecretBytes.take(bytes);
    expect(secret.use((lent) => lent.length)).toBe(12);
    secret.wipe();
    expect(bytes.every((byte) => byte === 0)).toBe(true);
  });
});

describe("equalBytes", () => {
  it("compares content and length", () => {
    expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBe(true);
    expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 3))).toBe(false);
    expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2, 3))).toBe(false);
    expect(equalBytes(new Uint8Array(), new Uint8Array())).toBe(true);
  });
});
