// Aggregates of BLS signatures over HTTP.
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
  }, 30_000);
});
