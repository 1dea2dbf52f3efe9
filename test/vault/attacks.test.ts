// Each test is one attack, by a writer of the data file or by a holder of a token.
import { createSecretKey, randomBytes, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Subject } from "../../src/platform/auth/principal.js";
import type { StoreKey } from "../../src/platform/store/store.js";
import {
  unwrapRecord,
  wrapRecord,
  type EnvelopePlace,
  type EnvelopePurpose,
} from "../../src/vault/worker/record-wrapping.js";
import type { KeyRecord, SecretRecord, VaultRecord } from "../../src/vault/vault-records.js";
import { codeOf, decryptText, deriveKey, encryptText, openTestVault, subject, type TestVault } from "./support.js";

describe("the envelope against a writer of the data file", () => {
  const key = createSecretKey(randomBytes(32));
  const place: EnvelopePlace = {
    purpose: "key",
    vaultId: randomUUID(),
    recordId: randomUUID(),
    metadata: { spec: "ChaCha20", type: "symmetric", usage: "encrypt/decrypt" },
  };
  const plaintext = randomBytes(33);
  const envelope = wrapRecord({ key, generation: 1 }, place, plaintext);
  const open = (text: string, at: EnvelopePlace = place): Uint8Array => unwrapRecord(text, () => key, at);

  it("gives back what was wrapped, for any plaintext, generation and metadata", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.nat(2 ** 31),
        fc.dictionary(fc.string(), fc.string()),
        (bytes, generation, metadata) => {
          const at = { ...place, metadata };
          expect(Buffer.from(open(wrapRecord({ key, generation }, at, bytes), at)).equals(bytes)).toBe(true);
        },
      ),
    );
  });

  it("tamper: refuses every flipped bit of header, nonce, ciphertext and tag", async () => {
    const bytes = Buffer.from(envelope, "base64");
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const bad = Buffer.from(bytes);
      bad[bit >> 3]! ^= 1 << (bit & 7);
      expect(await codeOf(() => open(bad.toString("base64"))), `bit ${bit}`).toBe("data_corrupt");
    }
  });

  it("tamper: refuses a cut, an extended and an empty envelope", async () => {
    const bytes = Buffer.from(envelope, "base64");
    for (const bad of [
      Buffer.alloc(0),
      bytes.subarray(0, 45),
      bytes.subarray(0, -1),
      Buffer.concat([bytes, Buffer.of(0)]),
    ])
      expect(await codeOf(() => open(bad.toString("base64")))).toBe("data_corrupt");
  });

  it("move: refuses an envelope at another vault, record, purpose or generation", async () => {
    const purposes: EnvelopePurpose[] = ["mk", "seed", "secret", "cred"];
    const places = [
      { ...place, vaultId: randomUUID() },
      { ...place, recordId: randomUUID() },
      { ...place, vaultId: place.recordId, recordId: place.vaultId },
      ...purposes.map((purpose) => ({ ...place, purpose })),
    ];
    for (const at of places) expect(await codeOf(() => open(envelope, at))).toBe("data_corrupt");
    const other = Buffer.from(envelope, "base64");
    other.writeUInt32BE(2, 2);
    expect(await codeOf(() => open(other.toString("base64")))).toBe("data_corrupt");
  });

  it("relabel: refuses changed, added and missing metadata, but not another order of it", async () => {
    const { spec, type, usage } = place.metadata as { spec: string; type: string; usage: string };
    for (const metadata of [{ spec: "AES-256-GCM", type, usage }, { spec, type }, { spec, type, usage, extra: "" }, {}])
      expect(await codeOf(() => open(envelope, { ...place, metadata }))).toBe("data_corrupt");
    expect(Buffer.from(open(envelope, { ...place, metadata: { usage, type, spec } })).equals(plaintext)).toBe(true);
  });

  // A collision of random nonces cannot be observed. This guards against a nonce that is constant, cached with its key,
  // or repeated within the 128 envelopes that share the first half of theirs.
  it("writes a nonce of its own into each of 100,000 envelopes under one key", () => {
    const nonces = new Set(
      Array.from({ length: 100_000 }, () =>
        Buffer.from(wrapRecord({ key, generation: 1 }, place, plaintext), "base64").toString("latin1", 6, 30),
      ),
    );
    expect(nonces.size).toBe(100_000);
  });
});

describe("the vault against a writer of the data file", () => {
  let test: TestVault;
  let owner: Subject;
  let vaultId: string;
  let otherVaultId: string;

  beforeAll(async () => {
    test = await openTestVault();
    owner = subject();
    vaultId = (await test.vault.createVault(owner, { name: "mine" })).id;
    otherVaultId = (await test.vault.createVault(owner, { name: "mine too" })).id;
  });
  afterAll(async () => {
    await test.close();
  });

  /** Lets the test's clock pass the window in which failing records add up to an automatic seal. */
  async function refused(run: () => unknown): Promise<void> {
    test.clock.ms += 61_000;
    expect(await codeOf(run)).toBe("data_corrupt");
    expect(test.vault.state()).toBe("unsealed");
  }
  async function edit<T extends object>(key: StoreKey, change: Partial<T>): Promise<T> {
    const { value } = test.store.get<T>(key)!;
    await test.store.commit({ puts: [{ key, value: { ...value, ...change } as Record<string, string> }] });
    return value;
  }
  async function restore(key: StoreKey, value: object): Promise<void> {
    await test.store.commit({ puts: [{ key, value: value as Record<string, string> }] });
  }

  it("confidentiality: neither secret values nor phrase nor plaintext keys are in the data file", async () => {
    const canary = `canary-${randomUUID()}`;
    await test.vault.createSecret(owner, vaultId, { name: "n", type: "t", value: canary });
    const files = (await readdir(test.folder, { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    );
    for (const file of files) {
      const bytes = await readFile(join(file.parentPath, file.name));
      for (const form of [
        canary,
        Buffer.from(canary).toString("base64").slice(0, -4),
        Buffer.from(canary).toString("hex"),
        "legal winner",
        "7f".repeat(16),
      ])
        expect(bytes.includes(form)).toBe(false);
      expect(bytes.includes(Buffer.alloc(32, 0x7f))).toBe(false);
    }
  });

  it("move: a secret copied over another one, in its vault or another, does not open", async () => {
    const a = await test.vault.createSecret(owner, vaultId, { name: "same", type: "same", value: "value a" });
    const b = await test.vault.createSecret(owner, vaultId, { name: "same", type: "same", value: "value b" });
    const c = await test.vault.createSecret(owner, otherVaultId, { name: "same", type: "same", value: "value c" });
    const { envelope } = test.store.get<SecretRecord>(["secret", vaultId, a.id])!.value;
    await edit<SecretRecord>(["secret", vaultId, b.id], { envelope });
    await edit<SecretRecord>(["secret", otherVaultId, c.id], { envelope });
    await refused(() => test.vault.getSecret(owner, vaultId, b.id));
    await refused(() => test.vault.getSecret(owner, otherVaultId, c.id));
    expect((await test.vault.getSecret(owner, vaultId, a.id)).value).toBe("value a");
  });

  it("relabel: a secret under another name or type, a key under another spec or usage, does not open", async () => {
    const secret = await test.vault.createSecret(owner, vaultId, { name: "public", type: "note", value: "v" });
    const original = await edit<SecretRecord>(["secret", vaultId, secret.id], { name: "other" });
    await refused(() => test.vault.getSecret(owner, vaultId, secret.id));
    await restore(["secret", vaultId, secret.id], { ...original, type: "other" });
    await refused(() => test.vault.getSecret(owner, vaultId, secret.id));
    const key = await test.vault.createKey(owner, vaultId, { spec: "ChaCha20", name: "k" });
    const record = await edit<KeyRecord>(["key", vaultId, key.id], { spec: "AES-256-GCM" });
    await refused(() => test.vault.encrypt({ owner, vaultId, keyId: key.id }, Buffer.from("x")));
    await restore(["key", vaultId, key.id], { ...record, usage: "sign/verify" });
    await refused(() => test.vault.encrypt({ owner, vaultId, keyId: key.id }, Buffer.from("x")));
    await restore(["key", vaultId, key.id], record);
    expect(await codeOf(() => test.vault.encrypt({ owner, vaultId, keyId: key.id }, Buffer.from("x")))).toBe(
      "fulfilled",
    );
  });

  it("steal: a vault's records moved under another owner do not open, though its record key is cached", async () => {
    const secret = await test.vault.createSecret(owner, vaultId, { name: "n", type: "t", value: "v" });
    await test.vault.getSecret(owner, vaultId, secret.id);
    const thief = subject();
    const record = test.store.get<VaultRecord>(["vault", owner.kind, owner.id, vaultId])!.value;
    await test.store.commit({ puts: [{ key: ["vault", thief.kind, thief.id, vaultId], value: { ...record } }] });
    await refused(() => test.vault.getSecret(thief, vaultId, secret.id));
    await refused(() => test.vault.createKey(thief, vaultId, { spec: "ChaCha20", name: "k" }));
    await test.store.commit({ deletes: [["vault", thief.kind, thief.id, vaultId]] });
  });

  it("swap: a vault with another vault's master key, or an older generation, does not open its records", async () => {
    const secret = await test.vault.createSecret(owner, vaultId, { name: "n", type: "t", value: "v" });
    const vaultKey = ["vault", owner.kind, owner.id, vaultId];
    const master = test.store.get<VaultRecord>(vaultKey)!.value.master_key_id;
    const otherMaster = test.store.get<VaultRecord>(["vault", owner.kind, owner.id, otherVaultId])!.value.master_key_id;
    const original = await edit<KeyRecord>(["key", vaultId, master], {
      envelope: test.store.get<KeyRecord>(["key", otherVaultId, otherMaster])!.value.envelope,
    });
    await refused(() => test.vault.getSecret(owner, vaultId, secret.id));
    await restore(["key", vaultId, master], original);
    expect((await test.vault.getSecret(owner, vaultId, secret.id)).value).toBe("v");
  });

  it("replay: a deleted secret put back into a deleted vault stays out of reach", async () => {
    const doomed = await test.vault.createVault(owner, { name: "doomed" });
    const secret = await test.vault.createSecret(owner, doomed.id, { name: "n", type: "t", value: "v" });
    const record = test.store.get<SecretRecord>(["secret", doomed.id, secret.id])!.value;
    await test.vault.deleteVault(owner, doomed.id);
    await restore(["secret", doomed.id, secret.id], record);
    expect(await codeOf(() => test.vault.getSecret(owner, doomed.id, secret.id))).toBe("not_found");
  });

  it("seals itself when three records fail within a minute, not when one fails three times", async () => {
    const own = await openTestVault();
    const { id } = await own.vault.createVault(owner, { name: "v" });
    const secrets: string[] = [];
    for (let i = 0; i < 3; i += 1) {
      const secret = await own.vault.createSecret(owner, id, { name: "n", type: "t", value: "v" });
      const { value } = own.store.get<SecretRecord>(["secret", id, secret.id])!;
      await own.store.commit({ puts: [{ key: ["secret", id, secret.id], value: { ...value, name: "edited" } }] });
      secrets.push(secret.id);
    }
    for (let i = 0; i < 5; i += 1)
      expect(await codeOf(() => own.vault.getSecret(owner, id, secrets[0]!))).toBe("data_corrupt");
    expect(await codeOf(() => own.vault.getSecret(owner, id, secrets[1]!))).toBe("data_corrupt");
    expect(own.vault.state()).toBe("unsealed");
    await codeOf(() => own.vault.getSecret(owner, id, secrets[2]!));
    expect(own.vault.state()).toBe("fault_sealed");
    expect(await codeOf(() => own.vault.getSecret(owner, id, secrets[2]!))).toBe("vault_sealed");
    await own.close();
  });
});

describe("the vault against a holder of a token", () => {
  let test: TestVault;
  let owner: Subject;
  let vaultId: string;

  beforeAll(async () => {
    test = await openTestVault();
    owner = subject();
    vaultId = (await test.vault.createVault(owner, { name: "mine" })).id;
  });
  afterAll(async () => {
    await test.close();
  });

  it("wrong tenant: every operation on another subject's vault answers as for a vault that does not exist", async () => {
    const key = await test.vault.createKey(owner, vaultId, { spec: "ChaCha20", name: "k" });
    const secret = await test.vault.createSecret(owner, vaultId, { name: "n", type: "t", value: "v" });
    const others: Subject[] = [
      subject(),
      { kind: "application", id: owner.id },
      { kind: "organization", id: owner.id },
    ];
    const operations = (by: Subject, id: string): (() => unknown)[] => [
      () => test.vault.getVault(by, id),
      () => test.vault.deleteVault(by, id),
      () => test.vault.deletion(by, id),
      () => test.vault.listKeys(by, id, { page: 1, rpp: 25 }),
      () => test.vault.getKey(by, id, key.id),
      () => test.vault.deleteKey(by, id, key.id),
      () => test.vault.createKey(by, id, { spec: "ChaCha20", name: "k" }),
      () => deriveKey(test, by, id, key.id, { context: "c", name: "n" }),
      () => encryptText(test, by, id, key.id, { data: "x" }),
      () => decryptText(test, by, id, key.id, { data: "00" }),
      () => test.vault.listSecrets(by, id, { page: 1, rpp: 25 }),
      () => test.vault.createSecret(by, id, { name: "n", type: "t", value: "v" }),
      () => test.vault.getSecret(by, id, secret.id),
      () => test.vault.deleteSecret(by, id, secret.id),
    ];
    for (const by of others) {
      for (const run of operations(by, vaultId)) expect(await codeOf(run)).toBe("not_found");
      expect(test.vault.listVaults(by, { page: 1, rpp: 25 })).toEqual({ body: [], total: 0 });
    }
    for (const run of operations(owner, randomUUID())) expect(await codeOf(run)).toBe("not_found");
    expect((await test.vault.getSecret(owner, vaultId, secret.id)).value).toBe("v");
  });

  it("wrong vault: keys and secrets of one vault are not found under another of the same owner", async () => {
    const other = await test.vault.createVault(owner, { name: "other" });
    const key = await test.vault.createKey(owner, vaultId, { spec: "ChaCha20", name: "k" });
    const secret = await test.vault.createSecret(owner, vaultId, { name: "n", type: "t", value: "v" });
    expect(await codeOf(() => test.vault.getKey(owner, other.id, key.id))).toBe("not_found");
    expect(await codeOf(() => test.vault.encrypt({ owner, vaultId: other.id, keyId: key.id }, Buffer.from("x")))).toBe(
      "not_found",
    );
    expect(await codeOf(() => test.vault.getSecret(owner, other.id, secret.id))).toBe("not_found");
  });

  it("confusion: master0 cannot be used to decrypt a stored record", async () => {
    const secret = await test.vault.createSecret(owner, vaultId, { name: "n", type: "t", value: "v" });
    const master = test.vault
      .listKeys(owner, vaultId, { page: 1, rpp: 25 })
      .body.find((key) => key.name === "master0")!;
    const { envelope } = test.store.get<SecretRecord>(["secret", vaultId, secret.id])!.value;
    expect(
      await codeOf(() => test.vault.decrypt({ owner, vaultId, keyId: master.id }, Buffer.from(envelope, "base64"))),
    ).toBe("decryption_failed");
    const frame = await test.vault.encrypt({ owner, vaultId, keyId: master.id }, Buffer.from("x"));
    expect(Buffer.from(await test.vault.decrypt({ owner, vaultId, keyId: master.id }, frame)).toString()).toBe("x");
  });

  it.each(["AES-256-GCM", "ChaCha20"])(
    "tamper: %s refuses every changed byte, another key, another context and short input alike",
    async (spec) => {
      const key = await test.vault.createKey(owner, vaultId, { spec, name: "k" });
      const twin = await test.vault.createKey(owner, vaultId, { spec, name: "k" });
      const frame = await test.vault.encrypt({ owner, vaultId, keyId: key.id }, Buffer.from("payload"), "ctx");
      const messages = new Set<string>();
      const failure = async (keyId: string, bytes: Uint8Array, context: string): Promise<void> => {
        const error: unknown = await test.vault.decrypt({ owner, vaultId, keyId }, bytes, context).then(
          () => "opened",
          (reason: unknown) => reason,
        );
        expect(error).toMatchObject({ code: "decryption_failed" });
        messages.add((error as Error).message);
      };
      for (let i = 0; i < frame.length; i += 1) {
        const bad = Uint8Array.from(frame);
        bad[i]! ^= 0x01;
        await failure(key.id, bad, "ctx");
      }
      await failure(twin.id, frame, "ctx");
      await failure(key.id, frame, "other");
      await failure(key.id, frame, "");
      for (const length of [0, 1, 45, frame.length - 1]) await failure(key.id, frame.subarray(0, length), "ctx");
      expect(messages.size).toBe(1);
      expect(Buffer.from(await test.vault.decrypt({ owner, vaultId, keyId: key.id }, frame, "ctx")).toString()).toBe(
        "payload",
      );
    },
  );
});
