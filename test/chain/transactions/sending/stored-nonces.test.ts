/** The record that makes a nonce unique: in the store, whatever the memory of a process says of it. */
import { randomUUID } from "node:crypto";
import { afterEach, expect, it } from "vitest";
import { createTransactions, type Transactions } from "../../../../src/chain/transactions/create-transactions.js";
import { UNSENT, type TransactionRecord } from "../../../../src/chain/transactions/transaction-record.js";
import { TRANSACTION_TABLE, TransactionRepository } from "../../../../src/chain/transactions/transaction-repository.js";
import { NonceTaken, TransactionWriter } from "../../../../src/chain/transactions/transaction-writer.js";
import { systemClock } from "../../../../src/platform/clock.js";
import { AppError, notFound } from "../../../../src/platform/errors.js";
import type { Nodes } from "../../../../src/platform/nodes/nodes.js";
import { soloNodes } from "../../../../src/platform/nodes/solo-nodes.js";
import { StoreConflict, type Store, type StoreKey } from "../../../../src/platform/store/store.js";
import { MemoryStore } from "../../../support/memory-store.js";
import { minedNonces, openBench, RECEIVER, type Bench } from "../support.js";

let bench: Bench | undefined;
const further: Transactions[] = [];
afterEach(async () => {
  for (const transactions of further.splice(0)) await transactions.stop();
  await bench?.close();
  bench = undefined;
});

const SIGNED = { state: "signed", nonce: 7, holds_nonce: true } as const;

function record(parts: Partial<TransactionRecord> = {}): TransactionRecord {
  const id = randomUUID();
  return {
    ...{ id, created_at: "2026-01-01T00:00:00.000Z", ref: id, description: null, contract_id: null },
    ...{ owner_kind: "user", owner_id: "owner", network_id: "network", chain_id: 1 },
    ...{ account_id: null, wallet_id: null, signer: null, from: RECEIVER, to: RECEIVER },
    ...{ value: "0", data: "0x", gas: "21000", wishes: {} },
    ...UNSENT,
    ...parts,
  };
}

function parts(): { readonly repository: TransactionRepository; readonly writer: TransactionWriter } {
  const repository = new TransactionRepository({ store: new MemoryStore() });
  return { repository, writer: new TransactionWriter({ repository, clock: systemClock }) };
}

const sign = (current: TransactionRecord): TransactionRecord => ({ ...current, ...SIGNED });

it("lets one transaction of an account be signed for a nonce, of each owner and each chain", async () => {
  const { repository, writer } = parts();
  const others = [record({ owner_id: "other" }), record({ chain_id: 2 }), record()];
  for (const each of others) await writer.insert(each);
  const [ofOther, ofOtherChain, second] = others as [TransactionRecord, TransactionRecord, TransactionRecord];
  const first = record({ ...SIGNED });
  await writer.insert(first);
  expect(await writer.change({ kind: "user", id: "other" }, ofOther.id, sign)).toMatchObject(SIGNED);
  expect(await writer.change({ kind: "user", id: "owner" }, ofOtherChain.id, sign)).toMatchObject(SIGNED);
  await expect(writer.change({ kind: "user", id: "owner" }, second.id, sign)).rejects.toThrow(NonceTaken);
  await expect(writer.insert(record({ ...SIGNED }))).rejects.toThrow(StoreConflict);
  expect(repository.holderOfNonce(second, 7)?.id).toBe(first.id);
});

it("keeps the nonce over further attempts and a block, and frees it with the end", async () => {
  const { repository, writer } = parts();
  const owner = { kind: "user", id: "owner" } as const;
  const first = record({ ...SIGNED });
  const second = record();
  await writer.insert(first);
  await writer.insert(second);
  const attempt = { hash: "0x1", kind: "bump", signed_at: "2026-01-01T00:00:00.000Z" } as const;
  await writer.change(owner, first.id, (current) => ({ ...current, state: "sent", attempts: [attempt] }));
  await expect(writer.change(owner, second.id, sign)).rejects.toThrow(NonceTaken);
  await writer.fail(owner, first.id, { code: "transaction_refused", message: "refused" });
  expect(repository.holderOfNonce(second, 7)).toBeUndefined();
  expect(await writer.change(owner, second.id, sign)).toMatchObject(SIGNED);
  await expect(writer.change(owner, first.id, (current) => ({ ...current, watched: true }))).resolves.toBeDefined();
});

it("changes and ends transactions of an earlier version, which have no such record", async () => {
  const { repository, writer } = parts();
  const owner = { kind: "user", id: "owner" } as const;
  const { holds_nonce: _none, ...earlier } = record({ state: "signed", nonce: 7 });
  await writer.insert(earlier);
  expect(await writer.change(owner, earlier.id, (current) => ({ ...current, state: "sent" }))).toBeDefined();
  expect(repository.holderOfNonce(earlier, 7)).toBeUndefined();
  expect(await writer.fail(owner, earlier.id, { code: "network_gone", message: "gone" })).toBeDefined();
});

/** Another process over the store of the bench, or over one that is made of it, which sends nothing yet. */
function idle(store: Store, { vault, networks, log }: Bench, nodes = soloNodes()): Transactions {
  const made = createTransactions(
    { pollMs: 40, patienceMs: 400, resendMs: 400 },
    {
      ...{ store, nodes, vault: vault.vault, clock: systemClock, log, networks },
      requireTenant: (_principal, { kind }) => {
        throw notFound(kind);
      },
    },
  );
  further.push(made);
  return made;
}

function another(...parts: Parameters<typeof idle>): Transactions {
  const made = idle(...parts);
  made.start();
  return made;
}

it("stores no two transactions for a nonce when two processes send for one account", async () => {
  bench = await openBench();
  const { owner, networkId, vault, anvil, transactions: one } = bench;
  const other = another(vault.store, bench);
  const { id: accountId, address } = await bench.account();
  const request = { networkId, signer: { accountId }, to: RECEIVER, value: 1n };
  const made = await Promise.all(
    Array.from({ length: 20 }, async (_, at) => await (at % 2 === 0 ? one : other).service.create(owner, request)),
  );
  for (const { id } of made) await bench.until(id, ({ state }) => state === "confirmed");
  const mined = await minedNonces(anvil, address);
  expect(mined.map(({ nonce }) => nonce)).toEqual(Array.from({ length: 20 }, (_, nonce) => nonce));
});

it.each(["created", "signed"] as const)(
  "sends once what became %s by a commit that was answered as failed",
  async (state) => {
    bench = await openBench();
    const { owner, networkId, vault, anvil } = bench;
    await bench.transactions.stop();
    const { store } = vault;
    let failures = 0;
    const commit: Store["commit"] = async (change) => {
      await store.commit(change);
      const isIt = change.puts?.some(
        ({ key, value }) => key[0] === TRANSACTION_TABLE && (value as { readonly state?: string }).state === state,
      );
      if (isIt !== true || failures > 0) return;
      failures += 1;
      throw new AppError("outcome_unknown", { message: "the database has not said" });
    };
    const listeners: ((keys: readonly StoreKey[]) => void | Promise<void>)[] = [];
    const unsure = new Proxy(store, {
      get: (target, member) => {
        const value: unknown = member === "commit" ? commit : Reflect.get(target, member, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    const nodes: Nodes = {
      ...soloNodes(),
      onChange: (table, listener) => {
        if (table === TRANSACTION_TABLE) listeners.push(listener);
        return () => undefined;
      },
    };
    bench.transactions = another(unsure, bench, nodes);
    const { id: accountId, address } = await bench.account();
    const request = { networkId, signer: { accountId }, to: RECEIVER, value: 1n, ref: "mine" };
    await bench.transactions.service.create(owner, request).catch((error: unknown) => {
      expect(error).toMatchObject({ code: "outcome_unknown" });
    });
    // As the log tells a node what it had written after all.
    for (const listener of listeners)
      void listener([[TRANSACTION_TABLE, owner.kind, owner.id, bench.transactions.service.get(owner, "mine").id]]);
    await bench.until("mine", ({ state: now }) => now === "confirmed");
    expect(failures).toBe(1);
    expect((await minedNonces(anvil, address)).map(({ nonce }) => nonce)).toEqual([0]);
  },
);

it("begins nothing once it was stopped, as when a duty comes to a node that is about to leave", async () => {
  bench = await openBench();
  const late = idle(bench.vault.store, bench);
  await late.stop();
  const { id: accountId } = await bench.account();
  const request = { networkId: bench.networkId, signer: { accountId }, to: RECEIVER, value: 1n };
  await bench.transactions.service.create(bench.owner, request);
  late.start();
  expect(bench.transactions.openCount()).toBe(1);
  expect(late.openCount()).toBe(0);
});
