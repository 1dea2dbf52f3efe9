// Deletion with a recovery window: of secrets, and of vaults with all that they hold.
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTE_LIST } from "../../../src/api.js";
import { ConnectorCredentials } from "../../../src/chain/connectors/connector-credentials.js";
import { ChainKeyVault } from "../../../src/chain/accounts/key-vault.js";
import { createAudit } from "../../../src/platform/audit/create-audit.js";
import { createLog } from "../../../src/platform/log.js";
import { mergeCommits } from "../../../src/platform/store/tables.js";
import { KeyLifecycle } from "../../../src/vault/keys/key-lifecycle.js";
import { PlannedDeletions } from "../../../src/vault/keys/planned-deletions.js";
import { VaultRepository } from "../../../src/vault/repository.js";
import { startServer } from "../../support/server.js";
import { codeOf, encryptText, openTestVault, PAGE, subject, type TestVault } from "../support.js";

const DAY_MS = 24 * 3600 * 1000;
const AUDIT_KEY = randomBytes(32);
const owner = subject();
const log = createLog("silent");
let test: TestVault;
let deletions: PlannedDeletions;
let keys: KeyLifecycle;

function of({ store, seal, clock }: TestVault): { deletions: PlannedDeletions; keys: KeyLifecycle } {
  const dependencies = { repository: new VaultRepository({ store }), seal, clock, log };
  return { deletions: new PlannedDeletions(dependencies), keys: new KeyLifecycle(dependencies) };
}

beforeAll(async () => {
  test = await openTestVault({ chainKey: AUDIT_KEY });
  ({ deletions, keys } = of(test));
});
afterAll(async () => {
  await test.close();
});

const newVault = async (): Promise<string> => (await test.vault.createVault(owner, { name: "v" })).id;
const newSecret = async (vaultId: string, value = "tea"): Promise<string> =>
  (await test.vault.createSecret(owner, vaultId, { name: "n", type: "t", value })).id;
const plans = (): number[] =>
  ["vault_deletion", "secret_deletion", "key_deletion"].map((list) => test.store.count([list]));
/** Counts the records of any kind that are stored under a vault. */
const contentOf = (vaultId: string): number =>
  [
    "key",
    "key#vault",
    "secret",
    "secret#vault",
    "secret#type",
    "key_generation",
    "derive_nonce",
    "hd_index",
    "hd_address",
  ].reduce((sum, table) => sum + test.store.count([table, vaultId]), 0);

describe("a secret in its window", () => {
  it("is listed and not read, can be restored until its time, and then is for good", async () => {
    const vaultId = await newVault();
    const id = await newSecret(vaultId);
    const read = async (): Promise<string> => (await test.vault.getSecret(owner, vaultId, id)).value;
    expect(await codeOf(() => deletions.restoreSecret(owner, vaultId, id))).toBe("deletion_not_planned");
    const deletesAt = new Date(test.clock.ms + 7 * DAY_MS).toISOString();
    expect(await deletions.scheduleSecret(owner, vaultId, id, 7)).toEqual({
      ...test.vault.listSecrets(owner, vaultId, PAGE).body[0],
      deletes_at: deletesAt,
    });
    expect(await codeOf(read)).toBe("deletion_planned");
    expect(await codeOf(() => test.vault.retrieveSecret(owner, vaultId, id))).toBe("not_found");
    test.clock.ms += 7 * DAY_MS - 1;
    expect(await deletions.sweep()).toBe(0);
    expect(await codeOf(read)).toBe("deletion_planned");
    expect(await deletions.restoreSecret(owner, vaultId, id)).not.toHaveProperty("deletes_at");
    expect(await read()).toBe("tea");
    test.clock.ms += 1;
    // The time of the plan has come, but the plan was withdrawn.
    expect(await deletions.sweep()).toBe(1);
    expect(await read()).toBe("tea");
    await deletions.scheduleSecret(owner, vaultId, id, 1);
    test.clock.ms += DAY_MS;
    for (const gone of [
      read,
      () => deletions.restoreSecret(owner, vaultId, id),
      () => deletions.scheduleSecret(owner, vaultId, id, 1),
    ])
      expect(await codeOf(gone)).toBe("not_found");
    expect(await deletions.sweep()).toBe(1);
    for (const gone of [
      read,
      () => deletions.restoreSecret(owner, vaultId, id),
      () => test.vault.deleteSecret(owner, vaultId, id),
    ])
      expect(await codeOf(gone)).toBe("not_found");
    expect([test.store.count(["secret", vaultId]), test.store.count(["secret#vault", vaultId]), ...plans()]).toEqual([
      0, 0, 0, 0, 0,
    ]);
  });

  it("goes on the later day when its deletion is planned again, and at once when it is deleted", async () => {
    const vaultId = await newVault();
    const [later, now] = [await newSecret(vaultId), await newSecret(vaultId)];
    for (const id of [later, now]) await deletions.scheduleSecret(owner, vaultId, id, 1);
    await deletions.scheduleSecret(owner, vaultId, later, 3);
    await test.vault.deleteSecret(owner, vaultId, now);
    expect(await codeOf(() => deletions.restoreSecret(owner, vaultId, now))).toBe("not_found");
    test.clock.ms += DAY_MS;
    expect(await deletions.sweep()).toBe(2);
    expect(await deletions.restoreSecret(owner, vaultId, later)).toMatchObject({ id: later });
    test.clock.ms += 2 * DAY_MS;
    expect(await deletions.sweep()).toBe(1);
    expect(await test.vault.retrieveSecret(owner, vaultId, later)).toBe("tea");
    expect(plans()).toEqual([0, 0, 0]);
  });
});

describe("a vault in its window", () => {
  it("shows itself and nothing that it holds, and gives all of it back when it is restored", async () => {
    const vaultId = await newVault();
    const secretId = await newSecret(vaultId);
    const { id: keyId } = await test.vault.createKey(owner, vaultId, { spec: "ChaCha20", name: "k" });
    const wallet = await test.vault.createKey(owner, vaultId, { spec: "BIP39", name: "w" });
    const frame = await encryptText(test, owner, vaultId, keyId, { data: "x" });
    const call = { owner, vaultId, keyId };
    const inside: Readonly<Record<string, () => unknown>> = {
      listKeys: () => test.vault.listKeys(owner, vaultId, PAGE),
      getKey: () => test.vault.getKey(owner, vaultId, keyId),
      createKey: () => test.vault.createKey(owner, vaultId, { spec: "Ed25519", name: "k" }),
      deleteKey: () => test.vault.deleteKey(owner, vaultId, keyId),
      encrypt: () => test.vault.operations.encrypt(call, { data: "x" }),
      decrypt: () => test.vault.operations.decrypt(call, { data: frame }),
      derive: () => test.vault.derivation.derive(call, { context: "c", name: "child" }),
      xpub: () => test.vault.wallets.xpub({ owner, vaultId, keyId: wallet.id }, { account: 0 }),
      jwks: () => test.vault.publicKeys.jwks(owner, vaultId, PAGE),
      rotate: () => keys.rotate(owner, vaultId, keyId),
      scheduleKey: () => keys.scheduleDeletion(owner, vaultId, keyId, 1),
      listSecrets: () => test.vault.listSecrets(owner, vaultId, PAGE),
      getSecret: () => test.vault.getSecret(owner, vaultId, secretId),
      createSecret: () => newSecret(vaultId),
      deleteSecret: () => test.vault.deleteSecret(owner, vaultId, secretId),
      scheduleSecret: () => deletions.scheduleSecret(owner, vaultId, secretId, 1),
      restoreSecret: () => deletions.restoreSecret(owner, vaultId, secretId),
    };
    expect(await codeOf(() => deletions.restoreVault(owner, vaultId))).toBe("deletion_not_planned");
    const before = contentOf(vaultId);
    const planned = await deletions.scheduleVault(owner, vaultId, 30);
    expect(planned).toEqual({
      ...test.vault.getVault(owner, vaultId),
      deletes_at: new Date(test.clock.ms + 30 * DAY_MS).toISOString(),
    });
    expect(test.vault.listVaults(owner, { page: 1, rpp: 100 }).body).toContainEqual(planned);
    for (const [name, run] of Object.entries(inside)) expect([name, await codeOf(run)]).toEqual([name, "not_found"]);
    expect(contentOf(vaultId)).toBe(before);
    expect(await deletions.restoreVault(owner, vaultId)).not.toHaveProperty("deletes_at");
    expect(await test.vault.operations.decrypt(call, { data: frame })).toEqual({ data: "x" });
    expect(await test.vault.retrieveSecret(owner, vaultId, secretId)).toBe("tea");
    await test.vault.deleteVault(owner, vaultId);
    test.clock.ms += 30 * DAY_MS;
    expect(await deletions.sweep()).toBe(1);
  });

  it("takes keys and secrets with it when its time comes: not a millisecond before, and nothing after", async () => {
    const vaultId = await newVault();
    await newSecret(vaultId);
    const key = await test.vault.createKey(owner, vaultId, { spec: "AES-256-GCM", name: "k" });
    await keys.rotate(owner, vaultId, key.id);
    await deletions.scheduleVault(owner, vaultId, 365);
    test.clock.ms += 365 * DAY_MS - 1;
    expect(await deletions.sweep()).toBe(0);
    expect(test.vault.getVault(owner, vaultId)).toHaveProperty("deletes_at");
    test.clock.ms += 1;
    // It counts as deleted even before the sweep.
    for (const gone of [
      () => test.vault.getVault(owner, vaultId),
      () => deletions.restoreVault(owner, vaultId),
      () => deletions.scheduleVault(owner, vaultId, 1),
    ])
      expect(await codeOf(gone)).toBe("not_found");
    expect(contentOf(vaultId)).toBeGreaterThan(0);
    expect(await deletions.sweep()).toBe(1);
    expect([contentOf(vaultId), ...plans()]).toEqual([0, 0, 0, 0]);
    for (const gone of [
      () => test.vault.getVault(owner, vaultId),
      () => deletions.restoreVault(owner, vaultId),
      () => test.vault.deleteVault(owner, vaultId),
      () => deletions.restoreSecret(owner, vaultId, randomUUID()),
    ])
      expect(await codeOf(gone)).toBe("not_found");
    expect(test.vault.listVaults(owner, { page: 1, rpp: 100 }).body.map(({ id }) => id)).not.toContain(vaultId);
    expect(await deletions.sweep()).toBe(0);
  });

  it("keeps the plans of its keys and secrets, whose days may come first", async () => {
    const vaultId = await newVault();
    const [kept, lost] = [await newSecret(vaultId), await newSecret(vaultId)];
    const key = await test.vault.createKey(owner, vaultId, { spec: "ChaCha20", name: "k" });
    await deletions.scheduleSecret(owner, vaultId, lost, 1);
    await keys.scheduleDeletion(owner, vaultId, key.id, 1);
    await deletions.scheduleVault(owner, vaultId, 5);
    test.clock.ms += DAY_MS;
    expect(await deletions.sweep()).toBe(2);
    await deletions.restoreVault(owner, vaultId);
    expect(await test.vault.retrieveSecret(owner, vaultId, kept)).toBe("tea");
    expect(await codeOf(() => test.vault.getSecret(owner, vaultId, lost))).toBe("not_found");
    expect(await codeOf(() => test.vault.getKey(owner, vaultId, key.id))).toBe("not_found");
    await deletions.scheduleVault(owner, vaultId, 1);
    await test.vault.deleteVault(owner, vaultId);
    expect(await codeOf(() => deletions.restoreVault(owner, vaultId))).toBe("not_found");
    test.clock.ms += 5 * DAY_MS;
    expect(await deletions.sweep()).toBe(2);
    expect(plans()).toEqual([0, 0, 0]);
  });

  it("can be deleted at once, in its window and after it: whoever takes an owner's vaults away need not wait for the sweep", async () => {
    const [within, over] = [await newVault(), await newVault()];
    for (const id of [within, over]) await deletions.scheduleVault(owner, id, 1);
    await test.vault.deleteVault(owner, within);
    test.clock.ms += DAY_MS;
    await test.vault.deleteVault(owner, over);
    expect([contentOf(within), contentOf(over), await deletions.sweep()]).toEqual([0, 0, 2]);
    for (const id of [within, over]) expect(await codeOf(() => test.vault.deleteVault(owner, id))).toBe("not_found");
  });

  it("lets other areas take a secret of theirs out of it for good", async () => {
    const vaultId = await newVault();
    const id = await newSecret(vaultId);
    await deletions.scheduleVault(owner, vaultId, 1);
    await test.store.commit(test.vault.secretDeletion(owner, vaultId, id));
    await deletions.restoreVault(owner, vaultId);
    expect(await codeOf(() => test.vault.getSecret(owner, vaultId, id))).toBe("not_found");
    await test.vault.deleteVault(owner, vaultId);
    test.clock.ms += DAY_MS;
    await deletions.sweep();
  });
});

describe("another area's vault in its window", () => {
  it("gets no new keys of accounts and no credentials: they go into a new one, and old ones come back with the old", async () => {
    const accounts = new ChainKeyVault({ vault: test.vault, store: test.store });
    const first = await accounts.prepareKey(owner, "secp256k1", "a");
    await test.store.commit(first.commit);
    const connectors = new ConnectorCredentials({ vault: test.vault, store: test.store });
    const { place, commit } = await connectors.prepare(owner, randomUUID(), { password: "tea" });
    await test.store.commit(commit);
    for (const vaultId of [first.vaultId, place.vault_id]) await deletions.scheduleVault(owner, vaultId, 1);
    const second = await accounts.prepareKey(owner, "secp256k1", "b");
    const other = await connectors.prepare(owner, randomUUID(), { password: "tea" });
    await test.store.commit(mergeCommits(second.commit, other.commit));
    expect([second.vaultId, other.place.vault_id]).not.toContain(first.vaultId);
    expect(other.place.vault_id).not.toBe(place.vault_id);
    const use = { owner, vaultId: first.vaultId, keyId: first.keyId, path: null };
    const transaction = {
      type: "0x2",
      chainId: "0x1",
      nonce: "0x0",
      maxFeePerGas: "0x1",
      maxPriorityFeePerGas: "0x1",
      gas: "0x5208",
      to: second.address!,
      value: "0x0",
    };
    expect(await codeOf(() => accounts.sign(use, transaction))).toBe("signer_not_found");
    expect(await codeOf(() => connectors.read(owner, place))).toBe("connector_config_invalid");
    for (const vaultId of [first.vaultId, place.vault_id]) await deletions.restoreVault(owner, vaultId);
    expect((await accounts.sign(use, transaction)).hash).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await connectors.read(owner, place)).toEqual({ password: "tea" });
    await deletions.scheduleSecret(owner, place.vault_id, place.secret_id, 1);
    expect(await codeOf(() => connectors.read(owner, place))).toBe("connector_config_invalid");
    for (const { id } of test.vault.listVaults(owner, { page: 1, rpp: 100 }).body)
      await test.vault.deleteVault(owner, id);
    test.clock.ms += DAY_MS;
    await deletions.sweep();
    expect(plans()).toEqual([0, 0, 0]);
  });
});

describe("planning", () => {
  it("is the owner's alone, and needs the vault unsealed", async () => {
    const vaultId = await newVault();
    const id = await newSecret(vaultId);
    const calls = (who: ReturnType<typeof subject>): (() => Promise<unknown>)[] => [
      () => deletions.scheduleVault(who, vaultId, 1),
      () => deletions.restoreVault(who, vaultId),
      () => deletions.scheduleSecret(who, vaultId, id, 1),
      () => deletions.restoreSecret(who, vaultId, id),
    ];
    for (const call of calls(subject())) expect(await codeOf(call)).toBe("not_found");
    expect(await codeOf(() => deletions.scheduleSecret(owner, vaultId, randomUUID(), 1))).toBe("not_found");
    const shut = await openTestVault({ unsealed: false });
    for (const call of [
      () => of(shut).deletions.scheduleVault(owner, vaultId, 1),
      () => of(shut).deletions.restoreSecret(owner, vaultId, id),
    ])
      expect(await codeOf(call)).toBe("vault_sealed");
    await shut.close();
    await test.vault.deleteVault(owner, vaultId);
  });

  it("happens once for two at the same time", async () => {
    const vaultId = await newVault();
    const id = await newSecret(vaultId);
    for (const twice of [
      () => deletions.scheduleSecret(owner, vaultId, id, 2),
      () => deletions.restoreSecret(owner, vaultId, id),
      () => deletions.scheduleVault(owner, vaultId, 2),
      () => deletions.restoreVault(owner, vaultId),
    ]) {
      expect((await Promise.all([codeOf(twice), codeOf(twice)])).sort()).toEqual(["conflict", "fulfilled"]);
    }
    await test.vault.deleteVault(owner, vaultId);
    test.clock.ms += 2 * DAY_MS;
    await deletions.sweep();
  });

  it("settles more than a sweep takes in the next ones", async () => {
    const vaultId = await newVault();
    for (let n = 0; n < 101; n += 1) await deletions.scheduleSecret(owner, vaultId, await newSecret(vaultId), 1);
    test.clock.ms += DAY_MS;
    expect([await deletions.sweep(), await deletions.sweep(), await deletions.sweep()]).toEqual([100, 1, 0]);
    expect(test.vault.listSecrets(owner, vaultId, PAGE).total).toBe(0);
  });

  it("outlives a restart, and is carried out while sealed", async () => {
    const first = await openTestVault();
    const [gone, kept] = [
      (await first.vault.createVault(owner, { name: "gone" })).id,
      (await first.vault.createVault(owner, { name: "kept" })).id,
    ];
    const inGone = await first.vault.createSecret(owner, gone, { name: "n", type: "t", value: "v" });
    const inKept = await first.vault.createSecret(owner, kept, { name: "n", type: "t", value: "v" });
    await of(first).deletions.scheduleVault(owner, gone, 1);
    await of(first).deletions.scheduleVault(owner, kept, 2);
    await first.close({ keep: true });
    const second = await openTestVault({ folder: first.folder, unsealed: false });
    second.clock.ms += DAY_MS;
    expect(await of(second).deletions.sweep()).toBe(1);
    expect(
      ["key", "secret"].map((table) => [second.store.count([table, gone]), second.store.count([table, kept])]),
    ).toEqual([
      [0, 1],
      [0, 1],
    ]);
    await second.close({ keep: true });
    const third = await openTestVault({ folder: first.folder });
    third.clock.ms += DAY_MS;
    expect(await codeOf(() => third.vault.getSecret(owner, gone, inGone.id))).toBe("not_found");
    await of(third).deletions.restoreVault(owner, kept);
    expect(await third.vault.retrieveSecret(owner, kept, inKept.id)).toBe("v");
    await third.close();
  });

  it("leaves a record in the audit log of each deletion that it carries out", async () => {
    const vaultId = await newVault();
    const id = await newSecret(vaultId);
    await deletions.scheduleSecret(owner, vaultId, id, 1);
    await deletions.scheduleVault(owner, vaultId, 1);
    test.clock.ms += DAY_MS;
    const { vaultStore, log: audit } = await createAudit(
      { key: AUDIT_KEY },
      { store: test.store, clock: test.clock, log, onUnwritable: () => undefined },
    );
    await new PlannedDeletions({
      repository: new VaultRepository({ store: vaultStore }),
      seal: test.seal,
      clock: test.clock,
      log,
    }).sweep();
    const [event] = audit.list(PAGE).entries.filter(({ action }) => action === "service.commit");
    expect(event).toMatchObject({ outcome: "ok", at: new Date(test.clock.ms).toISOString() });
    expect(event!.objects).toEqual(
      expect.arrayContaining([
        `delete vault/user/${owner.id}/${vaultId}`,
        `delete key/${vaultId}`,
        `delete secret/${vaultId}`,
      ]),
    );
  });
});

it("hides every route below a vault in its window, but those that end the window", async () => {
  const server = await startServer();
  const { api, token } = await server.newUser();
  const { id } = (await api.createVault({ body: { name: "v" } })).body;
  const ids: Readonly<Record<string, string>> = {
    id,
    key_id: (await api.createKey({ params: { id }, body: { spec: "ChaCha20", name: "k" } })).body.id,
    secret_id: (await api.createSecret({ params: { id }, body: { name: "n", type: "t", value: "v" } })).body.id,
  };
  const call = async (method: string, path: string, body?: unknown): Promise<number> =>
    (
      await fetch(server.url + path.replace(/:([a-z_]+)/g, (_all, name: string) => ids[name]!), {
        method,
        headers: {
          authorization: `bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    ).status;
  await api.scheduleVaultDeletion({ params: { id }, body: { recovery_days: 1 } });
  const below = ROUTE_LIST.filter(({ path }) => path.startsWith("/api/v1/vaults/:id"));
  const stay = ["getVault", "deleteVault", "scheduleVaultDeletion", "restoreVault"];
  for (const route of below.filter((candidate) => !stay.includes(candidate.id)))
    expect([route.id, await call(route.method, route.path, route.example?.body)]).toEqual([route.id, 404]);
  expect(below.length).toBeGreaterThan(25);
  for (const days of [0, 366, 1.5, "7"])
    expect(await call("POST", "/api/v1/vaults/:id/schedule_deletion", { recovery_days: days })).toBe(422);
  expect((await api.restoreVault({ params: { id } })).body).toEqual((await api.getVault({ params: { id } })).body);
  expect((await api.getSecret({ params: { id, secret_id: ids["secret_id"]! } })).body.value).toBe("v");
  const recorded = (await api.listAudit({ query: { rpp: 100 } })).body.filter(({ action }) =>
    ["scheduleVaultDeletion", "restoreVault"].includes(action),
  );
  expect(
    recorded.map(({ action, outcome, code, target, objects }) => ({ action, outcome, code, target, objects })),
  ).toEqual([
    {
      action: "restoreVault",
      outcome: "ok",
      target: { id },
      objects: [expect.stringMatching(`^put vault/user/.*/${id}$`)],
    },
    {
      action: "scheduleVaultDeletion",
      outcome: "ok",
      target: { id },
      objects: [expect.stringMatching(`^put vault/user/.*/${id}$`)],
    },
  ]);
  await server.dispose();
});
