// Signing and verifying with every spec over HTTP, as callers and attackers see it.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVaultServer, type Answer, type VaultServer } from "./http-support.js";

let server: VaultServer;
beforeAll(async () => {
  server = await startVaultServer();
});
afterAll(async () => {
  await server.close();
});

const DIGEST = createHash("sha256").update("a message").digest("hex");
const code = (answer: Answer): string | undefined => answer.body.errors?.[0]?.code;

function flipped(hex: string, bit: number): string {
  const bytes = Buffer.from(hex, "hex");
  bytes[bit >> 3]! ^= 1 << (bit & 7);
  return bytes.toString("hex");
}

interface Expected {
  readonly message: string;
  /** The standard signs a message as it is, so that an empty one has no meaning. */
  readonly refusesEmpty?: true;
  readonly signatureBytes: number;
  readonly publicKey: RegExp;
}
const SPECS: Readonly<Record<string, Expected>> = {
  Ed25519: { message: "00ff", signatureBytes: 64, publicKey: /^0x[0-9a-f]{64}$/ },
  "Ed25519-nkey": { message: "00ff", signatureBytes: 64, publicKey: /^0x55[0-9a-f]{110}$/ },
  "P-256": { message: "00ff", signatureBytes: 64, publicKey: /^0x04[0-9a-f]{128}$/ },
  secp256k1: { message: DIGEST, refusesEmpty: true, signatureBytes: 65, publicKey: /^0x04[0-9a-f]{128}$/ },
  babyJubJub: { message: "04d2", refusesEmpty: true, signatureBytes: 64, publicKey: /^0x[0-9a-f]{64}$/ },
  "BLS12-381": { message: "00ff", signatureBytes: 96, publicKey: /^0x[0-9a-f]{96}$/ },
  "RSA-2048": { message: "00ff", signatureBytes: 256, publicKey: /^0x30[0-9a-f]+$/ },
  "RSA-3072": { message: "00ff", signatureBytes: 384, publicKey: /^0x30[0-9a-f]+$/ },
  "RSA-4096": { message: "00ff", signatureBytes: 512, publicKey: /^0x30[0-9a-f]+$/ },
};

describe.each(Object.entries(SPECS))("%s keys", (spec, expected) => {
  let key: Record<string, string>;
  let at: string;
  let signature: string;
  beforeAll(async () => {
    ({ key, path: at } = await server.newKey(spec, undefined, {
      type: "asymmetric",
      usage: "sign/verify",
      description: "",
    }));
  });

  it("have the declared members and a public key of their form", () => {
    const members = [
      "created_at",
      "description",
      "id",
      "name",
      "public_key",
      "spec",
      "type",
      "usage",
      "vault_id",
      ...(spec === "secp256k1" ? ["address"] : []),
    ];
    expect(Object.keys(key).sort()).toEqual(members.sort());
    expect(key).toMatchObject({ spec, type: "asymmetric", usage: "sign/verify" });
    expect(key["public_key"]).toMatch(expected.publicKey);
  });

  it("sign, and verify what they signed, with or without 0x, also detached", async () => {
    const signed = await server.call("POST", `${at}/sign`, { message: expected.message });
    expect(signed.status, JSON.stringify(signed.body)).toBe(201);
    signature = String(signed.body["signature"]);
    expect(signature).toMatch(new RegExp(`^[0-9a-f]{${2 * expected.signatureBytes}}$`));
    for (const [message, given] of [
      [expected.message, signature],
      [`0x${expected.message}`, `0x${signature.toUpperCase()}`],
    ]) {
      expect((await server.call("POST", `${at}/verify`, { message, signature: given })).body).toEqual({
        verified: true,
      });
      expect(
        (
          await server.call("POST", "/api/v1/verify", {
            spec: spec.toLowerCase(),
            public_key: key["public_key"],
            message,
            signature: given,
          })
        ).body,
      ).toEqual({ verified: true });
    }
  });

  it("answer false for flipped bits, other lengths, another message and another key", async () => {
    const bits = [0, 7, 255, 8 * expected.signatureBytes - 1, 8 * expected.signatureBytes - 8];
    const signatures = [
      ...bits.map((bit) => flipped(signature, bit)),
      signature.slice(2),
      `${signature}00`,
      "00",
      "00".repeat(expected.signatureBytes),
      "ff".repeat(expected.signatureBytes),
    ];
    const answer = await server.call("POST", `${at}/verify`, {
      batch: signatures.map((bad) => ({ message: expected.message, signature: bad })),
    });
    expect(answer.body.batch).toEqual(signatures.map(() => ({ verified: false })));
    const other = await server.newKey(spec === "RSA-3072" || spec === "RSA-4096" ? "RSA-2048" : spec);
    expect((await server.call("POST", `${other.path}/verify`, { message: expected.message, signature })).body).toEqual({
      verified: false,
    });
    expect(
      (await server.call("POST", `${at}/verify`, { message: flipped(expected.message, 3), signature })).body,
    ).toEqual({ verified: false });
  });

  it("refuse bad messages and signatures by name", async () => {
    const cases: [object, string][] = [
      [{}, "message_required"],
      [{ message: "abc" }, "invalid_request"],
      [{ message: "zz" }, "invalid_request"],
      [{ message: {} }, "invalid_request"],
      [{ message: 5 }, "invalid_request"],
      [{ message: expected.message, options: { format: "eip712x" } }, "invalid_request"],
      [{ message: expected.message, nonce: "00" }, "unknown_member"],
      [{ message: expected.message, private_key: "00" }, "unknown_member"],
      [{ message: expected.message, options: { k: "00" } }, "unknown_member"],
    ];
    for (const [body, wanted] of cases) {
      const answer = await server.call("POST", `${at}/sign`, body);
      expect([answer.status, code(answer)], JSON.stringify(body)).toEqual([422, wanted]);
    }
    const long = await server.call("POST", `${at}/sign`, { message: "00".repeat(64 * 1024 + 1) });
    expect(long.status).toBe(422);
    for (const bad of [undefined, "", "xyz", "abc"])
      expect(code(await server.call("POST", `${at}/verify`, { message: expected.message, signature: bad }))).toBe(
        "signature_malformed",
      );
  });

  it("sign empty messages where the standard hashes its message, and say so elsewhere", async () => {
    for (const message of ["", "0x"]) {
      const answer = await server.call("POST", `${at}/sign`, { message });
      if (expected.refusesEmpty === true) {
        expect([answer.status, code(answer)]).toEqual([422, "message_required"]);
        expect(answer.body["message"]).toMatch(/^message required: it is empty, and must be /);
      } else {
        expect(answer.status, JSON.stringify(answer.body)).toBe(201);
        const { signature } = answer.body;
        expect((await server.call("POST", `${at}/verify`, { message: "", signature })).body).toEqual({
          verified: true,
        });
        expect((await server.call("POST", `${at}/verify`, { message: "00", signature })).body).toEqual({
          verified: false,
        });
        expect(
          (await server.call("POST", "/api/v1/verify", { spec, public_key: key["public_key"], message, signature }))
            .body,
        ).toEqual({ verified: true });
      }
    }
  });

  it("cannot encrypt, decrypt, derive or agree", async () => {
    expect([400, "spec_cannot_encrypt"]).toEqual(await failure("encrypt", { data: "x" }));
    expect([400, "spec_cannot_decrypt"]).toEqual(await failure("decrypt", { data: "00" }));
    expect([400, "spec_cannot_derive"]).toEqual(await failure("derive", { context: "c", name: "n" }));
    expect([400, "spec_cannot_agree"]).toEqual(await failure("agree", { public_key: "00" }));
    expect([400, "spec_has_no_xpub"]).toEqual(await failure("xpub", undefined, "GET"));
  });

  async function failure(action: string, body: unknown, method = "POST"): Promise<[number, string | undefined]> {
    const answer = await server.call(method, `${at}/${action}`, body);
    return [answer.status, code(answer)];
  }
});

describe("keys that cannot sign", () => {
  it.each(["AES-256-GCM", "ChaCha20", "C25519"])("%s: say so by name, alone and in batches", async (spec) => {
    const { path: at } = await server.newKey(spec);
    for (const body of [{ message: "00" }, { batch: [{ message: "00" }] }]) {
      const signed = await server.call("POST", `${at}/sign`, body);
      expect([signed.status, code(signed)]).toEqual([400, "spec_cannot_sign"]);
    }
    expect(code(await server.call("POST", `${at}/verify`, { message: "00", signature: "00" }))).toBe(
      "spec_cannot_verify",
    );
    expect(
      code(await server.call("POST", "/api/v1/verify", { spec, public_key: "00", message: "00", signature: "00" })),
    ).toBe("spec_cannot_verify");
  });
});

describe("damage", () => {
  it.each(["Ed25519", "secp256k1"])(
    "of a %s key's public part in the store is noticed before anything is signed or published",
    async (spec) => {
      // Three damaged records within a minute would seal the vault.
      server.test.clock.ms += 120_000;
      const vault = await server.newVault();
      const { path: at, key } = await server.newKey(spec, vault);
      const other = (await server.newKey(spec, vault)).key["public_key"]!;
      const record = server.test.store.get<Record<string, string>>(["key", vault, key["id"]!])!;
      await server.test.store.commit({ puts: [{ key: record.key, value: { ...record.value, public_key: other } }] });
      for (const answer of [
        await server.call("POST", `${at}/sign`, { message: DIGEST }),
        await server.call("GET", `/api/v1/vaults/${vault}/jwks.json`),
      ])
        expect([answer.status, code(answer)]).toEqual([500, "data_corrupt"]);
      await server.test.store.commit({ puts: [{ key: record.key, value: record.value }] });
      expect((await server.call("POST", `${at}/sign`, { message: DIGEST })).status).toBe(201);
    },
  );
});
