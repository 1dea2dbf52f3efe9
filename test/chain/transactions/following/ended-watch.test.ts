// What is looked for after it ended: bounded for each owner, in age and in what one turn reads.
import { afterEach, expect, it } from "vitest";
import { EndedWatch } from "../../../../src/chain/transactions/following/ended-watch.js";
import { ReceiptReader } from "../../../../src/chain/transactions/following/receipt-reader.js";
import { TransactionRepository } from "../../../../src/chain/transactions/transaction-repository.js";
import { UNSENT, type TransactionRecord } from "../../../../src/chain/transactions/transaction-record.js";
import { TransactionWriter } from "../../../../src/chain/transactions/transaction-writer.js";
import { isoTimestamp, systemClock } from "../../../../src/platform/clock.js";
import { newId } from "../../../../src/platform/ids.js";
import { MemoryStore } from "../../../support/memory-store.js";

const DAY_MS = 24 * 60 * 60 * 1_000;
const FAULT = { code: "transaction_refused", message: "gas limit too high" };
const watches: EndedWatch[] = [];
afterEach(async () => {
  for (const watch of watches.splice(0)) await watch.stop();
});

const signed = (owner: string, nonce: number, ageMs = 0): TransactionRecord => {
  const id = newId();
  const now = isoTimestamp(Date.now() - ageMs);
  return {
    ...UNSENT,
    id,
    ref: id,
    created_at: now,
    owner_kind: "user",
    owner_id: owner,
    network_id: "net",
    chain_id: 1,
    account_id: null,
    wallet_id: null,
    signer: null,
    from: `0x${owner}`,
    to: null,
    value: "0",
    data: "0x",
    gas: "1",
    wishes: {},
    description: null,
    contract_id: null,
    state: "signed",
    nonce,
    hash: "0x01",
    attempts: [{ hash: "0x01", kind: "first", signed_at: now }],
  };
};

const setUp = ({ pauseMs = 1 } = {}) => {
  const store = new MemoryStore();
  const repository = new TransactionRepository({ store });
  const writer = new TransactionWriter({ repository, clock: systemClock }, { unsettledMax: 3 });
  /** Accounts of which the node was asked. */
  const asked: unknown[] = [];
  const watch = new EndedWatch(
    { pauseMs },
    {
      repository,
      writer,
      networks: {
        find: () => ({
          id: "net",
          chainId: 1,
          confirmations: 1,
          rpc: {
            request: async (method, [from]) => {
              if (method === "eth_getTransactionCount") asked.push(from);
              return await Promise.resolve("0x0");
            },
          },
        }),
      },
      receipts: new ReceiptReader({ nowMs: () => performance.now(), rpcOptions: {}, onUnreadable: () => undefined }),
      rpcOptions: {},
      clock: systemClock,
      isStopped: () => false,
      onFound: () => undefined,
      onFailure: (error) => {
        throw error;
      },
    },
  );
  watches.push(watch);
  const fail = async (record: TransactionRecord, options = {}): Promise<void> => {
    await writer.insert(record);
    await writer.fail({ kind: "user", id: record.owner_id }, record.id, FAULT, options);
  };
  const lookedFor = (): TransactionRecord[] => repository.unsettled({ limit: 10_000 }).rows;
  return { watch, fail, lookedFor, asked };
};

it("looks for as many of an owner as it may, the newest, and drops none of another", async () => {
  const { fail, lookedFor } = setUp();
  const quiet = signed("b", 0, DAY_MS);
  await fail(quiet);
  const first = signed("a", 0, DAY_MS);
  await fail(first);
  for (let nonce = 1; nonce <= 3; nonce += 1) await fail(signed("a", nonce));
  const ids = lookedFor().map(({ id }) => id);
  expect(ids).toHaveLength(4);
  expect([ids.includes(first.id), ids.includes(quiet.id)]).toEqual([false, true]);
});

it("does not look for bytes that no chain takes", async () => {
  const { fail, lookedFor } = setUp();
  await fail(signed("a", 0), { isInvalid: true });
  expect(lookedFor()).toEqual([]);
});

it("looks for all, page by page", async () => {
  const { watch, fail, asked } = setUp();
  const owners = Array.from({ length: 110 }, (_, at) => String(at));
  for (const owner of owners) await fail(signed(owner, 0));
  watch.wake();
  await expect.poll(() => new Set(asked).size, { interval: 5 }).toBe(owners.length);
});

it("drops after a month what was not found", async () => {
  const { watch, fail, lookedFor } = setUp();
  const young = signed("a", 1, 29 * DAY_MS);
  await fail(signed("a", 0, 31 * DAY_MS));
  await fail(young);
  watch.wake();
  await expect.poll(() => lookedFor().map(({ id }) => id), { interval: 5 }).toEqual([young.id]);
});

it("looks however often it is woken", async () => {
  const { watch, fail, asked } = setUp({ pauseMs: 20 });
  await fail(signed("a", 0));
  const timer = setInterval(() => {
    watch.wake();
  }, 1);
  try {
    await expect.poll(() => asked.length, { interval: 5 }).toBeGreaterThan(0);
  } finally {
    clearInterval(timer);
  }
});
