// A selection of Wycheproof's cases against the served code, not the library beneath it. See
// test/vectors/wycheproof/SOURCE.md.
import { createSecretKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openAes256Gcm, sealAes256Gcm } from "../../src/crypto/ciphers/aes-256-gcm.js";
import { privateKeyOfSeed } from "../../src/crypto/signatures/der-keys.js";
import { x25519SharedSecret } from "../../src/crypto/signatures/ed25519.js";
import { hkdfSha256 } from "../../src/crypto/hashes/hkdf.js";
import { xchacha20Poly1305 } from "../../src/crypto/ciphers/xchacha20-poly1305.js";
import { startVaultServer, type VaultServer } from "./http-support.js";

interface Case {
  readonly tcId: number;
  readonly comment: string;
  readonly result: "valid" | "invalid" | "acceptable";
}
interface SignatureCase extends Case {
  readonly msg: string;
  readonly sig: string;
}
interface AgreementCase extends Case {
  readonly public: string;
  readonly private: string;
  readonly shared: string;
}
interface AeadCase extends Case {
  readonly key: string;
  readonly iv: string;
  readonly aad: string;
  readonly msg: string;
  readonly ct: string;
  readonly tag: string;
}

interface DerivationCase extends Case {
  readonly ikm: string;
  readonly salt: string;
  readonly info: string;
  /** Bytes of output. */
  readonly size: number;
  readonly okm: string;
}

function groups<Group>(name: string): Group[] {
  return (
    JSON.parse(readFileSync(new URL(`../vectors/wycheproof/${name}.json`, import.meta.url), "utf8")) as {
      testGroups: Group[];
    }
  ).testGroups;
}
const bytes = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));

let server: VaultServer;
beforeAll(async () => {
  server = await startVaultServer();
});
afterAll(async () => {
  await server.close();
});

/** The answer of POST /verify to each item: true, false, or the code of its refusal. */
async function verdicts(items: readonly object[]): Promise<unknown[]> {
  const answer = await server.call("POST", "/api/v1/verify", { batch: items });
  expect(answer.status).toBe(200);
  return answer.body.batch!.map((item) => item["verified"] ?? (item["errors"] as { code: string }[])[0]!.code);
}

describe("Ed25519", () => {
  it("accepts what is valid and nothing else", async () => {
    const cases = groups<{ pk: string; tests: SignatureCase[] }>("ed25519").flatMap(({ pk, tests }) =>
      tests.map((test) => ({ ...test, pk })),
    );
    const found = await verdicts(
      cases.map(({ pk, msg, sig }) => ({ spec: "Ed25519", public_key: pk, message: msg, signature: sig })),
    );
    // An empty signature counts as a missing member.
    expect(found).toEqual(cases.map(({ sig, result }) => (sig === "" ? "signature_malformed" : result === "valid")));
    expect(cases.length).toBe(39);
  });
});

describe("ECDSA on secp256k1 with SHA-256", () => {
  it("accepts no signature that is invalid, nor the other spelling of a valid one", async () => {
    const [group] = groups<{ uncompressed: string; tests: SignatureCase[] }>("secp256k1");
    const { uncompressed, tests } = group!;
    const item = (sig: string): object => ({
      spec: "secp256k1",
      public_key: uncompressed,
      message: "313233343030",
      signature: sig,
      options: { digest: "sha256" },
    });
    const found = await verdicts(tests.map(({ sig }) => item(sig)));
    expect(found).toEqual(tests.map(() => false));
    // Case 1 is valid in general and has high S; with n - s in its place (SEC 1, section 4.1.3) it is the one spelling
    // that is accepted here.
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const { sig } = tests[0]!;
    const low = (order - BigInt(`0x${sig.slice(64)}`)).toString(16).padStart(64, "0");
    expect([tests[0]!.result, await verdicts([item(`${sig.slice(0, 64)}${low}`)])]).toEqual(["valid", [true]]);
  });
});

describe("ECDSA on P-256 with SHA-256", () => {
  it("accepts what is valid and nothing else, whatever the key and the numbers in between", async () => {
    const cases = groups<{ publicKey: { uncompressed: string }; tests: SignatureCase[] }>("p256").flatMap(
      ({ publicKey, tests }) => tests.map((test) => ({ ...test, key: publicKey.uncompressed })),
    );
    const found = await verdicts(
      cases.map(({ key, msg, sig }) => ({ spec: "P-256", public_key: key, message: msg, signature: sig })),
    );
    expect(found).toEqual(cases.map(({ result }) => result === "valid"));
    expect([cases.length, cases.filter(({ result }) => result === "valid").length]).toEqual([89, 28]);
  });
});

describe.each([
  { file: "rsa-pss", algorithm: "PS256", cases: 35, valid: 6, acceptable: [] },
  // The suite leaves it open whether a signature without the NULL of its algorithm is accepted; it is refused here.
  { file: "rsa-pkcs1", algorithm: "RS256", cases: 21, valid: 3, acceptable: [8] },
])("RSA, $algorithm", ({ file, algorithm, cases, valid, acceptable }) => {
  it("accepts what is valid and nothing else", async () => {
    const tests = groups<{ keySize: number; publicKeyDer: string; tests: SignatureCase[] }>(file).flatMap((group) =>
      group.tests.map((test) => ({ ...test, spec: `RSA-${String(group.keySize)}`, key: group.publicKeyDer })),
    );
    const item = ({ spec, key, msg, sig }: (typeof tests)[number], name: string): object => ({
      spec,
      public_key: key,
      message: msg,
      signature: sig,
      options: { algorithm: name },
    });
    const found = await verdicts(tests.map((test) => item(test, algorithm)));
    // Keys with the exponent 3, as of the small signature, are refused.
    const hasSmallExponent = ({ key }: (typeof tests)[number]): boolean => key.endsWith("020103");
    expect(found).toEqual(
      tests.map((test) =>
        hasSmallExponent(test)
          ? "public_key_invalid"
          : test.sig === ""
            ? "signature_malformed"
            : test.result === "valid",
      ),
    );
    expect([tests.length, found.filter((verdict) => verdict === true).length]).toEqual([cases, valid]);
    expect(tests.filter(({ result }) => result === "acceptable").map(({ tcId }) => tcId)).toEqual(acceptable);
    // A signature that is valid for one padding or hash is valid for no other.
    const good = tests.filter((_, index) => found[index] === true);
    const others = ["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"].filter((name) => name !== algorithm);
    expect(await verdicts(others.flatMap((name) => good.map((test) => item(test, name))))).toEqual(
      others.flatMap(() => good.map(() => false)),
    );
  });
});

describe("X25519", () => {
  it.each(groups<{ tests: AgreementCase[] }>("x25519").flatMap(({ tests }) => tests))(
    "agrees on the published secret in case $tcId",
    (test) => {
      const secret = x25519SharedSecret(privateKeyOfSeed("x25519", bytes(test.private)), bytes(test.public));
      expect(Buffer.from(secret ?? []).toString("hex")).toBe(test.shared);
    },
  );
});

describe("HKDF-SHA256", () => {
  it.each(groups<{ tests: DerivationCase[] }>("hkdf-sha256").flatMap(({ tests }) => tests))(
    "derives the published bytes in case $tcId, and no more than there can be",
    (test) => {
      const input = { ikm: bytes(test.ikm), salt: bytes(test.salt), info: bytes(test.info), lengthBytes: test.size };
      if (test.result === "invalid") {
        expect(() => hkdfSha256(input)).toThrow(RangeError);
        return;
      }
      expect(Buffer.from(hkdfSha256(input)).toString("hex")).toBe(test.okm);
      expect(Buffer.from(hkdfSha256({ ...input, ikm: createSecretKey(input.ikm) })).toString("hex")).toBe(test.okm);
    },
  );
});

describe("AES-256-GCM, as XAES-256-GCM uses it", () => {
  it.each(groups<{ tests: AeadCase[] }>("aes-256-gcm").flatMap(({ tests }) => tests))(
    "seals and opens case $tcId if it is $result",
    (test) => {
      const input = { key: bytes(test.key), nonce: bytes(test.iv), aad: bytes(test.aad) };
      const sealed = bytes(test.ct + test.tag);
      const made = Buffer.from(sealAes256Gcm(input, bytes(test.msg))).toString("hex");
      if (test.result === "invalid") {
        // Only the tag is wrong.
        expect([made.slice(0, test.ct.length), made === test.ct + test.tag]).toEqual([test.ct, false]);
        expect(() => openAes256Gcm(input, sealed)).toThrow("authentication failed");
        return;
      }
      expect(made).toBe(test.ct + test.tag);
      expect(Buffer.from(openAes256Gcm(input, sealed)).toString("hex")).toBe(test.msg);
      for (let length = 0; length < 16; length += 1)
        expect(
          () => openAes256Gcm(input, sealed.subarray(0, test.ct.length / 2 + length)),
          `tag of ${String(length)} bytes`,
        ).toThrow("authentication failed");
      expect(() => openAes256Gcm({ ...input, nonce: new Uint8Array(16) }, sealed)).toThrow(TypeError);
    },
  );
});

describe("XChaCha20-Poly1305", () => {
  it.each(groups<{ tests: AeadCase[] }>("xchacha20-poly1305").flatMap(({ tests }) => tests))(
    "seals and opens case $tcId if it is $result, and refuses each changed part",
    (test) => {
      const input = { key: createSecretKey(bytes(test.key)), nonce: bytes(test.iv), aad: bytes(test.aad) };
      const sealed = bytes(test.ct + test.tag);
      if (test.result === "invalid") {
        const made = Buffer.from(xchacha20Poly1305.seal(input, bytes(test.msg))).toString("hex");
        expect(made).toBe(test.ct + (/expected tag:([0-9a-f]{32})$/.exec(test.comment)?.[1] ?? ""));
        expect(() => xchacha20Poly1305.open(input, sealed)).toThrow("authentication failed");
        return;
      }
      expect(Buffer.from(xchacha20Poly1305.seal(input, bytes(test.msg))).toString("hex")).toBe(test.ct + test.tag);
      expect(Buffer.from(xchacha20Poly1305.open(input, sealed)).toString("hex")).toBe(test.msg);
      for (let at = 0; at < sealed.length; at += 7) {
        const changed = Uint8Array.from(sealed, (byte, index) => (index === at ? byte ^ 0x80 : byte));
        expect(() => xchacha20Poly1305.open(input, changed), `byte ${String(at)}`).toThrow("authentication failed");
      }
      expect(() => xchacha20Poly1305.open({ ...input, aad: Uint8Array.of(...input.aad, 0) }, sealed)).toThrow(
        "authentication failed",
      );
      expect(() => xchacha20Poly1305.open({ ...input, nonce: input.nonce.map((byte) => byte ^ 1) }, sealed)).toThrow(
        "authentication failed",
      );
    },
  );
});
