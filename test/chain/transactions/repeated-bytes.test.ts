// Whose signed bytes are: a transfer that is submitted again has the bytes of the first, which then are the second's.
import { afterEach, describe, expect, it } from "vitest";
import { TransactionRepository } from "../../../src/chain/transactions/transaction-repository.js";
import { UNSENT, type TransactionRecord } from "../../../src/chain/transactions/transaction-record.js";
import { openStore, type DurableStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { newId } from "../../../src/platform/ids.js";
import type { Store, StoreKey, RangeOptions } from "../../../src/platform/store/store.js";
import { MemoryStore } from "../../support/memory-store.js";
import { recordedLog } from "../../support/silent-log.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const HASH = `0x${"ab".repeat(32)}`;
const OTHER_HASH = `0x${"cd".repeat(32)}`;

const record = (more: Partial<TransactionRecord> = {}): TransactionRecord => {
  const id = newId();
  return {
    ...UNSENT,
    id,
    ref: id,
    created_at: "2026-01-01T00:00:00.000Z",
    owner_kind: "user",
    owner_id: "owner",
    network_id: "net",
    chain_id: 1,
    account_id: null,
    wallet_id: null,
    signer: null,
    from: "0xfrom",
    to: null,
    value: "0",
    data: "0x",
    gas: "1",
    wishes: {},
    description: null,
    contract_id: null,
    state: "failed",
    nonce: 1,
    hash: HASH,
    attempts: [{ hash: HASH, kind: "first", signed_at: "2026-01-01T00:00:00.000Z" }],
    watched: false,
    may_be_mined: true,
    ...more,
  };
};
const LATER = { created_at: "2026-01-02T00:00:00.000Z" } as const;
const EARLIER = { created_at: "2025-01-02T00:00:00.000Z" } as const;

class CountingStore extends MemoryStore {
  /** Values that were read. */
  read = 0;

  override get<T>(key: StoreKey) {
    this.read += 1;
    return super.get<T>(key);
  }

  override range<T>(prefix: StoreKey, options?: RangeOptions) {
    const found = super.range<T>(prefix, options);
    this.read += found.length;
    return found;
  }
}

async function repositoryOf(store: Store, records: readonly TransactionRecord[]): Promise<TransactionRepository> {
  const repository = new TransactionRepository({ store });
  for (const each of records) await repository.commit(repository.insertion(each));
  return repository;
}

describe("the bytes of a transaction that ended", () => {
  it.each([
    ["one made later, which ended too", LATER, true],
    ["one made earlier, which ended too", EARLIER, false],
    ["one in a block", { ...EARLIER, block: 7, state: "mined" }, true],
    ["one that is open", { ...EARLIER, watched: true, state: "sent" }, true],
    ["one of another owner", { ...LATER, owner_id: "other" }, false],
    ["one on another network", { ...LATER, network_id: "other" }, false],
    [
      "one that is open and has been signed again",
      {
        watched: true,
        state: "sent",
        hash: OTHER_HASH,
        attempts: [HASH, OTHER_HASH].map((hash) => ({ hash, kind: "first" as const, signed_at: LATER.created_at })),
      },
      true,
    ],
  ] as const)("that are those of %s", async (_title, more, isRepeated) => {
    const ended = record();
    const repository = await repositoryOf(new MemoryStore(), [ended, record(more)]);
    expect(repository.isRepeated(ended)).toBe(isRepeated);
  });

  it("are looked up without reading the network's other transactions", async () => {
    const store = new CountingStore();
    const ended = record();
    const others = Array.from({ length: 40 }, (_, at) => record({ hash: `0x${String(at)}`, nonce: 1, attempts: [] }));
    const repository = await repositoryOf(store, [...others, ended]);
    store.read = 0;
    expect(repository.isRepeated(ended)).toBe(false);
    expect(store.read).toBeLessThan(10);
  });
});

describe("a store of an earlier version", () => {
  const path = newFolder("repeated-bytes");
  let store: DurableStore | undefined;
  afterEach(async () => {
    await store?.close();
    removeFolder(path);
  });

  it("finds its transactions by hash once it is migrated", async () => {
    const before = await openStore({ path, migrations: [] }, { log: recordedLog() });
    const ended = record();
    const taker = record({ ...EARLIER, block: 7, state: "mined" });
    const present = new TransactionRepository({ store: before });
    for (const { checks = [], puts = [] } of [present.insertion(ended), present.insertion(taker)])
      await before.commit({ checks, puts: puts.filter(({ key }) => key[0] !== "chain_transaction#hash") });
    await before.close();
    store = await openStore({ path }, { log: recordedLog() });
    const repository = new TransactionRepository({ store });
    expect(repository.isRepeated(ended)).toBe(true);
    const current = repository.find({ kind: "user", id: "owner" }, taker.id);
    if (current === undefined) throw new Error("the record is lost");
    await repository.commit(repository.deletion(current));
    expect(repository.isRepeated(ended)).toBe(false);
  });
});
