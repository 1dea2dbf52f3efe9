/**
 * The same rules for tokens signed with ES256 and RS256: one spelling, one algorithm per key, rotation from one to
 * another.
 */
import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { join } from "node:path";
import { decodeProtectedHeader } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { AccessTokenVerifier, accessClaims } from "../../../src/platform/auth/access-token.js";
import {
  PUBLISH_BEFORE_USE_MS,
  openSigningKeys,
  publicKeyPem,
  type SigningKeys,
} from "../../../src/platform/auth/signing-keys.js";
import { hasLowS, type SigningAlgorithm } from "../../../src/platform/auth/verification-key.js";
import { HeldClock, quietLog, temporaryFolder } from "./support.js";
import { secretFile } from "../../../src/platform/files/secret-file.js";

const ISSUER = "https://issuer.test";
const SUBJECT = { kind: "user", id: "11111111-1111-4111-8111-111111111111" } as const;
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

let clock: HeldClock;
let path: string;

beforeEach(() => {
  clock = new HeldClock();
  path = join(temporaryFolder(), "signing-keys.json");
});

function open(algorithm?: SigningAlgorithm): Promise<SigningKeys> {
  return openSigningKeys(
    { file: secretFile(path), ...(algorithm === undefined ? {} : { algorithm }) },
    { clock, log: quietLog },
  );
}

function verifier(keys: SigningKeys): AccessTokenVerifier {
  return new AccessTokenVerifier(
    { issuer: ISSUER },
    { clock, keys, state: { revision: () => 1, epochOf: () => 1, isSessionLive: () => true } },
  );
}

function claims() {
  return accessClaims({
    issuer: ISSUER,
    subject: SUBJECT,
    permissions: 415,
    epoch: 1,
    tokenId: randomUUID(),
    sessionId: randomUUID(),
    nowSec: Math.floor(clock.ms / 1000),
  });
}

async function isAccepted(keys: SigningKeys, token: string): Promise<boolean> {
  try {
    verifier(keys).authenticate(token);
    return true;
  } catch {
    return false;
  }
}

describe.each(["EdDSA", "ES256", "RS256"] as const)("tokens signed with %s", (algorithm) => {
  it("are accepted, and name exactly algorithm, key and type", async () => {
    const keys = await open(algorithm);
    const token = await keys.sign(claims());
    expect(decodeProtectedHeader(token)).toEqual({ alg: algorithm, kid: keys.publicKeys()[0]!.kid, typ: "at+jwt" });
    expect(await isAccepted(keys, token)).toBe(true);
    expect(token.length).toBeLessThan(2048);
    expect(publicKeyPem(keys.publicKeys()[0]!)).toMatch(/^-----BEGIN PUBLIC KEY-----/);
    expect(JSON.stringify(keys.publicKeys())).not.toMatch(/"(d|p|q|dp|dq|qi)"/);
  });

  it("are refused as another type, with a changed bit anywhere, and by a key of the forger", async () => {
    const keys = await open(algorithm);
    expect(await isAccepted(keys, await keys.sign(claims(), "JWT"))).toBe(false);
    const token = await keys.sign(claims());
    const [header = "", payload = "", signature = ""] = token.split(".");
    const flipped = Buffer.from(signature, "base64url");
    flipped[10]! ^= 1;
    expect(await isAccepted(keys, `${header}.${payload}.${flipped.toString("base64url")}`)).toBe(false);
    const forger =
      algorithm === "RS256"
        ? generateKeyPairSync("rsa", { modulusLength: 2048 })
        : algorithm === "ES256"
          ? generateKeyPairSync("ec", { namedCurve: "P-256" })
          : generateKeyPairSync("ed25519");
    const forged = sign(algorithm === "EdDSA" ? null : "sha256", Buffer.from(`${header}.${payload}`), {
      key: forger.privateKey,
      dsaEncoding: "ieee-p1363",
    });
    expect(await isAccepted(keys, `${header}.${payload}.${forged.toString("base64url")}`)).toBe(false);
  });

  it("stay valid over a restart", async () => {
    const token = await (await open(algorithm)).sign(claims());
    expect(await isAccepted(await open(algorithm), token)).toBe(true);
  });
});

describe("ES256", () => {
  it("signs with low s only, and refuses the other spelling of the same signature", async () => {
    const keys = await open("ES256");
    for (let i = 0; i < 40; i++) {
      const token = await keys.sign(claims());
      const [header = "", payload = "", encoded = ""] = token.split(".");
      const signature = Buffer.from(encoded, "base64url");
      expect(hasLowS(signature)).toBe(true);
      const high = ORDER - BigInt(`0x${signature.subarray(32).toString("hex")}`);
      const other = Buffer.concat([signature.subarray(0, 32), Buffer.from(high.toString(16).padStart(64, "0"), "hex")]);
      expect(await isAccepted(keys, token)).toBe(true);
      expect(await isAccepted(keys, `${header}.${payload}.${other.toString("base64url")}`)).toBe(false);
    }
  });
});

describe("another algorithm in the settings", () => {
  it("is published first, signs after the next rotation, and keeps the old tokens valid", async () => {
    const before = await (await open()).sign(claims());
    const keys = await open("ES256");
    expect(keys.algorithm).toBe("EdDSA");
    expect(keys.publicKeys().map(({ alg }) => alg)).toEqual(["EdDSA", "ES256"]);
    await expect(keys.rotate()).rejects.toMatchObject({ code: "conflict" });
    clock.ms += PUBLISH_BEFORE_USE_MS;
    await keys.rotate();
    const after = await keys.sign(claims());
    expect(decodeProtectedHeader(after).alg).toBe("ES256");
    expect([await isAccepted(keys, before), await isAccepted(keys, after)]).toEqual([true, true]);
  });
});

describe("a running server", () => {
  it("adopts another process's change of the key file, and keeps its keys when the file is damaged", async () => {
    const server = await open();
    const command = await open();
    await command.replaceAll();
    await server.reload();
    expect(server.publicKeys()).toEqual(command.publicKeys());
    const { writeFileSync } = await import("node:fs");
    writeFileSync(path, "{");
    await server.reload();
    expect(server.publicKeys()).toEqual(command.publicKeys());
    expect(await isAccepted(server, await server.sign(claims()))).toBe(true);
  });
});
