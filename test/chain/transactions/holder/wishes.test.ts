/** What a node asks of the one that sends: outcomes, limits of time, and what a node that ended has left. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { AskedWishes } from "../../../../src/chain/transactions/holder/asked-wishes.js";
import { CarriedOutWishes } from "../../../../src/chain/transactions/holder/carried-out-wishes.js";
import { WISH_TABLE, type Wish, type WishRecord } from "../../../../src/chain/transactions/holder/wish-records.js";
import { AppError } from "../../../../src/platform/errors.js";
import { NodesInMemory } from "../../../support/nodes-in-memory.js";
import { recordedLog } from "../../../support/silent-log.js";
import { failsWith } from "../support.js";

const OWNER = { kind: "user", id: randomUUID() } as const;
const CANCEL: Wish = { kind: "cancel", transaction_id: randomUUID() };
const BROADCAST: Wish = { kind: "broadcast", input: { network_id: randomUUID(), raw_transaction: "0x02" } };

function asked(pair: NodesInMemory, waitMs: number): AskedWishes {
  return new AskedWishes({ waitMs }, { ...pair.node("asking"), log: recordedLog() });
}

function carriedOut(
  pair: NodesInMemory,
  name: string,
  more: Partial<ConstructorParameters<typeof CarriedOutWishes>[0]> = {},
): CarriedOutWishes {
  return new CarriedOutWishes({
    ...pair.node(name),
    carryOut: async () => await Promise.resolve(),
    hasTransaction: () => false,
    onSettled: () => undefined,
    log: recordedLog(),
    ...more,
  });
}

const wishes = (pair: NodesInMemory): WishRecord[] =>
  pair.store.range<WishRecord>([WISH_TABLE]).map(({ value }) => value);

it("tells the outcome, or the error with all of its members, and leaves no record", async () => {
  const pair = new NodesInMemory();
  const wanting = asked(pair, 10_000);
  const done: Wish[] = [];
  const holder = carriedOut(pair, "holder", {
    carryOut: async (_owner, wish) => {
      done.push(wish);
      if (wish.kind === "cancel") return;
      await Promise.reject(new AppError("overloaded", { message: "busy", retryAfterSec: 7 }));
    },
  });
  holder.begin();
  await wanting.ask(OWNER, CANCEL);
  await expect(wanting.ask(OWNER, BROADCAST)).rejects.toMatchObject({
    ...{ code: "overloaded", message: "busy", retryAfterSec: 7 },
  });
  expect(done).toEqual([CANCEL, BROADCAST]);
  await holder.stop();
  expect(wishes(pair)).toEqual([]);
});

it("says that nothing was done when no node began in time, and nothing is done later", async () => {
  const pair = new NodesInMemory();
  const { code, message } = await failsWith(asked(pair, 50).ask(OWNER, CANCEL));
  expect(code).toBe("overloaded");
  expect(message).toContain("nothing was done, and nothing will be");
  const done: Wish[] = [];
  const holder = carriedOut(pair, "holder", {
    carryOut: async (_owner, wish) => await Promise.resolve(void done.push(wish)),
  });
  holder.begin();
  await holder.stop();
  expect(done).toEqual([]);
});

it("says that the outcome is unknown when a node began and did not end in time", async () => {
  const pair = new NodesInMemory();
  let end: () => void = () => undefined;
  const holder = carriedOut(pair, "holder", {
    carryOut: async () =>
      await new Promise((resolve) => {
        end = resolve;
      }),
  });
  holder.begin();
  expect((await failsWith(asked(pair, 50).ask(OWNER, CANCEL))).code).toBe("outcome_unknown");
  end();
  await holder.stop();
  expect(wishes(pair)).toEqual([]);
});

it("has the next node answer for what the one before had begun, and begin with signed bytes that are not stored", async () => {
  const pair = new NodesInMemory();
  const wanting = asked(pair, 10_000);
  const stuck = carriedOut(pair, "before", { carryOut: async () => await new Promise(() => undefined) });
  stuck.begin();
  const cancel = failsWith(wanting.ask(OWNER, CANCEL));
  const lost = wanting.ask(OWNER, BROADCAST);
  const stored = wanting.ask(OWNER, BROADCAST);
  await expect.poll(() => wishes(pair).filter(({ taken_by: by }) => by === "before").length).toBe(3);
  const kept = wishes(pair).find(({ wish }) => wish.kind === "broadcast")?.id;
  pair.dead.add("before");
  const done: string[] = [];
  const next = carriedOut(pair, "next", {
    carryOut: async (_owner, _wish, id) => await Promise.resolve(void done.push(id)),
    hasTransaction: (_owner, id) => id === kept,
  });
  next.begin();
  expect((await cancel).code).toBe("outcome_unknown");
  const ids = await Promise.all([lost, stored]);
  await next.stop();
  expect(done).toEqual(ids.filter((id) => id !== kept));
});

it("deletes what nobody waits for", async () => {
  const pair = new NodesInMemory();
  const wanting = asked(pair, 100);
  const gone = failsWith(wanting.ask(OWNER, CANCEL));
  await expect.poll(() => wishes(pair).length).toBe(1);
  pair.dead.add("asking");
  const done: Wish[] = [];
  const holder = carriedOut(pair, "holder", {
    carryOut: async (_owner, wish) => await Promise.resolve(void done.push(wish)),
  });
  holder.begin();
  await holder.stop();
  expect(wishes(pair)).toEqual([]);
  expect(done).toEqual([]);
  await gone;
});
