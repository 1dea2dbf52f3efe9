/** Another seal key for a store that others use meanwhile, cut off at each of its commits. */
import { afterEach, describe, expect, it } from "vitest";
import { phraseEntropy } from "../../../src/crypto/wallets/seal-phrase.js";
import type { ChainRecord } from "../../../src/platform/store/chain.js";
import { StoreConflict, type Store } from "../../../src/platform/store/store.js";
import { environmentSealProvider } from "../../../src/vault/seal/providers/environment.js";
import { rekeyCluster } from "../../../src/vault/seal/rekey-cluster.js";
import { OTHER_HASH, OTHER_PHRASE, PHRASE, codeOf, openTestVault, subject, type TestVault } from "../support.js";

const VAULTS = 7;
const PAGE = 3;
/** The mark, three pages and the end. */
const COMMITS = 5;
const CHAIN_KEY = new Uint8Array(32);
const [oldEntropy, newEntropy] = [PHRASE, OTHER_PHRASE].map((words) => phraseEntropy(Buffer.from(words))!) as [
  Uint8Array,
  Uint8Array,
];
const owner = subject();

let test: TestVault | undefined;
afterEach(async () => {
  await test?.close();
  test = undefined;
});

async function opened(options: Parameters<typeof openTestVault>[0] = {}): Promise<TestVault> {
  test = await openTestVault({ chainKey: CHAIN_KEY, isOnThisThread: true, ...options });
  return test;
}

/** Vaults with a secret each, which tells the vault's name. */
async function filled({ vault }: TestVault): Promise<{ readonly id: string; readonly secret: string }[]> {
  const made = [];
  for (let index = 0; index < VAULTS; index += 1) {
    const { id } = await vault.createVault(owner, { name: `v${String(index)}` });
    const secret = await vault.createSecret(owner, id, { name: "n", type: "t", value: `of v${String(index)}` });
    made.push({ id, secret: secret.id });
  }
  return made;
}

async function rekey(store: Store, to: Uint8Array = newEntropy, from: Uint8Array = oldEntropy): Promise<number> {
  const audited = (vaults: number) => ({ chain: "audit", value: { action: "seal.rekeyed", count: vaults } });
  return await rekeyCluster(store, { oldEntropy: from, newEntropy: to, audited, page: PAGE });
}

/** A store whose process ends before its commit of this number, from 0. */
function endingBefore(store: Store, commits: number): Store {
  let left = commits;
  return {
    get: (key) => store.get(key),
    range: (prefix, options) => store.range(prefix, options),
    count: (prefix) => store.count(prefix),
    close: () => store.close(),
    commit: async (commit) => {
      if (left === 0) throw new Error("ended");
      left -= 1;
      await store.commit(commit);
    },
  };
}

async function requireReadable(
  vaults: readonly { readonly id: string; readonly secret: string }[],
  folder: string,
): Promise<void> {
  const provider = environmentSealProvider({ validationHash: OTHER_HASH });
  const { seal, vault } = await opened({ folder, unsealed: false, provider });
  await seal.unseal(Buffer.from(OTHER_PHRASE));
  for (const [index, { id, secret }] of vaults.entries())
    expect(await vault.retrieveSecret(owner, id, secret)).toBe(`of v${String(index)}`);
  await vault.createVault(owner, { name: "under the new key" });
}

describe("rekeying", () => {
  it.each(Array.from({ length: COMMITS }, (_, commits) => commits))(
    "ends where it is run again after it ended before commit %i, and nobody unseals in between",
    async (commits) => {
      const held = await opened();
      const { folder, store, seal } = held;
      const vaults = await filled(held);
      await expect(rekey(endingBefore(store, commits))).rejects.toThrow("ended");
      if (commits > 0) {
        expect(await codeOf(() => seal.unseal(Buffer.from(PHRASE)))).toBe("seal_key_mismatch");
        expect(await codeOf(() => rekey(store, new Uint8Array(32).fill(1)))).toBe("seal_key_mismatch");
      }
      expect(await rekey(store)).toBe(VAULTS);
      const records = store.range<ChainRecord>(["audit"]);
      expect(records.map(({ value }) => value.event)).toMatchObject([{ action: "seal.rekeyed", count: VAULTS }]);
      expect(await codeOf(() => rekey(store))).toBe("seal_key_rejected");
      await held.close({ keep: true });
      await requireReadable(vaults, folder);
    },
  );

  it("seals whoever was unsealed, and lets nobody store a vault under the old key", async () => {
    const held = await opened();
    const { folder, store, seal, vault } = held;
    const prepared = await vault.prepareVault(owner, { name: "in between" });
    await rekey(store);
    await expect(store.commit(prepared.commit)).rejects.toThrow(StoreConflict);
    await expect(vault.createVault(owner, { name: "late" })).rejects.toThrow(StoreConflict);
    await seal.sealUnlessSound();
    expect(seal.state).toBe("sealed");
    expect(await codeOf(() => vault.createVault(owner, { name: "later" }))).toBe("vault_sealed");
    await held.close({ keep: true });
    await requireReadable([], folder);
  });

  it("leaves those unsealed that were opened with the present key", async () => {
    const { seal } = await opened();
    await seal.sealUnlessSound();
    expect(seal.state).toBe("unsealed");
  });

  it("changes nothing with a wrong old key, for a damaged master key, or before any unsealing", async () => {
    const { store, vault } = await opened();
    const { id } = await vault.createVault(owner, { name: "v" });
    const all = (): unknown => store.range([]).map(({ key, version }) => [key, version]);
    const before = all();
    expect(await codeOf(() => rekey(store, oldEntropy, newEntropy))).toBe("seal_key_rejected");
    expect(all()).toEqual(before);
    const [master] = store.range<Record<string, string>>(["key", id]);
    const damaged = Buffer.from(master!.value["envelope"]!, "base64");
    damaged[40]! ^= 1;
    await store.commit({
      puts: [{ key: master!.key, value: { ...master!.value, envelope: damaged.toString("base64") } }],
    });
    const spoiled = all();
    expect(await codeOf(() => rekey(store))).toBe("data_corrupt");
    expect(all()).toEqual(spoiled);
    await test?.close();
    const fresh = await opened({ unsealed: false });
    expect(await codeOf(() => rekey(fresh.store))).toBe("vault_not_configured");
  });
});
