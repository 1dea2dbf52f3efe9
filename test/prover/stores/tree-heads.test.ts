/** Signed tree heads: what they say, who can check them, when they are kept, and what a lost key or a crash leaves. */
import { createPublicKey, verify } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { systemClock } from "../../../src/platform/clock.js";
import { mergeCommits } from "../../../src/platform/store/commits.js";
import type { Prover } from "../../../src/prover/schemas.js";
import { HeadKeys } from "../../../src/prover/stores/head-keys.js";
import { ProofStores } from "../../../src/prover/stores/proof-stores.js";
import { StoreRemovals } from "../../../src/prover/stores/store-removals.js";
import { Jobs } from "../../../src/platform/jobs/jobs.js";
import { StoreAppends } from "../../../src/prover/stores/store-appends.js";
import { keyIn, type StoreReference } from "../../../src/prover/stores/store-records.js";
import { KEPT_HEAD_ENTRIES, TreeHeads, type TreeHead } from "../../../src/prover/stores/tree-heads.js";
import { proverVault } from "../../../src/prover/vault-port.js";
import { verifyTreeHead } from "../../../src/verify-tree-head.js";
import { recordedLog } from "../../support/silent-log.js";
import { subject } from "../../vault/support.js";
import { LocalCompute } from "../local-compute.js";
import { PAGE, failureOf, never, openTestRegistry, provision, type TestRegistry } from "../support.js";

let test: TestRegistry;
let owner: Subject;
let prover: Prover;
let heads: TreeHeads;
let appends: StoreAppends;
let stores: ProofStores;

beforeAll(async () => {
  test = await openTestRegistry();
  owner = subject();
  prover = await provision(test.provers, owner);
  const { store } = test;
  const jobs = new Jobs({}, { store, clock: systemClock, log: recordedLog() });
  stores = new ProofStores({ store, removals: new StoreRemovals({ store, jobs }), clock: systemClock });
  heads = headsOf(() => [prover.vault_id]);
  appends = appendsWith();
});
afterAll(async () => {
  await heads.settled();
  await test.close();
});

function keysOf(vaultsOf: () => string[] = () => [prover.vault_id]): HeadKeys {
  return new HeadKeys({
    store: test.store,
    stores,
    vault: proverVault(test.vault.vault),
    vaultsOf,
    clock: systemClock,
  });
}

function headsOf(vaultsOf: () => string[], log = recordedLog()): TreeHeads {
  const { store } = test;
  return new TreeHeads({
    store,
    stores,
    keys: keysOf(vaultsOf),
    clock: systemClock,
    log,
  });
}

function appendsWith(kept?: TreeHeads): StoreAppends {
  const compute = new LocalCompute();
  return new StoreAppends({
    ...{ store: test.store, stores, clock: systemClock },
    appendNotes: async (message) => await compute.appendNotes(message),
    insertNullifiers: async (message) => await compute.insertNullifiers(message),
    onGrown: (growths) => {
      kept?.onGrown(growths);
    },
  });
}

const nullifiers = (id = prover.nullifier_store_id): StoreReference => ({ owner, id });
let nextKey = 1;
/** Spends so many keys, in as few commits as possible. */
async function spend(count: number, by: StoreAppends, store = nullifiers()): Promise<void> {
  const hexOf = (value: number): string => value.toString(16).padStart(64, "0");
  await Promise.all(
    Array.from({ length: count }, async () => {
      const key = hexOf((nextKey += 1));
      const spends = [{ store, proverId: prover.id, key, value: key }];
      await by.append({ spends, checks: () => [], records: () => ({}) });
    }),
  );
}

/** Checks a head as a stranger does, with node:crypto alone; returns what it says. */
function contentOf({ jws, jwk }: Pick<TreeHead, "jws" | "jwk">): unknown {
  const [header = "", payload = "", signature = ""] = jws.split(".");
  const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
  expect(verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"))).toBe(true);
  expect(JSON.parse(Buffer.from(header, "base64url").toString("utf8"))).toEqual({
    ...{ alg: "EdDSA", kid: jwk.kid, typ: "pv-tree-head" },
  });
  return JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
}

describe("a tree head", () => {
  it("says what the store is at this moment, signed by a key of its prover's vault", async () => {
    await test.provers.prove(owner, prover.id, { inputs: { X: "3", Y: "35" }, signal: never });
    for (const id of [prover.note_store_id, prover.nullifier_store_id]) {
      const head = await test.registry.stores.head(owner, id);
      const { jws: _jws, jwk, vault_id, ...content } = head;
      expect(contentOf(head)).toEqual(content);
      const { kind, size, root, curve } = test.registry.stores.get(owner, id);
      expect(content).toMatchObject({ store_id: id, kind, size, root, curve });
      expect(vault_id).toBe(prover.vault_id);
      const { keys } = (await test.vault.vault.publicKeys.jwks(owner, vault_id, PAGE)).body;
      expect(keys).toContainEqual(expect.objectContaining({ ...jwk }));
      const again = await test.registry.stores.head(owner, id);
      expect(again.jwk).toEqual(jwk);
    }
  });

  it("is by a key that signs nothing else, whoever asks", async () => {
    const { vault_id: vaultId, jwk } = await test.registry.stores.head(owner, prover.nullifier_store_id);
    const call = { owner, vaultId, keyId: jwk.kid };
    const options = { format: "jws", encoding: "utf8", header: { typ: "pv-tree-head" } } as const;
    for (const input of [{ message: "{}", options }, { message: "00" }]) {
      const refused = await failureOf(async () => await test.vault.vault.operations.sign(call, input));
      expect(refused.code).toBe("key_server_only");
    }
  });

  it("is for the owner alone", async () => {
    const failure = await failureOf(() => test.registry.stores.head(subject(), prover.note_store_id));
    expect(failure.code).toBe("not_found");
  });

  it("is signed by one key, also when many ask for the first one at once", async () => {
    const fresh = await provision(test.provers, owner, {});
    const made = await Promise.all(
      Array.from({ length: 5 }, () => test.registry.stores.head(owner, fresh.note_store_id)),
    );
    expect(new Set(made.map(({ jwk }) => jwk.kid)).size).toBe(1);
  });

  it("gets a new key when the old one was deleted", async () => {
    const before = await test.registry.stores.head(owner, prover.note_store_id);
    await test.vault.vault.deleteKey(owner, before.vault_id, before.jwk.kid);
    const after = await test.registry.stores.head(owner, prover.note_store_id);
    expect(after.jwk.kid).not.toBe(before.jwk.kid);
    // The old one can still be checked: it has its key with it.
    contentOf(before);
    contentOf(after);
  });

  it("of a shared store is signed by the provers that are left", async () => {
    const first = await provision(test.provers, owner, {});
    const second = await provision(test.provers, owner, { nullifier_store_id: first.nullifier_store_id });
    const ask = () => test.registry.stores.head(owner, first.nullifier_store_id);
    const before = await ask();
    const [gone, left] = before.vault_id === first.vault_id ? [first, second] : [second, first];
    await test.provers.delete(owner, gone.id);
    expect((await ask()).vault_id).toBe(left.vault_id);
  });
});

describe("the keys of tree heads", () => {
  const reference = (): StoreReference => ({ owner, id: prover.note_store_id });
  const ask = () => test.registry.stores.head(owner, prover.note_store_id);

  it("are published, and a rotation leaves earlier heads good", async () => {
    const before = await ask();
    const keys = keysOf();
    const { kid } = await keys.rotate(reference());
    const after = await ask();
    expect(kid).toBe(after.jwk.kid);
    expect(kid).not.toBe(before.jwk.kid);
    const set = keys.keySet(prover.note_store_id);
    for (const { jws, size, root, store_id } of [before, after])
      expect(await verifyTreeHead(jws, set, { storeId: prover.note_store_id })).toMatchObject({ size, root, store_id });
    const states = keys.list(reference(), PAGE).body.map((key) => [key.kid, key.state]);
    expect(states).toContainEqual([before.jwk.kid, "retired"]);
    expect(states).toContainEqual([kid, "current"]);
    // The private half is gone: nothing signs with it any more.
    const gone = await failureOf(() => test.vault.vault.deleteKey(owner, before.vault_id, before.jwk.kid));
    expect(gone.code).toBe("not_found");
  });

  it("are told as revoked, and their heads fail; the next head has a new key", async () => {
    const bad = await ask();
    const keys = keysOf();
    const revoked = await keys.revoke(reference(), bad.jwk.kid, "stolen");
    expect(revoked).toMatchObject({ state: "revoked", reason: "stolen" });
    const after = await ask();
    const set = keys.keySet(prover.note_store_id);
    expect(set.revoked_keys).toContainEqual(expect.objectContaining({ kid: bad.jwk.kid, reason: "stolen" }));
    await expect(verifyTreeHead(bad.jws, set)).rejects.toMatchObject({ code: "key_revoked" });
    expect(await verifyTreeHead(after.jws, set)).toMatchObject({ store_id: prover.note_store_id });
    expect(await keys.revoke(reference(), bad.jwk.kid, "again")).toEqual(revoked);
  });

  it("are changed by their owner alone, and are of one store", async () => {
    const { jwk } = await ask();
    const keys = keysOf();
    const stranger = { owner: subject(), id: prover.note_store_id };
    const other = { owner, id: prover.nullifier_store_id };
    for (const act of [
      async () => await keys.revoke(stranger, jwk.kid, null),
      async () => await keys.revoke(other, jwk.kid, null),
      async () => await keys.rotate(stranger),
      () => keys.list(stranger, PAGE),
      () => keys.keySet("00000000-0000-4000-8000-000000000000"),
    ])
      expect((await failureOf(async () => await act())).code).toBe("not_found");
    expect((await ask()).jwk.kid).toBe(jwk.kid);
  });

  it("stay published when their store is deleted, and can still be revoked", async () => {
    const fresh = await provision(test.provers, owner, {});
    const head = await test.registry.stores.head(owner, fresh.note_store_id);
    await test.provers.delete(owner, fresh.id);
    const keys = keysOf();
    expect(await verifyTreeHead(head.jws, keys.keySet(fresh.note_store_id))).toMatchObject({ root: head.root });
    await keys.revoke({ owner, id: fresh.note_store_id }, head.jwk.kid, null);
    const after = keys.keySet(fresh.note_store_id);
    await expect(verifyTreeHead(head.jws, after)).rejects.toMatchObject({ code: "key_revoked" });
  });

  it("of a store that signed before its keys were published are taken over, and sign on", async () => {
    const fresh = await provision(test.provers, owner, {});
    const own = { owner, id: fresh.nullifier_store_id };
    const { keyId, publicKey, commit } = await proverVault(test.vault.vault).prepareSigningKey(owner, fresh.vault_id, {
      name: "tree heads",
      description: "",
    });
    const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(publicKey).toString("base64url"), kid: keyId };
    const earlier = { key: keyIn("proof_store_signer", own), value: { vault_id: fresh.vault_id, key_id: keyId, jwk } };
    await test.store.commit(mergeCommits(commit, { puts: [earlier] }));
    const asked = await Promise.all([1, 2, 3].map(() => test.registry.stores.head(owner, own.id)));
    for (const head of asked) {
      expect(head.jwk.kid).toBe(keyId);
      expect(await verifyTreeHead(head.jws, keysOf().keySet(own.id))).toMatchObject({ store_id: own.id });
    }
    expect(test.store.get(earlier.key)).toBeUndefined();
  });
});

describe("kept heads", () => {
  it("are made each time that the store has grown by so many entries", async () => {
    const kept = headsOf(() => [prover.vault_id]);
    const by = appendsWith(kept);
    await spend(KEPT_HEAD_ENTRIES - 1, by);
    await kept.settled();
    expect(kept.list(nullifiers(), PAGE).total).toBe(0);
    await spend(1, by);
    await kept.settled();
    await spend(2 * KEPT_HEAD_ENTRIES + 1, by);
    await kept.settled();
    const { heads: found, total } = kept.list(nullifiers(), PAGE);
    expect(total).toBe(3);
    expect(found.at(-1)!.size).toBe(KEPT_HEAD_ENTRIES);
    for (const head of found) {
      expect(stores.rootAt(nullifiers(), head.size)).toMatchObject({ root: head.root });
      contentOf(head);
    }
    expect(test.registry.stores.heads(owner, prover.nullifier_store_id, PAGE)).toMatchObject({ total: 3 });
  });

  it("are made later when the server ended, or the vault was sealed, before they were", async () => {
    const other = await provision(test.provers, owner, {});
    const reference = nullifiers(other.nullifier_store_id);
    await spend(KEPT_HEAD_ENTRIES + 5, appends, reference);
    const log = recordedLog();
    const sealed = headsOf(() => [], log);
    await sealed.keep(reference);
    expect(sealed.list(reference, PAGE).total).toBe(0);
    expect(JSON.stringify(log)).toContain("a tree head was not kept");
    const after = headsOf(() => [other.vault_id]);
    await spend(KEPT_HEAD_ENTRIES, appendsWith(after), reference);
    await after.settled();
    const sizes = after.list(reference, PAGE).heads.map(({ size }) => size);
    expect(sizes).toHaveLength(2);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(KEPT_HEAD_ENTRIES);
  });
});
