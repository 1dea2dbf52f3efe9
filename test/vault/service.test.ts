import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Subject } from "../../src/platform/auth/principal.js";
import { mergeCommits } from "../../src/platform/store/tables.js";
import {
  codeOf,
  decryptText,
  deriveKey,
  encryptText,
  openTestVault,
  PAGE,
  subject,
  type TestVault,
} from "./support.js";

let test: TestVault;
let owner: Subject;
let vaultId: string;

beforeAll(async () => {
  test = await openTestVault();
  owner = subject();
  vaultId = (await test.vault.createVault(owner, { name: "vault", description: "for tests" })).id;
});
afterAll(async () => {
  await test.close();
});

describe("vaults", () => {
  it("returns only the declared members", async () => {
    const vault = await test.vault.createVault(subject(), { name: "plain" });
    expect(Object.keys(vault).sort()).toEqual(["created_at", "description", "id", "name"]);
    expect(vault.description).toBe("");
  });

  it("lists the subject's vaults, oldest first, in pages", async () => {
    const lister = subject("application");
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      test.clock.ms += 1;
      ids.push((await test.vault.createVault(lister, { name: `v${i}` })).id);
    }
    expect(test.vault.listVaults(lister, PAGE).body.map((vault) => vault.id)).toEqual(ids);
    expect(test.vault.listVaults(lister, { page: 2, rpp: 2 })).toMatchObject({
      body: [{ id: ids[2] }, { id: ids[3] }],
      total: 5,
    });
    expect(test.vault.listVaults(lister, { page: 4, rpp: 2 })).toEqual({ body: [], total: 5 });
  });

  it("deletes a vault with its keys, secrets and indexes", async () => {
    const mine = subject();
    const { id } = await test.vault.createVault(mine, { name: "doomed" });
    const key = await test.vault.createKey(mine, id, { spec: "ChaCha20", name: "k" });
    await deriveKey(test, mine, id, key.id, { nonce: 1, context: "c", name: "child" });
    const secret = await test.vault.createSecret(mine, id, { name: "n", type: "t", value: "v" });
    await test.vault.deleteVault(mine, id);
    expect(await codeOf(() => test.vault.getVault(mine, id))).toBe("not_found");
    expect(await codeOf(() => test.vault.getSecret(mine, id, secret.id))).toBe("not_found");
    expect(await codeOf(() => test.vault.deleteVault(mine, id))).toBe("not_found");
    for (const table of [
      "key",
      "key#vault",
      "key#spec",
      "key#type",
      "secret",
      "secret#vault",
      "secret#type",
      "derive_nonce",
    ])
      expect(test.store.count([table, id])).toBe(0);
    for (const table of ["vault", "vault#owner"]) expect(test.store.count([table, mine.kind, mine.id])).toBe(0);
  });

  it("refuses a key that was prepared for a vault deleted meanwhile", async () => {
    const mine = subject();
    const { id } = await test.vault.createVault(mine, { name: "doomed" });
    const { commit } = await test.vault.prepareKey(mine, id, { spec: "ChaCha20", name: "k" });
    await test.vault.deleteVault(mine, id);
    await expect(test.store.commit(commit)).rejects.toThrow();
    expect(test.store.count(["key", id])).toBe(0);
  });

  it("writes a vault, a key and a secret in one commit of another area", async () => {
    const prover = subject("organization");
    const pendingVault = await test.vault.prepareVault(prover, { name: "for a prover" });
    const { id } = pendingVault.vault;
    const { key, commit: keyCommit } = await test.vault.prepareKey(
      prover,
      id,
      { spec: "AES-256-GCM", name: "notes" },
      { pendingVault },
    );
    const { secret, commit: secretCommit } = await test.vault.prepareSecret(
      prover,
      id,
      { name: "pin", type: "artifact", value: "sha256:00" },
      { pendingVault },
    );
    expect(await codeOf(() => test.vault.getVault(prover, id))).toBe("not_found");
    await test.store.commit(mergeCommits(pendingVault.commit, keyCommit, secretCommit));
    expect(await test.vault.retrieveSecret(prover, id, secret.id)).toBe("sha256:00");
    const frame = await test.vault.encrypt({ owner: prover, vaultId: id, keyId: key.id }, Buffer.from("note"), "ctx");
    expect(
      Buffer.from(await test.vault.decrypt({ owner: prover, vaultId: id, keyId: key.id }, frame, "ctx")).toString(),
    ).toBe("note");
    expect(
      await codeOf(() => test.vault.prepareKey(subject(), id, { spec: "ChaCha20", name: "k" }, { pendingVault })),
    ).toBe("not_found");
  });
});

describe("keys", () => {
  it("lists master0 as an AES-256-GCM key for encryption", () => {
    const [master] = test.vault.listKeys(owner, vaultId, PAGE).body;
    expect(master).toMatchObject({
      name: "master0",
      type: "symmetric",
      usage: "encrypt/decrypt",
      spec: "AES-256-GCM",
      vault_id: vaultId,
    });
    expect(Object.keys(master!).sort()).toEqual([
      "created_at",
      "description",
      "id",
      "name",
      "spec",
      "type",
      "usage",
      "vault_id",
    ]);
  });

  it("creates keys of both symmetric specs in any letter case, and never answers material", async () => {
    for (const spec of ["AES-256-GCM", "aes-256-gcm", "ChaCha20", "CHACHA20"]) {
      const key = await test.vault.createKey(owner, vaultId, {
        spec,
        type: "symmetric",
        usage: "encrypt/decrypt",
        name: "k",
        description: "d",
      });
      expect(["AES-256-GCM", "ChaCha20"]).toContain(key.spec);
      expect(Object.keys(key).sort()).toEqual([
        "created_at",
        "description",
        "id",
        "name",
        "spec",
        "type",
        "usage",
        "vault_id",
      ]);
      expect(test.vault.getKey(owner, vaultId, key.id)).toEqual(key);
    }
  });

  it("refuses an unknown spec, and a type or usage that the spec has not, and stores nothing", async () => {
    const before = test.vault.listKeys(owner, vaultId, PAGE).total;
    expect(await codeOf(() => test.vault.createKey(owner, vaultId, { spec: "DES", name: "k" }))).toBe(
      "key_spec_unknown",
    );
    expect(await codeOf(() => test.vault.createKey(owner, vaultId, { spec: "__proto__", name: "k" }))).toBe(
      "key_spec_unknown",
    );
    expect(
      await codeOf(() => test.vault.createKey(owner, vaultId, { spec: "ChaCha20", type: "asymmetric", name: "k" })),
    ).toBe("key_type_mismatch");
    expect(
      await codeOf(() => test.vault.createKey(owner, vaultId, { spec: "ChaCha20", usage: "sign/verify", name: "k" })),
    ).toBe("key_type_mismatch");
    expect(test.vault.listKeys(owner, vaultId, PAGE).total).toBe(before);
  });

  it("filters the list by spec and type and pages the result", async () => {
    const { id } = await test.vault.createVault(owner, { name: "filters" });
    for (let i = 0; i < 3; i += 1) await test.vault.createKey(owner, id, { spec: "ChaCha20", name: `c${i}` });
    expect(test.vault.listKeys(owner, id, PAGE).total).toBe(4);
    expect(test.vault.listKeys(owner, id, { ...PAGE, spec: "chacha20" }).total).toBe(3);
    expect(test.vault.listKeys(owner, id, { page: 2, rpp: 2, spec: "ChaCha20" })).toMatchObject({
      body: [{ spec: "ChaCha20" }],
      total: 3,
    });
    expect(
      test.vault.listKeys(owner, id, { ...PAGE, spec: "AES-256-GCM", type: "symmetric" }).body.map((key) => key.name),
    ).toEqual(["master0"]);
    expect(test.vault.listKeys(owner, id, { ...PAGE, type: "asymmetric" })).toEqual({ body: [], total: 0 });
    expect(test.vault.listKeys(owner, id, { ...PAGE, spec: "nothing" })).toEqual({ body: [], total: 0 });
  });

  it("deletes a key, but never master0", async () => {
    const key = await test.vault.createKey(owner, vaultId, { spec: "ChaCha20", name: "k" });
    await test.vault.deleteKey(owner, vaultId, key.id);
    expect(await codeOf(() => test.vault.getKey(owner, vaultId, key.id))).toBe("not_found");
    expect(await codeOf(() => test.vault.deleteKey(owner, vaultId, key.id))).toBe("not_found");
    const master = test.vault.listKeys(owner, vaultId, PAGE).body[0]!;
    expect(await codeOf(() => test.vault.deleteKey(owner, vaultId, master.id))).toBe("master_key_immutable");
    expect(test.vault.getKey(owner, vaultId, master.id)).toEqual(master);
  });
});

describe("encrypt and decrypt", () => {
  let keys: string[];
  beforeAll(async () => {
    const made = await Promise.all(
      ["AES-256-GCM", "ChaCha20"].map(async (spec) => await test.vault.createKey(owner, vaultId, { spec, name: "k" })),
    );
    keys = [...made.map((key) => key.id), test.vault.listKeys(owner, vaultId, PAGE).body[0]!.id];
  });

  it("takes text in data or message and gives it back, master0 included", async () => {
    for (const id of keys) {
      const data = await encryptText(test, owner, vaultId, id, { data: "grüße 🌍", context: "c" });
      expect(data).toMatch(/^0x010[12]00000001[0-9a-f]{80,}$/);
      expect(await decryptText(test, owner, vaultId, id, { message: data, context: "c" })).toBe("grüße 🌍");
      expect(await decryptText(test, owner, vaultId, id, { data: data.slice(2).toUpperCase(), context: "c" })).toBe(
        "grüße 🌍",
      );
    }
  });

  it("frames AES keys with algorithm 1 and ChaCha20 keys with algorithm 2, 46 bytes over the plaintext", async () => {
    const frames = await Promise.all(
      keys.map(async (id) => await test.vault.encrypt({ owner, vaultId, keyId: id }, Buffer.alloc(100))),
    );
    expect(frames.map((frame) => frame[1])).toEqual([1, 2, 1]);
    expect(frames.map((frame) => frame.length)).toEqual([146, 146, 146]);
  });

  it("is done with a key for its owner in its vault only, also right after him", async () => {
    const other = await test.vault.createVault(owner, { name: "other" });
    const key = await test.vault.createKey(owner, vaultId, { spec: "AES-256-GCM", name: "mine" });
    const strangers = [subject(), { kind: "application", id: owner.id } as const];
    for (let round = 0; round < 2; round += 1) {
      expect(await encryptText(test, owner, vaultId, key.id, { data: "x" })).toMatch(/^0x/);
      for (const stranger of strangers)
        expect(await codeOf(() => encryptText(test, stranger, vaultId, key.id, { data: "x" }))).toBe("not_found");
      expect(await codeOf(() => encryptText(test, owner, other.id, key.id, { data: "x" }))).toBe("not_found");
    }
  });

  it("gives another ciphertext each time", async () => {
    const [a, b] = [
      await encryptText(test, owner, vaultId, keys[0]!, { data: "x" }),
      await encryptText(test, owner, vaultId, keys[0]!, { data: "x" }),
    ];
    expect(a).not.toBe(b);
  });

  it("takes and gives bytes as hex on demand, and says when a plaintext is not text", async () => {
    const data = await encryptText(test, owner, vaultId, keys[0]!, { data: "0xff00fe", encoding: "hex" });
    expect(await decryptText(test, owner, vaultId, keys[0]!, { data, encoding: "hex" })).toBe("0xff00fe");
    expect(await codeOf(() => decryptText(test, owner, vaultId, keys[0]!, { data }))).toBe("invalid_request");
  });

  it("takes an empty plaintext and one of 64 KiB, and refuses one byte more", async () => {
    for (const text of ["", "ä".repeat(32 * 1024)]) {
      const data = await encryptText(test, owner, vaultId, keys[1]!, { data: text });
      expect(await decryptText(test, owner, vaultId, keys[1]!, { data })).toBe(text);
    }
    expect(await codeOf(() => encryptText(test, owner, vaultId, keys[1]!, { data: `${"ä".repeat(32 * 1024)}a` }))).toBe(
      "message_too_long",
    );
  });

  it.each([
    {},
    { data: "a", message: "a" },
    { data: "\ud800" },
    { data: "a", context: "\udc00" },
    { data: "abc", encoding: "hex" as const },
    { data: "zz", encoding: "hex" as const },
    { data: "a", context: "ä".repeat(513) },
  ])("refuses to encrypt %j", async (input) => {
    expect(await codeOf(() => encryptText(test, owner, vaultId, keys[0]!, input))).toBe("invalid_request");
  });

  it.each(["0x0", "xyz", "0x0x00", " 00"])("refuses to decrypt %j as hex", async (data) => {
    expect(await codeOf(() => decryptText(test, owner, vaultId, keys[0]!, { data }))).toBe("invalid_request");
  });

  it("keeps many operations in flight apart", async () => {
    const texts = Array.from({ length: 200 }, (_, i) => `message ${i}`);
    const sealed = await Promise.all(
      texts.map(async (data, i) => await encryptText(test, owner, vaultId, keys[i % 3]!, { data })),
    );
    const opened = await Promise.all(
      sealed.map(async (data, i) => await decryptText(test, owner, vaultId, keys[i % 3]!, { data })),
    );
    expect(opened).toEqual(texts);
  });
});

describe("derive", () => {
  it("makes a child key that encrypts on its own and outlives its parent", async () => {
    const parent = await test.vault.createKey(owner, vaultId, { spec: "ChaCha20", name: "parent" });
    const child = await deriveKey(test, owner, vaultId, parent.id, {
      nonce: 7,
      context: "payments/2026",
      name: "child",
      description: "d",
    });
    expect(child).toMatchObject({
      type: "symmetric",
      usage: "encrypt/decrypt",
      spec: "ChaCha20",
      name: "child",
      description: "d",
      vault_id: vaultId,
    });
    const data = await encryptText(test, owner, vaultId, child.id, { data: "x" });
    expect(await codeOf(() => decryptText(test, owner, vaultId, parent.id, { data }))).toBe("decryption_failed");
    await test.vault.deleteKey(owner, vaultId, parent.id);
    expect(await decryptText(test, owner, vaultId, child.id, { data })).toBe("x");
    expect(
      await codeOf(() =>
        deriveKey(test, owner, vaultId, child.id, { nonce: 7, context: "deeper", name: "grandchild" }),
      ),
    ).toBe("fulfilled");
  });

  it("serves a nonce once per parent, also when asked twice at the same time", async () => {
    const parent = await test.vault.createKey(owner, vaultId, { spec: "ChaCha20", name: "parent" });
    const derive = (nonce: number | undefined, context = "c"): Promise<unknown> =>
      deriveKey(test, owner, vaultId, parent.id, { ...(nonce === undefined ? {} : { nonce }), context, name: "child" });
    const codes = await Promise.all([codeOf(() => derive(0)), codeOf(() => derive(0, "other"))]);
    expect(codes.sort()).toEqual(["fulfilled", "nonce_reused"]);
    expect(await codeOf(() => derive(0, "third"))).toBe("nonce_reused");
    expect(await codeOf(() => derive(2 ** 32 - 1))).toBe("fulfilled");
    expect(await codeOf(() => derive(2 ** 32 - 1))).toBe("nonce_reused");
    expect(await Promise.all([codeOf(() => derive(undefined)), codeOf(() => derive(undefined))])).toEqual([
      "fulfilled",
      "fulfilled",
    ]);
    const sibling = await test.vault.createKey(owner, vaultId, { spec: "ChaCha20", name: "sibling" });
    expect(
      await codeOf(() => deriveKey(test, owner, vaultId, sibling.id, { nonce: 0, context: "c", name: "child" })),
    ).toBe("fulfilled");
    expect(
      test.vault.listKeys(owner, vaultId, { page: 1, rpp: 100 }).body.filter((key) => key.name === "child").length,
    ).toBeGreaterThanOrEqual(5);
  });

  it("needs a context and a name, and takes no path", async () => {
    const parent = await test.vault.createKey(owner, vaultId, { spec: "ChaCha20", name: "parent" });
    for (const input of [{ nonce: 1, name: "n" }, { nonce: 1, context: "c" }, {}])
      expect(await codeOf(() => deriveKey(test, owner, vaultId, parent.id, input))).toBe("invalid_request");
    expect(
      await codeOf(() =>
        deriveKey(test, owner, vaultId, parent.id, { context: "c", name: "n", hd_derivation_path: "m/44'/60'/0'/0/0" }),
      ),
    ).toBe("option_unsupported");
  });

  it("refuses keys of another spec, and contexts over 1024 bytes", async () => {
    const aes = await test.vault.createKey(owner, vaultId, { spec: "AES-256-GCM", name: "aes" });
    expect(await codeOf(() => deriveKey(test, owner, vaultId, aes.id, { context: "c", name: "n" }))).toBe(
      "spec_cannot_derive",
    );
    const parent = await test.vault.createKey(owner, vaultId, { spec: "ChaCha20", name: "parent" });
    expect(
      await codeOf(() => deriveKey(test, owner, vaultId, parent.id, { context: "ä".repeat(512), name: "n" })),
    ).toBe("fulfilled");
    expect(
      await codeOf(() => deriveKey(test, owner, vaultId, parent.id, { context: "ä".repeat(513), name: "n" })),
    ).toBe("invalid_request");
    expect(await codeOf(() => deriveKey(test, owner, vaultId, randomUUID(), { context: "c", name: "n" }))).toBe(
      "not_found",
    );
  });
});

describe("secrets", () => {
  it("stores, lists without value, retrieves and deletes", async () => {
    const { id } = await test.vault.createVault(owner, { name: "secrets" });
    const secret = await test.vault.createSecret(owner, id, {
      name: "db",
      type: "password",
      description: "d",
      value: "correct horse",
    });
    expect(Object.keys(secret).sort()).toEqual(["created_at", "description", "id", "name", "type", "vault_id"]);
    expect(test.vault.listSecrets(owner, id, PAGE)).toEqual({ body: [secret], total: 1 });
    expect(await test.vault.getSecret(owner, id, secret.id)).toEqual({ ...secret, value: "correct horse" });
    await test.vault.deleteSecret(owner, id, secret.id);
    expect(await codeOf(() => test.vault.getSecret(owner, id, secret.id))).toBe("not_found");
    expect(await codeOf(() => test.vault.deleteSecret(owner, id, secret.id))).toBe("not_found");
    expect(test.vault.listSecrets(owner, id, PAGE).total).toBe(0);
  });

  it("filters by type", async () => {
    const { id } = await test.vault.createVault(owner, { name: "types" });
    for (const type of ["a", "b", "a"]) await test.vault.createSecret(owner, id, { name: "n", type, value: "v" });
    expect(test.vault.listSecrets(owner, id, { ...PAGE, type: "a" }).total).toBe(2);
    expect(test.vault.listSecrets(owner, id, { ...PAGE, type: "c" })).toEqual({ body: [], total: 0 });
  });

  it("takes 4096 bytes of UTF-8 and refuses 4097, counted in bytes", async () => {
    const exact = "ä".repeat(2048);
    const secret = await test.vault.createSecret(owner, vaultId, { name: "n", type: "t", value: exact });
    expect(await test.vault.retrieveSecret(owner, vaultId, secret.id)).toBe(exact);
    const before = test.vault.listSecrets(owner, vaultId, PAGE).total;
    for (const value of ["a".repeat(4097), `${exact}a`, "ä".repeat(4096)])
      expect(await codeOf(() => test.vault.createSecret(owner, vaultId, { name: "n", type: "t", value }))).toBe(
        "secret_too_long",
      );
    expect(await codeOf(() => test.vault.createSecret(owner, vaultId, { name: "n", type: "t", value: "\ud800" }))).toBe(
      "invalid_request",
    );
    expect(test.vault.listSecrets(owner, vaultId, PAGE).total).toBe(before);
  });

  it("keeps every character, byte order marks and control characters included", async () => {
    const value = "\ufeff a\0b\r\n\u{1f512}";
    const secret = await test.vault.createSecret(owner, vaultId, { name: "n", type: "t", value });
    expect(await test.vault.retrieveSecret(owner, vaultId, secret.id)).toBe(value);
  });
});
