// P-256 key agreement over HTTP, with WebCrypto as the peer.
import { randomBytes, webcrypto } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVaultServer, type VaultServer } from "../http-support.js";

const { subtle } = webcrypto;

let server: VaultServer;
beforeAll(async () => {
  server = await startVaultServer();
});
afterAll(async () => {
  await server.close();
});

describe("P-256-ECDH agreement", () => {
  it("gives both sides the same key, which WebCrypto computes from the documented derivation", async () => {
    const [a, b] = await Promise.all([server.newKey("P-256-ECDH"), server.newKey("p-256-ecdh")]);
    const agree = async (own: typeof a, peer: string, context = "session"): Promise<unknown> =>
      (await server.call("POST", `${own.path}/agree`, { public_key: peer, context })).body["shared_key"];
    const key = await agree(a, b.key["public_key"]!);
    expect(key).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await agree(b, a.key["public_key"]!)).toBe(key);
    expect(await agree(b, a.key["public_key"]!, "other")).not.toBe(key);
    const curve = { name: "ECDH", namedCurve: "P-256" };
    const peer = await subtle.generateKey(curve, true, ["deriveBits"]);
    const raw = Buffer.from(await subtle.exportKey("raw", peer.publicKey));
    const vaultKey = Buffer.from(a.key["public_key"]!.slice(2), "hex");
    const secret = await subtle.deriveBits(
      { name: "ECDH", public: await subtle.importKey("raw", vaultKey, curve, true, []) },
      peer.privateKey,
      256,
    );
    const context = Buffer.from("session");
    const info = Buffer.concat([
      Buffer.from("pv/v1/agree\0"),
      ...[raw, vaultKey].sort((x, y) => Buffer.compare(x, y)),
      Buffer.from([0, context.length]),
      context,
    ]);
    const bits = await subtle.deriveBits(
      { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info },
      await subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]),
      256,
    );
    expect(await agree(a, raw.toString("hex"))).toBe(`0x${Buffer.from(bits).toString("hex")}`);
  });

  it("refuses points off the curve, other forms and keys of other curves", async () => {
    const { path: at, key } = await server.newKey("P-256-ECDH");
    const fits = key["public_key"]!.slice(2);
    const bad = [
      `04${"00".repeat(64)}`,
      `${fits.slice(0, -2)}${fits.endsWith("00") ? "01" : "00"}`,
      `02${fits.slice(2, 66)}`,
      fits.slice(0, -2),
      randomBytes(32).toString("hex"),
      "",
      "zz",
    ];
    const answer = await server.call("POST", `${at}/agree`, { batch: bad.map((peer) => ({ public_key: peer })) });
    expect(answer.body.batch!.map((item) => (item["errors"] as { code: string }[])[0]!.code)).toEqual(
      bad.map(() => "public_key_invalid"),
    );
  });

  it("signs nothing, and P-256 keys agree on nothing", async () => {
    const code = (answer: { body: Record<string, unknown> }): unknown =>
      (answer.body["errors"] as { code: string }[])[0]!.code;
    const agreeing = await server.newKey("P-256-ECDH");
    expect(code(await server.call("POST", `${agreeing.path}/sign`, { message: "01" }))).toBe("spec_cannot_sign");
    const signing = await server.newKey("P-256");
    const body = { public_key: agreeing.key["public_key"]! };
    expect(code(await server.call("POST", `${signing.path}/agree`, body))).toBe("spec_cannot_agree");
  });
});
