import { expect, it } from "vitest";
import { addAttempt } from "../../../../src/chain/transactions/sending/attempts.js";
import {
  addSignature,
  assignNonce,
  waitingState,
  type QueuedTransaction,
} from "../../../../src/chain/transactions/sending/queued-transaction.js";
import type { Attempt, TransactionRecord } from "../../../../src/chain/transactions/transaction-record.js";
import type { Decision, TransactionWriter } from "../../../../src/chain/transactions/transaction-writer.js";

const first: Attempt = { hash: "0x01", kind: "first", signed_at: "2026-01-01T00:00:00.000Z", raw: "0x01" };
const bump: Attempt = { hash: "0x02", kind: "bump", signed_at: "2026-01-01T00:00:01.000Z", raw: "0x02" };

/** A writer of one record. */
function writerOf(record: Partial<TransactionRecord>): { readonly writer: TransactionWriter; stored: () => unknown } {
  let current = record as TransactionRecord;
  const change = (_owner: unknown, _id: unknown, decide: Decision): Promise<TransactionRecord | undefined> => {
    const next = decide(current);
    current = next ?? current;
    return Promise.resolve(next);
  };
  return { writer: { change, now: () => "now" } as unknown as TransactionWriter, stored: () => current };
}

function queuedWith(nonce: number): QueuedTransaction {
  const state = addSignature(assignNonce(waitingState({ mayBeInPool: false, resendMs: 1 }), nonce), first.hash);
  return { owner: { kind: "user", id: "u" }, id: "t", networkId: "n", requestedNonce: undefined, state };
}

it("adds an attempt to the transaction that holds its nonce", async () => {
  const queued = queuedWith(4);
  const { writer, stored } = writerOf({ watched: true, block: null, nonce: 4, attempts: [first], hash: first.hash });
  expect(await addAttempt(writer, queued, { attempt: bump, nonce: 4 })).toBe(true);
  expect(stored()).toMatchObject({ attempts: [first, bump], hash: bump.hash });
  expect(queued.state.hashes).toEqual([first.hash, bump.hash]);
});

it.each([
  ["waits for another nonce", { watched: true, block: null, nonce: null, attempts: [] }],
  ["has another nonce", { watched: true, block: null, nonce: 5, attempts: [first] }],
  ["is in a block", { watched: true, block: 7, nonce: 4, attempts: [first] }],
  ["has ended", { watched: false, block: null, nonce: 4, attempts: [first] }],
])("adds none to one that %s", async (_name, record) => {
  const { writer, stored } = writerOf(record);
  expect(await addAttempt(writer, queuedWith(4), { attempt: bump, nonce: 4 })).toBe(false);
  expect(stored()).toEqual(record);
});
