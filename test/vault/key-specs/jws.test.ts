// JSON Web Signatures over HTTP, with jose and OpenSSL as the judges.
import { createPublicKey, generateKeyPairSync, sign as nodeSign, verify as nodeVerify } from "node:crypto";
import { compactVerify, createLocalJWKSet } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVaultServer, type Answer, type VaultServer } from "../http-support.js";

let server: VaultServer;
beforeAll(async () => {
  server = await startVaultServer();
});
afterAll(async () => {
  await server.close();
});

const code = (answer: Answer): string | undefined => answer.body.errors?.[0]?.code;

describe("JOSE", () => {
  it("signs compact tokens that a library verifies with the vault's key set", async () => {
    const vault = await server.newVault();
    const algorithms: [string, string, object][] = [
      ["Ed25519", "EdDSA", {}],
      ["Ed25519-nkey", "EdDSA", {}],
      ["P-256", "ES256", {}],
      ["RSA-2048", "PS256", {}],
      ["RSA-2048", "RS256", { algorithm: "RS256" }],
    ];
    for (const [spec, alg, options] of algorithms) {
      const { path: at, key } = await server.newKey(spec, vault);
      const signed = await server.call("POST", `${at}/sign`, {
        message: '{"a":1}',
        options: { format: "jws", encoding: "utf8", header: { typ: "JWT" }, ...options },
      });
      expect(signed.status).toBe(201);
      const token = String(signed.body["jws"]);
      const jwks = (await server.call("GET", `/api/v1/vaults/${vault}/jwks.json`)).body as unknown as { keys: [] };
      const read = await compactVerify(token, createLocalJWKSet(jwks));
      expect(read.protectedHeader).toEqual({ alg, kid: key["id"], typ: "JWT" });
      expect(Buffer.from(read.payload).toString()).toBe('{"a":1}');
      expect(Buffer.from(String(signed.body["signature"]), "hex").toString("base64url")).toBe(token.split(".")[2]);
      const check = async (more: object): Promise<unknown> =>
        (
          await server.call("POST", `${at}/verify`, {
            signature: token,
            options: { format: "jws", ...options },
            ...more,
          })
        ).body["verified"];
      expect(await check({})).toBe(true);
      expect(await check({ message: Buffer.from('{"a":1}').toString("hex") })).toBe(true);
      expect(await check({ message: "00" })).toBe(false);
      const [header, payload, signature] = token.split(".") as [string, string, string];
      for (const forged of [{ alg: "none" }, { alg, crit: ["exp"] }, { alg, b64: false }, { alg: "HS256" }]) {
        expect(
          await check({
            signature: `${Buffer.from(JSON.stringify(forged)).toString("base64url")}.${payload}.${signature}`,
          }),
        ).toBe(false);
      }
      for (const malformed of [
        `${header}.${payload}`,
        `${header}.${payload}.${signature}.x`,
        `${header}.${payload}.${signature}=`,
        "a.b.c",
      ]) {
        expect(
          code(
            await server.call("POST", `${at}/verify`, { signature: malformed, options: { format: "jws", ...options } }),
          ),
        ).toBe("signature_malformed");
      }
    }
  });

  // RFC 7515 allows payloads of any length, and detached ones (appendix F).
  it("verifies tokens of others with an empty payload, and none whose payload is kept elsewhere", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const public_key = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("hex");
    const header = Buffer.from('{"alg":"EdDSA"}').toString("base64url");
    const token = (payload: string): string =>
      `${header}.${payload}.${nodeSign(null, Buffer.from(`${header}.${payload}`), privateKey).toString("base64url")}`;
    const check = async (signature: string, more: object = {}): Promise<unknown> => {
      const answer = await server.call("POST", "/api/v1/verify", {
        spec: "Ed25519",
        public_key,
        signature,
        options: { format: "jws" },
        ...more,
      });
      return answer.body["verified"] ?? code(answer);
    };
    expect([
      await check(token("")),
      await check(token(""), { message: "" }),
      await check(token(""), { message: "00" }),
    ]).toEqual([true, true, false]);
    const full = token("AP8");
    expect([
      await check(full),
      await check(full.replace(".AP8.", "..")),
      await check(full.replace(".AP8.", ".."), { message: "00ff" }),
    ]).toEqual([true, false, false]);
    expect([await check(`.AP8.${full.split(".")[2]!}`), await check(`${header}.AP8.`), await check("..")]).toEqual([
      "signature_malformed",
      "signature_malformed",
      "signature_malformed",
    ]);
  });

  it("signs ES256K with secp256k1 keys over the standard signing input", async () => {
    const { path: at, key } = await server.newKey("secp256k1");
    const token = String(
      (await server.call("POST", `${at}/sign`, { message: "00ff", options: { format: "jws" } })).body["jws"],
    );
    const [header, payload, signature] = token.split(".") as [string, string, string];
    const x = Buffer.from(key["public_key"]!.slice(4, 68), "hex").toString("base64url");
    const y = Buffer.from(key["public_key"]!.slice(68), "hex").toString("base64url");
    const publicKey = createPublicKey({ format: "jwk", key: { kty: "EC", crv: "secp256k1", x, y } });
    expect(
      nodeVerify(
        "sha256",
        Buffer.from(`${header}.${payload}`),
        { key: publicKey, dsaEncoding: "ieee-p1363" },
        Buffer.from(signature, "base64url"),
      ),
    ).toBe(true);
    expect((await server.call("POST", `${at}/verify`, { signature: token, options: { format: "jws" } })).body).toEqual({
      verified: true,
    });
  });

  it("publishes no private member, and leaves keys without a registered form out", async () => {
    const vault = await server.newVault();
    for (const spec of [
      "Ed25519",
      "P-256",
      "secp256k1",
      "C25519",
      "P-256-ECDH",
      "RSA-2048",
      "babyJubJub",
      "BLS12-381",
      "BIP39",
      "ChaCha20",
    ])
      await server.newKey(spec, vault);
    const answer = await server.call("GET", `/api/v1/vaults/${vault}/jwks.json`);
    const { keys } = answer.body as unknown as { keys: Record<string, string>[] };
    expect(keys.map((key) => `${key["kty"]} ${key["crv"] ?? ""} ${key["use"]}`).sort()).toEqual([
      "EC P-256 enc",
      "EC P-256 sig",
      "EC secp256k1 sig",
      "OKP Ed25519 sig",
      "OKP X25519 enc",
      "RSA  sig",
    ]);
    for (const key of keys)
      for (const member of ["d", "p", "q", "dp", "dq", "qi", "k"]) expect(key).not.toHaveProperty(member);
    expect((await server.call("GET", `/api/v1/vaults/${vault}/jwks.json`, undefined, server.token())).status).toBe(404);
  });

  it("refuses a JWS of keys that have none registered", async () => {
    for (const spec of ["BLS12-381", "babyJubJub"]) {
      const { path: at } = await server.newKey(spec);
      expect(code(await server.call("POST", `${at}/sign`, { message: "01", options: { format: "jws" } }))).toBe(
        "option_unsupported",
      );
    }
  });
});
