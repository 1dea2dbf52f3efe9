// Many callers at once: requests that travel together, keys that are cached between uses, and sealing meanwhile.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ed25519 } from "@noble/curves/ed25519.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { hexToBytes } from "@noble/hashes/utils.js";
import { AppError } from "../../../src/platform/errors.js";
import { startVaultServer, type VaultServer } from "../http-support.js";
import { codeOf, openTestVault, PHRASE, subject } from "../support.js";

let server: VaultServer;
beforeAll(async () => {
  server = await startVaultServer();
});
afterAll(async () => {
  await server.close();
});

const digest = (index: number): string => index.toString(16).padStart(64, "0");

describe("requests that come together", () => {
  it("are answered each with its own, whatever travels with it", async () => {
    const [ed, ec, aes] = [
      await server.newKey("Ed25519"),
      await server.newKey("secp256k1"),
      await server.newKey("AES-256-GCM"),
    ];
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        if (index % 3 === 0) return await server.call("POST", `${ed.path}/sign`, { message: digest(index) });
        if (index % 3 === 1) return await server.call("POST", `${aes.path}/sign`, { message: digest(index) });
        return await server.call("POST", `${ec.path}/sign`, { message: index % 2 === 0 ? digest(index) : "00" });
      }),
    );
    const publicKeyOf = (key: Record<string, string>): Uint8Array => hexToBytes(key["public_key"]!.slice(2));
    for (const [index, { status, body }] of answers.entries()) {
      if (index % 3 === 1) expect([status, body.errors?.[0]?.code]).toEqual([400, "spec_cannot_sign"]);
      else if (index % 3 === 2 && index % 2 === 1)
        expect([status, body.errors?.[0]?.code]).toEqual([422, "digest_length_invalid"]);
      else {
        const signature = hexToBytes(String(body["signature"]));
        expect(
          index % 3 === 0
            ? ed25519.verify(signature, hexToBytes(digest(index)), publicKeyOf(ed.key))
            : secp256k1.verify(signature.subarray(0, 64), hexToBytes(digest(index)), publicKeyOf(ec.key), {
                prehash: false,
              }),
        ).toBe(true);
      }
    }
  });

  it("are refused beyond the queue with the time to come again, and the others are served", async () => {
    const test = await openTestVault();
    try {
      const owner = subject();
      const vaultId = (await test.vault.createVault(owner, { name: "v" })).id;
      const { id: keyId } = await test.vault.createKey(owner, vaultId, { spec: "Ed25519", name: "k" });
      const outcomes = await Promise.allSettled(
        Array.from(
          { length: 400 },
          async () => await test.vault.operations.sign({ owner, vaultId, keyId }, { message: "00" }),
        ),
      );
      const refused = outcomes.filter(({ status }) => status === "rejected");
      expect(outcomes.length - refused.length).toBeGreaterThanOrEqual(256);
      expect(refused.length).toBeGreaterThan(0);
      for (const outcome of refused)
        expect(outcome).toMatchObject({
          reason: { code: "overloaded", status: 503, retryAfterSec: expect.any(Number) as number },
        });
    } finally {
      await test.close();
    }
  });
});

describe("an owner with many requests", () => {
  it("does not make another owner's request wait for all of them", async () => {
    const test = await openTestVault();
    try {
      const [busy, other] = await Promise.all(
        [subject(), subject()].map(async (owner) => {
          const vaultId = (await test.vault.createVault(owner, { name: "v" })).id;
          const { id: keyId } = await test.vault.createKey(owner, vaultId, { spec: "secp256k1", name: "k" });
          return async () => await test.vault.operations.sign({ owner, vaultId, keyId }, { message: digest(1) });
        }),
      );
      let answered = 0;
      const many = Array.from({ length: 200 }, async () => {
        await busy!();
        answered += 1;
      });
      await other!();
      expect(answered).toBeLessThan(100);
      await Promise.all(many);
    } finally {
      await test.close();
    }
  });
});

describe("a key that was just used", () => {
  it("is gone, switched off or another's at once", async () => {
    const owner = subject();
    const { vault } = server.test;
    const vaultId = (await vault.createVault(owner, { name: "v" })).id;
    const keyId = (await vault.createKey(owner, vaultId, { spec: "Ed25519", name: "k" })).id;
    const sign = async (as = owner): Promise<string> =>
      await codeOf(async () => await vault.operations.sign({ owner: as, vaultId, keyId }, { message: "00" }));
    expect([await sign(), await sign(subject()), await sign({ kind: "organization", id: owner.id })]).toEqual([
      "fulfilled",
      "not_found",
      "not_found",
    ]);
    const record = server.test.store.get<Record<string, string>>(["key", vaultId, keyId])!;
    await server.test.store.commit({
      puts: [{ key: record.key, value: { ...record.value, disabled_at: "2026-01-01T00:00:00.000Z" } }],
    });
    expect(await sign()).toBe("key_disabled");
    await server.test.store.commit({
      puts: [{ key: record.key, value: { ...record.value, usage: "encrypt/decrypt" } }],
    });
    expect(await sign()).toBe("data_corrupt");
    await server.test.store.commit({ puts: [{ key: record.key, value: record.value }] });
    expect(await sign()).toBe("fulfilled");
    await vault.deleteKey(owner, vaultId, keyId);
    expect(await sign()).toBe("not_found");
    expect(
      await codeOf(async () => await vault.operations.sign({ owner, vaultId, keyId: randomUUID() }, { message: "00" })),
    ).toBe("not_found");
  });
});

describe("a store that takes no more writes", () => {
  it("leaves reading and using keys as they are, and refuses what would write", async () => {
    let isFull = false;
    const full = await startVaultServer({
      wrapStore: (store) =>
        new Proxy(store, {
          get: (target, name) =>
            name !== "commit"
              ? (Reflect.get(target, name) as unknown)
              : async (commit: Parameters<typeof store.commit>[0]) => {
                  if (isFull && (commit.puts ?? []).length > 0) throw new AppError("storage_full", { message: "full" });
                  await store.commit(commit);
                },
        }),
    });
    try {
      const vault = await full.newVault();
      const [ed, aes, wallet] = [
        await full.newKey("Ed25519", vault),
        await full.newKey("AES-256-GCM", vault),
        await full.newKey("BIP39", vault),
      ];
      const secret = String(
        (await full.call("POST", `/api/v1/vaults/${vault}/secrets`, { name: "n", type: "t", value: "v" })).body["id"],
      );
      isFull = true;
      const statusOf = async (method: string, path: string, body?: object): Promise<number> =>
        (await full.call(method, path, body)).status;
      const using = [
        await statusOf("GET", "/api/v1/vaults"),
        await statusOf("GET", `/api/v1/vaults/${vault}/keys`),
        await statusOf("GET", `/api/v1/vaults/${vault}/secrets/${secret}`),
        await statusOf("POST", `${ed.path}/sign`, { message: "00" }),
        await statusOf("POST", `${aes.path}/encrypt`, { data: "x" }),
        await statusOf("POST", `${wallet.path}/sign`, { message: digest(1) }),
      ];
      expect(using).toEqual([200, 200, 200, 201, 200, 201]);
      const writing = [
        await statusOf("POST", "/api/v1/vaults", { name: "w" }),
        await statusOf("POST", `/api/v1/vaults/${vault}/keys`, { spec: "Ed25519", name: "k" }),
        await statusOf("POST", `/api/v1/vaults/${vault}/secrets`, { name: "n", type: "t", value: "v" }),
        await statusOf("POST", `${wallet.path}/sign`, { message: digest(1), options: { hdwallet: { next: true } } }),
      ];
      expect(writing).toEqual([507, 507, 507, 507]);
      expect(await statusOf("DELETE", `/api/v1/vaults/${vault}/secrets/${secret}`)).toBe(204);
      isFull = false;
      expect([
        (await full.call("GET", "/api/v1/vaults")).headers.get("x-total-results-count"),
        (await full.call("GET", `/api/v1/vaults/${vault}/keys`)).headers.get("x-total-results-count"),
      ]).toEqual(["1", "4"]);
    } finally {
      await full.close();
    }
  });
});

describe("sealing while fifty signatures are under way", () => {
  it("leaves each whole or refused, and none afterwards", async () => {
    const test = await openTestVault();
    try {
      const owner = subject();
      const vaultId = (await test.vault.createVault(owner, { name: "v" })).id;
      const { id: keyId, public_key: publicKey = "" } = await test.vault.createKey(owner, vaultId, {
        spec: "secp256k1",
        name: "k",
      });
      const sign = async (index: number): Promise<string> =>
        (
          (await test.vault.operations.sign({ owner, vaultId, keyId }, { message: digest(index) })) as {
            signature: string;
          }
        ).signature;
      let first: () => void = () => undefined;
      const begun = new Promise<void>((resolve) => {
        first = resolve;
      });
      const signing = Array.from({ length: 50 }, async (_, index) => await sign(index).finally(first));
      const settled = Promise.allSettled(signing);
      await begun;
      await test.seal.seal(Buffer.from(PHRASE));
      const outcomes = await settled;
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "vault_sealed", status: 503 });
        else
          expect(
            secp256k1.verify(
              hexToBytes(outcome.value).subarray(0, 64),
              hexToBytes(digest(index)),
              hexToBytes(publicKey.slice(2)),
              { prehash: false },
            ),
          ).toBe(true);
      }
      expect(outcomes.some(({ status }) => status === "fulfilled")).toBe(true);
      expect(await codeOf(async () => await sign(99))).toBe("vault_sealed");
    } finally {
      await test.close();
    }
  });
});
