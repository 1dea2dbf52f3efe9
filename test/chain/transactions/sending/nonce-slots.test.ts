// Which nonces are held and which is free, under random use. A failure prints the seed and path.
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { NonceSlots } from "../../../../src/chain/transactions/sending/nonce-slots.js";
import {
  addSignature,
  assignNonce,
  include,
  waitingState,
  type QueuedTransaction,
} from "../../../../src/chain/transactions/sending/queued-transaction.js";

function holding(nonce: number): QueuedTransaction {
  return {
    owner: { kind: "user", id: "owner" },
    id: randomUUID(),
    networkId: "network",
    requestedNonce: undefined,
    state: assignNonce(waitingState({ mayBeInPool: false, resendMs: 1 }), nonce),
  };
}

const step = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: "take" } as const) },
  fc.record({ kind: fc.constant("give back" as const), pick: fc.nat() }),
  fc.record({ kind: fc.constant("use up" as const), count: fc.integer({ min: 1, max: 3 }) }),
);

it("gives each nonce to one transaction at a time, always the lowest that is free, and loses none", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const slots = new NonceSlots();
      const held = new Map<number, QueuedTransaction>();
      let used = 0;
      for (const one of steps) {
        if (one.kind === "take") {
          const nonce = slots.next();
          expect(held.has(nonce)).toBe(false);
          let lowestFree = used;
          while (held.has(lowestFree)) lowestFree += 1;
          expect(nonce).toBe(lowestFree);
          const queued = holding(nonce);
          slots.take(queued);
          held.set(nonce, queued);
        } else if (one.kind === "give back" && held.size > 0) {
          const [nonce, queued] = [...held][one.pick % held.size]!;
          slots.release(nonce, queued, { isUsed: false });
          held.delete(nonce);
        } else if (one.kind === "use up") {
          // The chain uses nonces in their order.
          for (let queued = held.get(used), left = one.count; queued !== undefined && left > 0; left -= 1) {
            slots.release(used, queued, { isUsed: true });
            held.delete(used);
            used += 1;
            queued = held.get(used);
          }
        }
        expect(slots.entries().map(({ state }) => state.nonce)).toEqual([...held.keys()].sort((a, b) => a - b));
        expect(slots.floor).toBe(used);
      }
    }),
    { numRuns: 300 },
  );
});

it("leaves a nonce to the transaction that has it now", () => {
  const slots = new NonceSlots();
  const [first, second] = [holding(0), holding(0)];
  slots.take(first);
  slots.release(0, first, { isUsed: false });
  slots.take(second);
  slots.release(0, first, { isUsed: true });
  expect([slots.has(0), slots.entries()[0], slots.floor]).toEqual([true, second, 0]);
});

it("starts again where a node says, above or below, past what is held", () => {
  const slots = new NonceSlots();
  slots.take(holding(5));
  slots.restartAt(4);
  expect(slots.next()).toBe(4);
  slots.restartAt(5);
  expect(slots.next()).toBe(6);
  slots.release(5, slots.entries()[0]!, { isUsed: true });
  expect(slots.floor).toBe(6);
  slots.restartAt(2);
  expect([slots.next(), slots.floor]).toEqual([2, 2]);
});

it("counts as unmined what is in no block", () => {
  const slots = new NonceSlots();
  const [mined, sent] = [holding(0), holding(1)];
  slots.take(mined);
  slots.take(sent);
  mined.state = include(addSignature(mined.state, "0x01"), { number: 1, hash: "0x02" });
  expect([slots.size, slots.unmined]).toEqual([2, 1]);
});

it("passes by what is reserved, and comes back to it when it stays free", () => {
  const slots = new NonceSlots();
  slots.restartAt(5);
  expect([slots.reserve(5), slots.reserve(5), slots.has(5)]).toEqual([true, false, true]);
  expect(slots.next()).toBe(6);
  slots.unreserve(5);
  expect(slots.next()).toBe(5);
  // One that the chain has used stays used.
  expect(slots.reserve(2)).toBe(true);
  slots.unreserve(2);
  expect(slots.next()).toBe(5);
  slots.reserve(5);
  slots.take(holding(5));
  slots.unreserve(5);
  expect([slots.next(), slots.has(5)]).toEqual([6, true]);
});

it("are not empty while a nonce is held or reserved", () => {
  const slots = new NonceSlots();
  expect(slots.isEmpty).toBe(true);
  slots.reserve(0);
  expect([slots.isEmpty, slots.size]).toEqual([false, 0]);
  slots.take(holding(0));
  slots.unreserve(0);
  expect(slots.isEmpty).toBe(false);
});
