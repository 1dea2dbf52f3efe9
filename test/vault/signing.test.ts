// Signing and verifying with every spec over HTTP, as callers and attackers see it.
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  diffieHellman,
  randomBytes,
  sign as nodeSign,
  verify as nodeVerify,
} from "node:crypto";
import { compactVerify, createLocalJWKSet } from "jose";
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
const path = (answer: Answer): string | undefined => answer.body.errors?.[0]?.path;

function flipped(hex: string, bit: number): string {
  const bytes = Buffer.from(hex, "hex");
  bytes[bit >> 3]! ^= 1 << (bit & 7);
  return bytes.toString("hex");
}

interface Expected {
  readonly message: string;
  readonly signatureBytes: number;
  readonly publicKey: RegExp;
}
const SPECS: Readonly<Record<string, Expected>> = {
  Ed25519: { message: "00ff", signatureBytes: 64, publicKey: /^0x[0-9a-f]{64}$/ },
  "Ed25519-nkey": { message: "00ff", signatureBytes: 64, publicKey: /^0x55[0-9a-f]{110}$/ },
  "P-256": { message: "00ff", signatureBytes: 64, publicKey: /^0x04[0-9a-f]{128}$/ },
  secp256k1: { message: DIGEST, signatureBytes: 65, publicKey: /^0x04[0-9a-f]{128}$/ },
  babyJubJub: { message: "04d2", signatureBytes: 64, publicKey: /^0x[0-9a-f]{64}$/ },
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

  it("have the members of the specification and a public key of their form", () => {
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
  }, 30_000);

  it("refuse bad messages and signatures by name", async () => {
    const cases: [object, string][] = [
      [{}, "message_required"],
      [{ message: "" }, "message_required"],
      [{ message: "0x" }, "message_required"],
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

describe("creating keys", () => {
  it("refuses types and usages that the spec has not, options of other specs, and key material; nothing is stored", async () => {
    const vault = await server.newVault();
    const create = async (body: object): Promise<string | undefined> =>
      code(await server.call("POST", `/api/v1/vaults/${vault}/keys`, { name: "k", ...body }));
    expect(await create({ spec: "secp256k1", type: "symmetric" })).toBe("key_type_mismatch");
    expect(await create({ spec: "Ed25519", usage: "encrypt/decrypt" })).toBe("key_type_mismatch");
    expect(await create({ spec: "RSA-1024" })).toBe("key_spec_unknown");
    expect(await create({ spec: "Ed25519", options: { prefix: "U" } })).toBe("option_unsupported");
    expect(await create({ spec: "Ed25519-nkey", options: { prefix: "S" } })).toBe("invalid_request");
    for (const member of ["private_key", "public_key", "mnemonic", "seed", "ephemeral"])
      expect(await create({ spec: "BIP39", [member]: "00" })).toBe("unknown_member");
    expect((await server.call("GET", `/api/v1/vaults/${vault}/keys`)).headers.get("x-total-results-count")).toBe("1");
  });

  it("writes nkeys with the prefix that is asked for", async () => {
    for (const [options, letter] of [
      [undefined, "U"],
      [{ prefix: "A" }, "A"],
      [{ prefix: "N" }, "N"],
    ] as const) {
      const { key } = await server.newKey("Ed25519-nkey", undefined, options === undefined ? {} : { options });
      const nkey = Buffer.from(key["public_key"]!.slice(2), "hex").toString("latin1");
      expect(nkey).toMatch(new RegExp(`^${letter}[A-Z2-7]{55}$`));
      const { path: at } = await server.newKey("Ed25519-nkey");
      const { signature } = (await server.call("POST", `${at}/sign`, { message: "01" })).body;
      expect(
        (
          await server.call("POST", "/api/v1/verify", {
            spec: "Ed25519-nkey",
            public_key: nkey,
            message: "01",
            signature,
          })
        ).body,
      ).toEqual({ verified: false });
    }
  });
});

describe("batches", () => {
  it("answer in order, and a failing item fails alone", async () => {
    const { path: at } = await server.newKey("Ed25519");
    const batch = Array.from({ length: 50 }, (_, i) => ({
      message: i % 7 === 3 ? "zz" : i.toString(16).padStart(4, "0"),
    }));
    const answer = await server.call("POST", `${at}/sign`, { batch });
    expect(answer.status).toBe(201);
    expect(answer.body.batch).toHaveLength(50);
    const single = await server.call("POST", `${at}/sign`, { message: "0031" });
    expect(answer.body.batch![49]).toEqual(single.body);
    answer.body.batch!.forEach((item, i) => {
      expect(Object.keys(item)).toEqual([i % 7 === 3 ? "errors" : "signature"]);
    });
    expect(answer.body.batch![3]).toEqual({
      errors: [{ code: "invalid_request", path: "message", message: expect.stringContaining("hex") as string }],
    });
  });

  it("of secp256k1 answer each item as it is answered alone, in order, whatever stands beside it", async () => {
    const { path: at } = await server.newKey("secp256k1");
    const items = Array.from({ length: 24 }, (_, i): { message: string; options?: object } => {
      const message = i.toString(16).padStart(64, "0");
      switch (i % 6) {
        case 1:
          return { message: "00" };
        case 2:
          return { message, options: { format: "jws" } };
        case 3:
          return { message, options: { format: "personal_sign" } };
        case 4:
          return { message, options: { hdwallet: { index: 1 } } };
        default:
          return { message };
      }
    });
    const alone = await Promise.all(items.map(async (item) => (await server.call("POST", `${at}/sign`, item)).body));
    const { batch } = (await server.call("POST", `${at}/sign`, { batch: items })).body;
    const told = (answer: Record<string, unknown>): unknown =>
      answer["signature"] ?? (answer["errors"] as { code: string }[])[0]!.code;
    expect(batch!.map(told)).toEqual(alone.map(told));
    expect(batch!.slice(0, 6).map((answer) => answer["jws"] ?? told(answer))).toEqual(
      alone.slice(0, 6).map((answer) => answer["jws"] ?? told(answer)),
    );
    expect([batch![1], batch![4]].map((answer) => told(answer!))).toEqual([
      "digest_length_invalid",
      "option_unsupported",
    ]);
    const claims = items.map((item, i) => ({
      ...item,
      signature: (batch![i]!["jws"] ?? batch![i]!["signature"] ?? "11".repeat(64)) as string,
    }));
    const [wrong, none] = [{ ...claims[0]!, message: "ff".repeat(32) }, { message: claims[0]!.message }];
    const verified = (await server.call("POST", `${at}/verify`, { batch: [...claims, wrong, none] })).body.batch!;
    expect(verified.map((answer) => answer["verified"] ?? told(answer))).toEqual([
      ...items.map((_, i) => ([true, "digest_length_invalid", true, true, "option_unsupported", true] as const)[i % 6]),
      false,
      "signature_malformed",
    ]);
  });

  it("encrypt and decrypt, with contexts of their own", async () => {
    const { path: at } = await server.newKey("AES-256-GCM");
    const sealed = await server.call("POST", `${at}/encrypt`, {
      batch: [
        { data: "a", context: "1" },
        { data: "x", message: "y" },
        { message: "b", context: "2" },
      ],
    });
    expect(sealed.body.batch!.map((item) => Object.keys(item)[0])).toEqual(["data", "errors", "data"]);
    const [a, , b] = sealed.body.batch!.map((item) => item["data"]);
    const opened = await server.call("POST", `${at}/decrypt`, {
      batch: [
        { data: b, context: "2" },
        { data: a, context: "2" },
        { data: a, context: "1" },
      ],
    });
    expect(opened.body.batch).toEqual([
      { data: "b" },
      { errors: [expect.objectContaining({ code: "decryption_failed" })] },
      { data: "a" },
    ]);
  });

  it("refuse what is too long by its own name, up to the length of a body", async () => {
    const [{ path: signer }, { path: cipher }] = await Promise.all([
      server.newKey("Ed25519"),
      server.newKey("AES-256-GCM"),
    ]);
    const limit = 64 * 1024;
    for (const length of [limit + 1, 4 * limit]) {
      for (const message of ["00".repeat(length), `0x${"00".repeat(length)}`])
        expect(code(await server.call("POST", `${signer}/sign`, { message }))).toBe("message_too_long");
      expect(
        code(
          await server.call("POST", `${signer}/sign`, { message: "a".repeat(length), options: { encoding: "utf8" } }),
        ),
      ).toBe("message_too_long");
      expect(code(await server.call("POST", `${cipher}/encrypt`, { data: "a".repeat(length) }))).toBe(
        "message_too_long",
      );
      expect(code(await server.call("POST", `${cipher}/encrypt`, { data: "00".repeat(length), encoding: "hex" }))).toBe(
        "message_too_long",
      );
      expect(code(await server.call("POST", `${cipher}/decrypt`, { data: "00".repeat(length + 46) }))).toBe(
        "decryption_failed",
      );
    }
    expect((await server.call("POST", `${signer}/sign`, { message: `0x${"00".repeat(limit)}` })).status).toBe(201);
    const sealed = await server.call("POST", `${cipher}/encrypt`, { data: `0x${"00".repeat(limit)}`, encoding: "hex" });
    expect(
      (await server.call("POST", `${cipher}/decrypt`, { data: sealed.body["data"], encoding: "hex" })).body,
    ).toEqual({ data: `0x${"00".repeat(limit)}` });
  });

  it("decrypt in one call what one call encrypted, up to a thousand items of 1 KiB", async () => {
    const { path: at } = await server.newKey("ChaCha20");
    const batch = Array.from({ length: 1000 }, (_, i) => ({ data: String(i).padEnd(1024, ".") }));
    const sealed = await server.call("POST", `${at}/encrypt`, { batch });
    expect(sealed.status).toBe(200);
    expect((await server.call("POST", `${at}/decrypt`, { batch: sealed.body.batch })).body.batch).toEqual(batch);
  });

  it("take a thousand items and no more, not none, and not an item beside them", async () => {
    const { path: at } = await server.newKey("Ed25519");
    const items = (length: number): object => ({ batch: Array.from({ length }, () => ({ message: "00" })) });
    expect((await server.call("POST", `${at}/sign`, items(1000))).body.batch).toHaveLength(1000);
    expect((await server.call("POST", `${at}/sign`, items(1001))).status).toBe(422);
    expect((await server.call("POST", `${at}/sign`, items(0))).status).toBe(422);
    const both = await server.call("POST", `${at}/sign`, { ...items(1), message: "00" });
    expect([both.status, path(both)]).toEqual([422, "message"]);
    expect((await server.call("POST", `${at}/sign`, { batch: [{ message: "00", nonce: 1 }] })).status).toBe(422);
  });

  it("verify detached signatures of several specs at once", async () => {
    const items = await Promise.all(
      ["Ed25519", "P-256", "secp256k1"].map(async (spec) => {
        const { path: at, key } = await server.newKey(spec);
        return {
          spec,
          public_key: key["public_key"],
          message: DIGEST,
          signature: (await server.call("POST", `${at}/sign`, { message: DIGEST })).body["signature"],
        };
      }),
    );
    const answer = await server.call("POST", "/api/v1/verify", {
      batch: [
        ...items,
        { ...items[0], spec: "P-256" },
        { ...items[0], spec: "DES" },
        { ...items[0], message: "00" },
        { spec: "Ed25519" },
      ],
    });
    expect(
      answer.body.batch!.map((item) => item["verified"] ?? (item["errors"] as { code: string }[])[0]!.code),
    ).toEqual([true, true, true, "public_key_invalid", "key_spec_unknown", false, "public_key_invalid"]);
  });

  it("of slow keys leave quick ones their pace", async () => {
    const [slow, quick] = await Promise.all([server.newKey("BLS12-381"), server.newKey("Ed25519")]);
    let slowDone = false;
    const batch = server
      .call("POST", `${slow.path}/sign`, { batch: Array.from({ length: 20 }, () => ({ message: "00" })) })
      .then(() => {
        slowDone = true;
      });
    for (let i = 0; i < 20; i += 1)
      expect((await server.call("POST", `${quick.path}/sign`, { message: "00" })).status).toBe(201);
    expect(slowDone, "twenty quick signatures came before twenty slow ones").toBe(false);
    await batch;
  });
});

describe("RSA algorithms", () => {
  it("are PS256 when none is named, and otherwise the one that is", async () => {
    const { path: at, key } = await server.newKey("RSA-2048");
    const spki = createPublicKey({ key: Buffer.from(key["public_key"]!.slice(2), "hex"), format: "der", type: "spki" });
    const plain = String((await server.call("POST", `${at}/sign`, { message: "0102" })).body["signature"]);
    expect(
      nodeVerify(
        "sha256",
        Buffer.from("0102", "hex"),
        { key: spki, padding: 6, saltLength: 32 },
        Buffer.from(plain, "hex"),
      ),
    ).toBe(true);
    for (const algorithm of ["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"]) {
      const { signature } = (await server.call("POST", `${at}/sign`, { message: "0102", options: { algorithm } })).body;
      expect(
        (await server.call("POST", `${at}/verify`, { message: "0102", signature, options: { algorithm } })).body,
      ).toEqual({ verified: true });
      expect((await server.call("POST", `${at}/verify`, { message: "0102", signature })).body).toEqual({
        verified: algorithm === "PS256",
      });
      const pem = spki.export({ format: "pem", type: "spki" }).toString();
      expect(
        (
          await server.call("POST", "/api/v1/verify", {
            spec: "RSA-2048",
            public_key: pem,
            message: "0102",
            signature,
            options: { algorithm },
          })
        ).body,
      ).toEqual({ verified: true });
      expect(
        code(
          await server.call("POST", "/api/v1/verify", {
            spec: "RSA-4096",
            public_key: pem,
            message: "0102",
            signature,
            options: { algorithm },
          }),
        ),
      ).toBe("public_key_invalid");
    }
    expect(code(await server.call("POST", `${at}/sign`, { message: "01", options: { algorithm: "ES256" } }))).toBe(
      "algorithm_unsupported",
    );
  });
});

describe("babyJubJub messages", () => {
  it("are field elements: below the order, at most 32 bytes, never reduced", async () => {
    const { path: at } = await server.newKey("babyJubJub");
    const order = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
    const hex = (value: bigint): string => value.toString(16).padStart(64, "0");
    expect((await server.call("POST", `${at}/sign`, { message: hex(order - 1n) })).status).toBe(201);
    expect((await server.call("POST", `${at}/sign`, { message: "00" })).status).toBe(201);
    for (const message of [hex(order), hex(order + 1n), "ff".repeat(32), `00${hex(1n)}`])
      expect(code(await server.call("POST", `${at}/sign`, { message }))).toBe("message_out_of_field");
    expect(code(await server.call("POST", `${at}/sign`, { message: "01", options: { digest: "sha256" } }))).toBe(
      "option_unsupported",
    );
  });
});

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

  // RFC 7515 knows payloads of any length, and (appendix F) such that are kept elsewhere.
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
