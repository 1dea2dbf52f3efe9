import { chmodSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { calculateJwkThumbprint, decodeProtectedHeader } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import {
  PUBLISH_BEFORE_USE_MS,
  openSigningKeys,
  publicKeyPem,
  type SigningKeys,
} from "../../../src/platform/auth/signing-keys.js";
import { CLOCK_TOLERANCE_SEC, TOKEN_LIFE_SEC_MAX } from "../../../src/platform/auth/token-limits.js";
import { HeldClock, quietLog, temporaryFolder } from "./support.js";
import { secretFile } from "../../../src/platform/files/secret-file.js";

let path: string;
let clock: HeldClock;

function open(): Promise<SigningKeys> {
  return openSigningKeys({ file: secretFile(path) }, { clock, log: quietLog });
}

function headerOf(token: string): string {
  return token.split(".")[0]!;
}

beforeEach(() => {
  path = join(temporaryFolder(), "identity", "signing-keys.json");
  clock = new HeldClock();
});

describe("signing key file", () => {
  it("is created at the first start, private to its owner, and leaves nothing else behind", async () => {
    await open();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(path, ".."))).toEqual(["signing-keys.json"]);
  });

  it("keeps the same keys over a restart", async () => {
    const first = (await open()).publicKeys();
    expect((await open()).publicKeys()).toEqual(first);
  });

  it("holds the same keys for two processes that start at once", async () => {
    const [a, b] = await Promise.all([open(), open()]);
    expect(a.publicKeys()).toEqual(b.publicKeys());
  });

  it.each([0o640, 0o604, 0o660, 0o644, 0o610])("is refused when its mode is %o", async (mode) => {
    await open();
    chmodSync(path, mode);
    await expect(open()).rejects.toThrow(/group or others/);
  });

  it("is refused as a symbolic link", async () => {
    await open();
    const real = path;
    path = join(temporaryFolder(), "link.json");
    symlinkSync(real, path);
    await expect(open()).rejects.toThrow(/symbolic link/);
  });

  it.each([
    ["half of it", (text: string) => text.slice(0, text.length / 2)],
    ["another form", () => "{}"],
    ["nothing", () => ""],
  ])("is refused when it holds %s, without a word of its content", async (_name, damage) => {
    await open();
    const text = readFileSync(path, "utf8");
    const secret = (JSON.parse(text) as { current: { d: string } }).current.d;
    writeFileSync(path, damage(text));
    const failure: unknown = await open().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(JSON.stringify([String(failure), (failure as Error).stack, (failure as Error).cause])).not.toContain(
      secret.slice(0, 8),
    );
  });

  it("is refused when a private and a public part do not belong together", async () => {
    await open();
    const content = JSON.parse(readFileSync(path, "utf8")) as { current: { d: string }; next: { d: string } };
    content.current.d = content.next.d;
    writeFileSync(path, JSON.stringify(content));
    await expect(open()).rejects.toThrow(/belong together/);
  });

  it("is refused when a key's name is not its thumbprint", async () => {
    await open();
    const content = JSON.parse(readFileSync(path, "utf8")) as { current: { kid: string }; next: { kid: string } };
    content.current.kid = content.next.kid;
    writeFileSync(path, JSON.stringify(content));
    await expect(open()).rejects.toThrow(/thumbprint/);
  });
});

describe("published keys", () => {
  it("are public Ed25519 JWKs named by RFC 7638 thumbprint", async () => {
    const keys = (await open()).publicKeys();
    expect(keys).toHaveLength(2);
    for (const key of keys) {
      expect(Object.keys(key).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x"]);
      expect(key.kid).toBe(await calculateJwkThumbprint({ ...key }));
      expect(publicKeyPem(key)).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
    }
  });

  it("name the signing key first", async () => {
    const keys = await open();
    expect(decodeProtectedHeader(await keys.sign({ sub: "x" }))).toEqual({
      alg: "EdDSA",
      kid: keys.publicKeys()[0]!.kid,
      typ: "at+jwt",
    });
  });
});

describe("rotation", () => {
  it("waits until the next key has been published for 15 minutes", async () => {
    const keys = await open();
    clock.ms += PUBLISH_BEFORE_USE_MS - 1;
    await expect(keys.rotate()).rejects.toMatchObject({ code: "conflict" });
    clock.ms += 1;
    await keys.rotate();
  });

  it("signs with the key that was next, and verifies with the old one until its last token has expired", async () => {
    const keys = await open();
    const [old, next] = keys.publicKeys();
    const before = await keys.sign({ sub: "x" });
    clock.ms += PUBLISH_BEFORE_USE_MS;
    await keys.rotate();
    expect(decodeProtectedHeader(await keys.sign({ sub: "x" })).kid).toBe(next!.kid);
    expect(keys.publicKeys().map(({ kid }) => kid)).toContain(old!.kid);
    clock.advanceSec(TOKEN_LIFE_SEC_MAX + CLOCK_TOLERANCE_SEC - 1);
    expect(keys.findByHeader(headerOf(before))).toBeDefined();
    clock.advanceSec(1);
    expect(keys.findByHeader(headerOf(before))).toBeUndefined();
    expect(keys.publicKeys().map(({ kid }) => kid)).not.toContain(old!.kid);
  });

  it("survives a restart", async () => {
    const keys = await open();
    clock.ms += PUBLISH_BEFORE_USE_MS;
    await keys.rotate();
    expect((await open()).publicKeys()).toEqual(keys.publicKeys());
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("happens once for several callers at once", async () => {
    const keys = await open();
    clock.ms += PUBLISH_BEFORE_USE_MS;
    const results = await Promise.allSettled([keys.rotate(), keys.rotate(), keys.rotate()]);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("of all keys drops every old one at once", async () => {
    const keys = await open();
    const before = await keys.sign({ sub: "x" });
    const old = keys.publicKeys().map(({ kid }) => kid);
    await keys.replaceAll();
    expect(keys.findByHeader(headerOf(before))).toBeUndefined();
    expect(keys.publicKeys().filter(({ kid }) => old.includes(kid))).toEqual([]);
  });
});
