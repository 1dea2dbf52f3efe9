// Batches over HTTP: order, items that fail alone, limits, and their pace beside single operations.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVaultServer, type Answer, type VaultServer } from "../http-support.js";

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
    for (const batch of [{}, "00", null, { 0: { message: "00" } }])
      expect((await server.call("POST", `${at}/sign`, { batch })).status, JSON.stringify(batch)).toBe(422);
  });

  it("of every operation fail only the items of the wrong form, named as if they stood alone", async () => {
    const made = await Promise.all(
      ["Ed25519", "secp256k1", "BIP39", "AES-256-GCM", "ChaCha20", "C25519", "BLS12-381"].map(
        async (spec) => [spec, await server.newKey(spec)] as const,
      ),
    );
    const keys = Object.fromEntries(made);
    const of = (spec: string, action: string): string => `${keys[spec]!.path}/${action}`;
    const signed = (await server.call("POST", of("Ed25519", "sign"), { message: "00" })).body["signature"];
    const sealed = (await server.call("POST", of("AES-256-GCM", "encrypt"), { data: "x" })).body["data"];
    const bls = (await server.call("POST", of("BLS12-381", "sign"), { message: "00".repeat(32) })).body["signature"];
    const detached = { spec: "Ed25519", public_key: keys["Ed25519"]!.key["public_key"] };
    const aggregate = { messages: ["00".repeat(32)], public_keys: [keys["BLS12-381"]!.key["public_key"]] };
    const cases: [string, object, string, object][] = [
      [of("Ed25519", "sign"), { message: "00" }, "message", { message: 5 }],
      [of("secp256k1", "sign"), { message: DIGEST }, "options.format", { message: DIGEST, options: { format: "x" } }],
      [of("BIP39", "sign"), { message: DIGEST, options: { hdwallet: { next: true } } }, "message", { message: null }],
      [of("Ed25519", "verify"), { message: "00", signature: signed }, "signature", { message: "00", signature: {} }],
      [of("AES-256-GCM", "encrypt"), { data: "x" }, "data", { data: ["x"] }],
      [of("AES-256-GCM", "decrypt"), { data: sealed }, "encoding", { data: sealed, encoding: "base64" }],
      [of("C25519", "agree"), { public_key: keys["C25519"]!.key["public_key"] }, "context", { context: 1 }],
      [of("ChaCha20", "derive"), { context: "c", name: "n" }, "nonce", { context: "c", name: "n", nonce: -1 }],
      [of("BIP39", "derive"), {}, "options.hdwallet.index", { options: { hdwallet: { index: "1" } } }],
      ["/api/v1/verify", { ...detached, message: "00", signature: signed }, "spec", { ...detached, spec: 1 }],
      ["/api/v1/bls/aggregate", { signatures: [bls] }, "signatures", { signatures: [] }],
      ["/api/v1/bls/verify", { ...aggregate, signature: bls }, "messages[0]", { ...aggregate, messages: [1] }],
    ];
    for (const [at, good, name, bad] of cases) {
      const batch = [bad, good, 5, "00", null, [good], { ...good, refused: [] }, good, { ...good, private_key: "00" }];
      const answer = await server.call("POST", at, { batch });
      expect([200, 201], `${at} ${JSON.stringify(answer.body)}`).toContain(answer.status);
      expect(
        answer.body.batch!.map((item) => (item["errors"] as { code: string; path?: string }[] | undefined)?.[0]),
        at,
      ).toEqual([
        { code: "invalid_request", path: name, message: expect.stringContaining(`${name}: `) as string },
        undefined,
        ...Array.from({ length: 4 }, () => ({
          code: "invalid_request",
          message: "the item: expected an object",
        })),
        expect.objectContaining({ code: "unknown_member", path: "refused" }),
        undefined,
        expect.objectContaining({ code: "unknown_member", path: "private_key" }),
      ]);
      const alone = await server.call("POST", at, bad);
      expect([alone.status, code(alone), path(alone)], at).toEqual([422, "invalid_request", name]);
      const all = await server.call("POST", at, { batch: [bad, bad] });
      expect(all.body.batch, at).toHaveLength(2);
    }
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
