// Aggregates of BLS signatures and proofs of possession over HTTP.
import { bls12_381 } from "@noble/curves/bls12-381.js";
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
const path = (answer: Answer): string | undefined => answer.body.errors?.[0]?.path;

function flipped(hex: string, bit: number): string {
  const bytes = Buffer.from(hex, "hex");
  bytes[bit >> 3]! ^= 1 << (bit & 7);
  return bytes.toString("hex");
}

describe("BLS aggregates", () => {
  it("add up, verify key by key, and refuse repeated messages and bad points", async () => {
    const keys = await Promise.all([server.newKey("BLS12-381"), server.newKey("BLS12-381")]);
    const messages = ["01".repeat(32), "02".repeat(32)];
    const signatures = await Promise.all(
      keys.map(async ({ path: at }, i) =>
        String((await server.call("POST", `${at}/sign`, { message: messages[i] })).body["signature"]),
      ),
    );
    const aggregated = await server.call("POST", "/api/v1/bls/aggregate", { signatures });
    expect(aggregated.status).toBe(201);
    const signature = String(aggregated.body["aggregate_signature"]);
    expect(signature).toMatch(/^[0-9a-f]{192}$/);
    const public_keys = keys.map(({ key }) => key["public_key"]);
    const check = async (more: object): Promise<Answer> =>
      await server.call("POST", "/api/v1/bls/verify", { messages, public_keys, signature, ...more });
    expect((await check({})).body).toEqual({ verified: true });
    expect((await check({ public_keys: [...public_keys].reverse() })).body).toEqual({ verified: false });
    expect((await check({ signature: signatures[0] })).body).toEqual({ verified: false });
    expect((await check({ signature: flipped(signature, 9) })).body).toEqual({ verified: false });
    expect(code(await check({ messages: [messages[0], messages[0]] }))).toBe("messages_not_distinct");
    expect(code(await check({ messages: ["01", "02"] }))).toBe("digest_length_invalid");
    expect(code(await check({ public_keys: [public_keys[0]] }))).toBe("invalid_request");
    const sums = await server.call("POST", "/api/v1/bls/aggregate", {
      batch: [{ signatures }, { signatures: ["00"] }, {}, { signatures: [signatures[0]] }],
    });
    expect([
      sums.status,
      sums.body.batch!.map((item) => item["aggregate_signature"] ?? (item["errors"] as { code: string }[])[0]!.code),
    ]).toEqual([201, [signature, "signature_malformed", "invalid_request", signatures[0]]]);
    const checks = await server.call("POST", "/api/v1/bls/verify", {
      batch: [
        { messages, public_keys, signature },
        { messages, public_keys, signature: signatures[0] },
        { messages, public_keys },
      ],
    });
    expect([
      checks.status,
      checks.body.batch!.map((item) => item["verified"] ?? (item["errors"] as { path: string }[])[0]!.path),
    ]).toEqual([200, [true, false, "signature"]]);
    expect((await server.call("POST", "/api/v1/bls/aggregate", { signatures, batch: [{ signatures }] })).status).toBe(
      422,
    );
    expect(code(await server.call("POST", "/api/v1/bls/verify", {}))).toBe("invalid_request");
    expect([
      code(await check({ public_keys: [public_keys[0], `c0${"00".repeat(47)}`] })),
      path(await check({ public_keys: [public_keys[0], "00"] })),
    ]).toEqual(["public_key_invalid", "public_keys[1]"]);
    const opposite = flipped(signatures[0]!, 5);
    expect(
      (await server.call("POST", "/api/v1/bls/aggregate", { signatures: [signatures[0], opposite] })).body,
    ).toEqual({ aggregate_signature: `c0${"00".repeat(95)}` });
    for (const bad of [[], ["00"], ["zz"], [`e0${"00".repeat(95)}`]])
      expect((await server.call("POST", "/api/v1/bls/aggregate", { signatures: bad })).status).toBe(422);
  });
});

describe("BLS signatures on one message", () => {
  const verify = async (body: object): Promise<Answer> =>
    await server.call("POST", "/api/v1/bls/fast_aggregate_verify", body);

  it("verify together under keys whose possession is proven, and not without", async () => {
    const keys = await Promise.all([server.newKey("BLS12-381"), server.newKey("BLS12-381")]);
    const message = "07".repeat(40);
    const possessions = await Promise.all(
      keys.map(async ({ path: at }) => (await server.call("POST", `${at}/prove_possession`)).body),
    );
    const public_keys = keys.map(({ key }) => key["public_key"]!);
    expect(possessions.map((possession) => possession["public_key"])).toEqual(public_keys);
    const proofs = possessions.map((possession) => String(possession["proof"]));
    const signatures = await Promise.all(
      keys.map(async ({ path: at }) => (await server.call("POST", `${at}/sign`, { message })).body["signature"]),
    );
    const signature = (await server.call("POST", "/api/v1/bls/aggregate", { signatures })).body["aggregate_signature"];
    const all = { message, public_keys, proofs, signature };
    const { proofs: _proofs, ...bare } = all;
    expect((await verify(all)).body).toEqual({ verified: true });
    expect((await verify({ ...bare, proofs_checked: true })).body).toEqual({ verified: true });
    for (const change of [
      { message: "08".repeat(40) },
      { message: "" },
      { public_keys: public_keys.slice(1), proofs: proofs.slice(1) },
      { proofs: [...proofs].reverse() },
      { proofs: [signatures[0], proofs[1]] },
      { proofs: ["00", proofs[1]] },
      { signature: signatures[0] },
      { signature: "00" },
    ])
      expect((await verify({ ...all, ...change })).body, JSON.stringify(change)).toEqual({ verified: false });
    const refusals: [object, string, string][] = [
      [bare, "invalid_request", "proofs"],
      [{ ...bare, proofs_checked: false }, "invalid_request", "proofs"],
      [{ ...all, proofs_checked: true }, "invalid_request", "proofs"],
      [{ ...all, proofs: proofs.slice(1) }, "invalid_request", "proofs"],
      [{ ...all, proofs: [proofs[0], "zz"] }, "signature_malformed", "proofs[1]"],
      [{ ...all, public_keys: [public_keys[0], "00"] }, "public_key_invalid", "public_keys[1]"],
      [{ ...bare, proofs_checked: true, public_keys: ["00"] }, "public_key_invalid", "public_keys[0]"],
      [{ ...all, public_keys: [], proofs: [] }, "invalid_request", "public_keys"],
      [{ ...all, signature: "zz" }, "signature_malformed", "signature"],
      [{ ...all, message: "zz" }, "invalid_request", "message"],
      [{}, "invalid_request", "message"],
    ];
    for (const [body, wanted, at] of refusals) {
      const answer = await verify(body);
      expect([answer.status, code(answer), path(answer)], JSON.stringify(body)).toEqual([422, wanted, at]);
    }
    const batch = await verify({ batch: [all, bare, { ...all, message: "00" }, 5] });
    expect(
      batch.body.batch!.map((item) => item["verified"] ?? (item["errors"] as { code: string }[])[0]!.code),
    ).toEqual([true, "invalid_request", false, "invalid_request"]);

    // A rogue key: with the victim's it adds up to a key whose private key the attacker has.
    const { G1, longSignatures: scheme, utils } = bls12_381;
    const attacker = utils.randomSecretKey();
    const victim = public_keys[0]!.slice(2);
    const rogue = G1.Point.fromBytes(scheme.getPublicKey(attacker).toBytes(true)).subtract(G1.Point.fromHex(victim));
    const forged = scheme.Signature.toHex(
      scheme.sign(scheme.hash(Buffer.from(message, "hex"), "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"), attacker),
    );
    const attack = { message, public_keys: [victim, rogue.toHex(true)], signature: forged };
    expect((await verify({ ...attack, proofs: [proofs[0], forged] })).body).toEqual({ verified: false });
    expect(code(await verify(attack))).toBe("invalid_request");
  });

  it("have proofs that can be checked by themselves, of BLS keys only", async () => {
    const { path: at, key } = await server.newKey("BLS12-381");
    const { body: possession } = await server.call("POST", `${at}/prove_possession`);
    const check = async (body: object): Promise<Answer> =>
      await server.call("POST", "/api/v1/bls/verify_possession", body);
    expect((await check(possession)).body).toEqual({ verified: true });
    expect(
      (await check({ ...possession, public_key: (await server.newKey("BLS12-381")).key["public_key"] })).body,
    ).toEqual({ verified: false });
    expect((await check({ ...possession, proof: "00" })).body).toEqual({ verified: false });
    expect(code(await check({ ...possession, proof: "zz" }))).toBe("signature_malformed");
    expect(code(await check({ ...possession, public_key: "00" }))).toBe("public_key_invalid");
    expect(path(await check({ public_key: key["public_key"] }))).toBe("proof");
    const checks = await check({ batch: [possession, {}, { proof: 1 }] });
    expect(checks.body.batch!.map((item) => item["verified"])).toEqual([true, undefined, undefined]);
    for (const spec of ["Ed25519", "AES-256-GCM"]) {
      const refused = await server.call("POST", `${(await server.newKey(spec)).path}/prove_possession`);
      expect([refused.status, code(refused)]).toEqual([400, "spec_cannot_prove_possession"]);
    }
  });
});
