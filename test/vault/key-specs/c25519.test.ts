// X25519 key agreement over HTTP, with OpenSSL as the peer.
import { createPublicKey, generateKeyPairSync, hkdfSync, diffieHellman, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVaultServer, type VaultServer } from "../http-support.js";

let server: VaultServer;
beforeAll(async () => {
  server = await startVaultServer();
});
afterAll(async () => {
  await server.close();
});

describe("C25519 agreement", () => {
  it("gives both sides the same key, which a peer can compute from the documented derivation", async () => {
    const [a, b] = await Promise.all([server.newKey("C25519"), server.newKey("C25519")]);
    const agree = async (own: typeof a, peer: string, context?: string): Promise<unknown> =>
      (
        await server.call("POST", `${own.path}/agree`, {
          public_key: peer,
          ...(context === undefined ? {} : { context }),
        })
      ).body["shared_key"];
    const key = await agree(a, b.key["public_key"]!, "session");
    expect(key).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await agree(b, a.key["public_key"]!, "session")).toBe(key);
    expect(await agree(b, a.key["public_key"]!, "other")).not.toBe(key);
    expect(await agree(b, a.key["public_key"]!)).not.toBe(key);
    const peer = generateKeyPairSync("x25519");
    const raw = Buffer.from(peer.publicKey.export({ format: "jwk" }).x!, "base64url");
    const vaultKey = Buffer.from(a.key["public_key"]!.slice(2), "hex");
    const secret = diffieHellman({
      privateKey: peer.privateKey,
      publicKey: createPublicKey({
        format: "jwk",
        key: { kty: "OKP", crv: "X25519", x: vaultKey.toString("base64url") },
      }),
    });
    const context = Buffer.from("session");
    const info = Buffer.concat([
      Buffer.from("pv/v1/agree\0"),
      ...[raw, vaultKey].sort((x, y) => Buffer.compare(x, y)),
      Buffer.from([0, context.length]),
      context,
    ]);
    expect(await agree(a, raw.toString("hex"), "session")).toBe(
      `0x${Buffer.from(hkdfSync("sha256", secret, "", info, 32)).toString("hex")}`,
    );
  });

  it("refuses low-order points, other lengths and what is not hex", async () => {
    const { path: at } = await server.newKey("C25519");
    const bad = [
      "00".repeat(32),
      `01${"00".repeat(31)}`,
      "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      randomBytes(31).toString("hex"),
      "",
      "zz",
    ];
    const answer = await server.call("POST", `${at}/agree`, { batch: bad.map((key) => ({ public_key: key })) });
    expect(answer.body.batch!.map((item) => (item["errors"] as { code: string }[])[0]!.code)).toEqual(
      bad.map(() => "public_key_invalid"),
    );
    expect((await server.call("POST", `${at}/agree`, {})).status).toBe(422);
  });
});
