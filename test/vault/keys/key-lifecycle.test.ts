// Changes to keys: rotation with old ciphertexts that still decrypt, disabling, deletion with a recovery window, and
// rekeying the store.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { phraseEntropy } from "../../../src/crypto/wallets/seal-phrase.js";
import { createLog } from "../../../src/platform/log.js";
import { openStore, rewriteStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { KeyLifecycle } from "../../../src/vault/keys/key-lifecycle.js";
import type { RewrapInput } from "../../../src/vault/keys/operation-schemas.js";
import { PlannedDeletions } from "../../../src/vault/keys/planned-deletions.js";
import { rekeyStore } from "../../../src/vault/seal/rekey.js";
import { VaultRepository } from "../../../src/vault/repository.js";
import { environmentSealProvider } from "../../../src/vault/seal/providers/environment.js";
import {
  codeOf,
  deriveKey,
  openTestVault,
  OTHER_HASH,
  OTHER_PHRASE,
  PHRASE,
  subject,
  type TestVault,
} from "../support.js";

const owner = subject();
const DAY_MS = 24 * 3600 * 1000;
let test: TestVault;
let keys: KeyLifecycle;
let deletions: PlannedDeletions;
let vaultId: string;

beforeAll(async () => {
  test = await openTestVault();
  const dependencies = {
    repository: new VaultRepository({ store: test.store }),
    seal: test.seal,
    clock: test.clock,
    log: createLog("silent"),
  };
  keys = new KeyLifecycle(dependencies);
  deletions = new PlannedDeletions(dependencies);
  vaultId = (await test.vault.createVault(owner, { name: "v" })).id;
});
afterAll(async () => {
  await test.close();
});

const newKey = async (spec = "AES-256-GCM"): Promise<string> =>
  (await test.vault.createKey(owner, vaultId, { spec, name: "k" })).id;
const seal = async (keyId: string, text: string): Promise<Uint8Array> =>
  await test.vault.encrypt({ owner, vaultId, keyId }, Buffer.from(text), "c");
const open = async (keyId: string, frame: Uint8Array): Promise<string> =>
  Buffer.from(await test.vault.decrypt({ owner, vaultId, keyId }, frame, "c")).toString();
const frameOf = (data: string): Buffer => Buffer.from(data.slice(2), "hex");
interface Rewrapped {
  readonly data?: string;
  readonly batch?: readonly { readonly data?: string; readonly errors?: readonly { readonly code: string }[] }[];
}
const rewrap = async (keyId: string, input: RewrapInput): Promise<Rewrapped> => {
  const { text } = await test.vault.operations.rewrap({ owner, vaultId, keyId }, input);
  return JSON.parse(Buffer.from(text).toString()) as Rewrapped;
};
const hex = (frame: Uint8Array): string => Buffer.from(frame).toString("hex");
const generationOf = (frame: Uint8Array): number => Buffer.from(frame).readUInt32BE(2);

describe("rotation", () => {
  it.each(["AES-256-GCM", "ChaCha20"])(
    "of a %s key keeps old ciphertexts open and makes new ones with the new generation",
    async (spec) => {
      const id = await newKey(spec);
      const frames = [await seal(id, "one")];
      for (const generation of [2, 3]) {
        expect(await keys.rotate(owner, vaultId, id)).toMatchObject({ id, spec, generation });
        frames.push(await seal(id, `text ${String(generation)}`));
      }
      expect(frames.map(generationOf)).toEqual([1, 2, 3]);
      expect(await Promise.all(frames.map(async (frame) => await open(id, frame)))).toEqual([
        "one",
        "text 2",
        "text 3",
      ]);
      const rewrapped = frameOf((await rewrap(id, { data: hex(frames[0]!), context: "c" })).data!);
      expect(generationOf(rewrapped)).toBe(3);
      expect(await open(id, rewrapped)).toBe("one");
      const { batch } = await rewrap(id, {
        batch: [
          { data: hex(frames[1]!), context: "c" },
          { data: hex(frames[0]!), context: "other" },
          { data: "zz" },
          {},
          { data: hex(frames[0]!), context: "c" },
          { data: hex(frames[2]!), context: "c" },
        ],
      });
      expect(batch!.map(({ errors }) => errors?.[0]?.code)).toEqual([
        undefined,
        "decryption_failed",
        "invalid_request",
        "invalid_request",
        undefined,
        undefined,
      ]);
      const moved = batch!.flatMap(({ data }) => (data === undefined ? [] : [frameOf(data)]));
      expect(moved.map(generationOf)).toEqual([3, 3, 3]);
      expect(await Promise.all(moved.map(async (frame) => await open(id, frame)))).toEqual(["text 2", "one", "text 3"]);
    },
  );

  it("gives each generation material of its own: a header that names another does not open", async () => {
    const id = await newKey();
    const frame = await seal(id, "x");
    await keys.rotate(owner, vaultId, id);
    for (const generation of [0, 2, 3, 2 ** 32 - 1]) {
      const moved = Buffer.from(frame);
      moved.writeUInt32BE(generation, 2);
      expect(await codeOf(() => open(id, moved))).toBe("decryption_failed");
      expect(await codeOf(() => rewrap(id, { data: hex(moved), context: "c" }))).toBe("decryption_failed");
    }
    expect(await codeOf(() => rewrap(id, { data: hex(frame), context: "other" }))).toBe("decryption_failed");
  });

  it("notices an old generation put in the place of the new one", async () => {
    const id = await newKey();
    await keys.rotate(owner, vaultId, id);
    const first = test.store.get<string>(["key_generation", vaultId, id, 1])!.value;
    const record = test.store.get<Record<string, string>>(["key", vaultId, id])!.value;
    await test.store.commit({ puts: [{ key: ["key", vaultId, id], value: { ...record, envelope: first } }] });
    expect(await codeOf(() => seal(id, "x"))).toBe("data_corrupt");
  });

  it("happens once for two at the same time, and never to the master key or another tenant's", async () => {
    const id = await newKey();
    const outcomes = await Promise.all([
      codeOf(() => keys.rotate(owner, vaultId, id)),
      codeOf(() => keys.rotate(owner, vaultId, id)),
    ]);
    expect(outcomes.sort()).toEqual(["conflict", "fulfilled"]);
    const master = test.vault
      .listKeys(owner, vaultId, { page: 1, rpp: 100 })
      .body.find(({ name }) => name === "master0")!;
    for (const change of [keys.rotate.bind(keys), keys.disable.bind(keys), keys.restore.bind(keys)])
      expect(await codeOf(() => change(owner, vaultId, master.id))).toBe("master_key_immutable");
    for (const change of [
      keys.rotate.bind(keys),
      keys.disable.bind(keys),
      keys.enable.bind(keys),
      keys.restore.bind(keys),
    ]) {
      expect(await codeOf(() => change(subject(), vaultId, id))).toBe("not_found");
      expect(await codeOf(() => change(owner, vaultId, randomUUID()))).toBe("not_found");
    }
  });

  it("goes with the key: a deleted key leaves no generation behind", async () => {
    const id = await newKey();
    await keys.rotate(owner, vaultId, id);
    await test.vault.deleteKey(owner, vaultId, id);
    expect(test.store.count(["key_generation", vaultId, id])).toBe(0);
  });
});

describe("disabling", () => {
  it("refuses every use until the key is enabled", async () => {
    const id = await newKey("ChaCha20");
    const frame = await seal(id, "x");
    expect(await keys.disable(owner, vaultId, id)).toMatchObject({
      disabled_at: new Date(test.clock.ms).toISOString(),
    });
    await keys.disable(owner, vaultId, id);
    for (const use of [
      () => seal(id, "y"),
      () => open(id, frame),
      () => keys.rotate(owner, vaultId, id),
      () => rewrap(id, { data: hex(frame), context: "c" }),
      () => deriveKey(test, owner, vaultId, id, { context: "c", name: "n" }),
    ]) {
      expect(await codeOf(use)).toBe("key_disabled");
    }
    // A batch is refused as a whole as well, for every operation.
    const call = { owner, vaultId, keyId: id };
    expect(await codeOf(() => test.vault.operations.encrypt(call, { batch: [{ data: "x" }] }))).toBe("key_disabled");
    expect(await codeOf(() => test.vault.operations.decrypt(call, { batch: [{ data: hex(frame) }] }))).toBe(
      "key_disabled",
    );
    expect(await codeOf(() => test.vault.derivation.derive(call, { batch: [{ context: "c", name: "n" }] }))).toBe(
      "key_disabled",
    );
    expect(test.vault.getKey(owner, vaultId, id)).toHaveProperty("disabled_at");
    expect(await keys.enable(owner, vaultId, id)).not.toHaveProperty("disabled_at");
    expect(await open(id, frame)).toBe("x");
  });
});

describe("deletion with a recovery window", () => {
  it("can be taken back until its time, and then is for good", async () => {
    const id = await newKey();
    const frame = await seal(id, "x");
    expect(await codeOf(() => keys.restore(owner, vaultId, id))).toBe("key_not_deleted");
    expect(await keys.scheduleDeletion(owner, vaultId, id, 7)).toMatchObject({
      deletes_at: new Date(test.clock.ms + 7 * DAY_MS).toISOString(),
    });
    expect(await codeOf(() => open(id, frame))).toBe("key_disabled");
    test.clock.ms += 7 * DAY_MS - 1;
    expect(await deletions.sweep()).toBe(0);
    await keys.restore(owner, vaultId, id);
    expect(await open(id, frame)).toBe("x");
    test.clock.ms += 1;
    expect(await deletions.sweep()).toBe(1);
    expect(await open(id, frame)).toBe("x");
    await keys.scheduleDeletion(owner, vaultId, id, 1);
    test.clock.ms += DAY_MS;
    expect(await codeOf(() => keys.restore(owner, vaultId, id))).toBe("not_found");
    expect(await deletions.sweep()).toBe(1);
    expect(await codeOf(() => test.vault.getKey(owner, vaultId, id))).toBe("not_found");
    expect(test.store.count(["key_deletion"])).toBe(0);
  });

  it("is taken back by restoring, not by enabling", async () => {
    const id = await newKey();
    const frame = await seal(id, "x");
    await keys.scheduleDeletion(owner, vaultId, id, 1);
    expect(await codeOf(() => keys.enable(owner, vaultId, id))).toBe("deletion_planned");
    await keys.disable(owner, vaultId, id);
    expect(await codeOf(() => keys.enable(owner, vaultId, id))).toBe("deletion_planned");
    await keys.restore(owner, vaultId, id);
    expect(await codeOf(() => open(id, frame))).toBe("key_disabled");
    await keys.enable(owner, vaultId, id);
    expect(await open(id, frame)).toBe("x");
    await keys.scheduleDeletion(owner, vaultId, id, 1);
    test.clock.ms += DAY_MS;
    expect(await codeOf(() => keys.enable(owner, vaultId, id))).toBe("not_found");
    expect(await deletions.sweep()).toBe(1);
  });

  it("outlives the deletion of its vault without a trace", async () => {
    const { id } = await test.vault.createVault(owner, { name: "gone" });
    const key = await test.vault.createKey(owner, id, { spec: "ChaCha20", name: "k" });
    await keys.scheduleDeletion(owner, id, key.id, 1);
    await test.vault.deleteVault(owner, id);
    test.clock.ms += DAY_MS;
    expect(await deletions.sweep()).toBe(1);
    expect(test.store.count(["key_deletion"])).toBe(0);
  });
});

describe("another request at the same moment", () => {
  /** Runs a change between what the next operation reads and its commit. */
  const before = (change: () => Promise<unknown>): void => {
    const commit = test.store.commit.bind(test.store);
    vi.spyOn(test.store, "commit").mockImplementationOnce(async (changes) => {
      await change();
      await commit(changes);
    });
  };
  const disabling = (id: string) => async () => await keys.disable(owner, vaultId, id);

  it("does not keep a key from being deleted, which is not said to be gone before it is", async () => {
    const id = await newKey();
    before(disabling(id));
    await test.vault.deleteKey(owner, vaultId, id);
    expect(await codeOf(() => test.vault.getKey(owner, vaultId, id))).toBe("not_found");
    expect(await codeOf(() => test.vault.deleteKey(owner, vaultId, id))).toBe("not_found");
  });

  it("does not keep a secret from being deleted", async () => {
    const { id } = await test.vault.createSecret(owner, vaultId, { name: "s", type: "t", value: "v" });
    before(async () => await deletions.scheduleSecret(owner, vaultId, id, 1));
    await test.vault.deleteSecret(owner, vaultId, id);
    expect(await codeOf(() => test.vault.getSecret(owner, vaultId, id))).toBe("not_found");
  });

  it("that changes the vault lets a key be made in it, unless it plans the deletion of the vault", async () => {
    const other = (await test.vault.createVault(owner, { name: "w" })).id;
    const make = async (): Promise<unknown> =>
      await test.vault.createKey(owner, other, { spec: "Ed25519", name: "made" });
    before(async () => {
      await deletions.scheduleVault(owner, other, 1);
      await deletions.restoreVault(owner, other);
    });
    await make();
    before(async () => await deletions.scheduleVault(owner, other, 1));
    expect(await codeOf(make)).toBe("not_found");
    await deletions.restoreVault(owner, other);
    const listed = test.vault.listKeys(owner, other, { page: 1, rpp: 10 });
    expect(listed.body.filter(({ name }) => name === "made")).toHaveLength(1);
  });

  it.each(["ChaCha20", "BIP39"])("that disables a %s key refuses what is derived as a conflict", async (spec) => {
    const id = await newKey(spec);
    const derive = async (): Promise<unknown> =>
      await test.vault.derivation.derive(
        { owner, vaultId, keyId: id },
        spec === "BIP39" ? {} : { name: "n", context: "c" },
      );
    before(disabling(id));
    expect(await codeOf(derive)).toBe("conflict");
    await keys.enable(owner, vaultId, id);
    before(async () => {
      await test.vault.deleteKey(owner, vaultId, id);
    });
    expect(await codeOf(derive)).toBe("not_found");
  });
});

describe("rekey", () => {
  it("moves every vault to the new seal key in one transaction, and leaves everything as it was when anything fails", async () => {
    const old = await openTestVault();
    const made: { id: string; secret: string; who: ReturnType<typeof subject> }[] = [];
    for (const kind of ["user", "organization", "application"] as const) {
      const who = subject(kind);
      const { id } = await old.vault.createVault(who, { name: kind });
      made.push({ who, id, secret: (await old.vault.createSecret(who, id, { name: "n", type: "t", value: kind })).id });
    }
    await old.close({ keep: true });
    const chainKey = new Uint8Array(32);
    const [oldEntropy, newEntropy] = [PHRASE, OTHER_PHRASE].map((phrase) => phraseEntropy(Buffer.from(phrase))!) as [
      Uint8Array,
      Uint8Array,
    ];
    const change = async (from: Uint8Array, to: Uint8Array): Promise<number> => {
      let count = 0;
      await rewriteStore({ path: old.folder, chainKey }, (store) => {
        count = rekeyStore(store, { oldEntropy: from, newEntropy: to });
      });
      return count;
    };
    expect(await codeOf(() => change(newEntropy, oldEntropy))).toBe("seal_key_rejected");
    const server = await openStore({ path: old.folder }, { log: createLog("silent") });
    expect(await codeOf(() => change(oldEntropy, newEntropy))).toBe("conflict");
    // A master key that does not unwrap: nothing is changed, not even the vaults before it.
    const master = server.get<{ master_key_id: string }>(["vault", made[2]!.who.kind, made[2]!.who.id, made[2]!.id])!
      .value.master_key_id;
    const record = server.get<Record<string, string>>(["key", made[2]!.id, master])!.value;
    const damaged = Buffer.from(record.envelope!, "base64");
    damaged[40]! ^= 1;
    await server.commit({
      puts: [{ key: ["key", made[2]!.id, master], value: { ...record, envelope: damaged.toString("base64") } }],
    });
    await server.close();
    expect(await codeOf(() => change(oldEntropy, newEntropy))).toBe("data_corrupt");
    const repair = await openStore({ path: old.folder }, { log: createLog("silent") });
    await repair.commit({ puts: [{ key: ["key", made[2]!.id, master], value: record }] });
    await repair.close();
    expect(await change(oldEntropy, newEntropy)).toBe(3);

    const stale = await openTestVault({ folder: old.folder, unsealed: false });
    expect(await codeOf(() => stale.seal.unseal(Buffer.from(PHRASE)))).toBe("seal_key_mismatch");
    await stale.close({ keep: true });
    const renewed = await openTestVault({
      folder: old.folder,
      unsealed: false,
      provider: environmentSealProvider({ validationHash: OTHER_HASH }),
    });
    await renewed.seal.unseal(Buffer.from(OTHER_PHRASE));
    for (const { who, id, secret } of made) expect(await renewed.vault.retrieveSecret(who, id, secret)).toBe(who.kind);
    await renewed.close();
  });

  it("has nothing to do for a store that was never unsealed", async () => {
    const fresh = await openTestVault({ unsealed: false });
    await fresh.close({ keep: true });
    const entropy = phraseEntropy(Buffer.from(PHRASE))!;
    expect(
      await codeOf(() =>
        rewriteStore({ path: fresh.folder, chainKey: new Uint8Array(32) }, (store) => {
          rekeyStore(store, { oldEntropy: entropy, newEntropy: entropy });
        }),
      ),
    ).toBe("vault_not_configured");
    await (await openTestVault({ folder: fresh.folder, unsealed: false })).close();
  });
});
