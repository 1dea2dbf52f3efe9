import { describe, expect, it } from "vitest";
import { FairQueue, type Place } from "../../../src/platform/concurrency/fair-queue.js";
import { seededRandom } from "../../support/seeded.js";

/** Takes everything, one after the other, and names it. */
function drain(queue: FairQueue<number>): string[] {
  const order: string[] = [];
  for (let next = queue.take(); next !== undefined; next = queue.take()) {
    order.push(`${next.owner}${String(next.item)}`);
    queue.release(next.owner);
  }
  return order;
}

describe("the order of waiting work", () => {
  it("goes round by owner, and is first come, first served within one", () => {
    const queue = new FairQueue<number>();
    for (const item of [1, 2, 3, 4]) queue.add("a", item);
    for (const item of [1, 2]) queue.add("b", item);
    queue.add("c", 1);
    expect(drain(queue)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
    expect([queue.length, queue.owners]).toEqual([0, 0]);
  });

  it("prefers the owner with the least running work", () => {
    const queue = new FairQueue<number>();
    for (const item of [1, 2, 3]) queue.add("a", item);
    queue.take();
    queue.take();
    queue.add("b", 1);
    queue.add("b", 2);
    expect([queue.take(), queue.take()]).toMatchObject([{ owner: "b" }, { owner: "b" }]);
    expect(queue.take()).toMatchObject({ owner: "a", item: 3 });
  });

  it("passes over owners whose first work may not run, and leaves them where they are", () => {
    const queue = new FairQueue<number>();
    for (const item of [5, 1]) queue.add("a", item);
    for (const item of [2, 3]) queue.add("b", item);
    const isSmall = (item: number): boolean => item < 3;
    expect([queue.take(isSmall), queue.take(isSmall)]).toMatchObject([{ owner: "b", item: 2 }, undefined]);
    queue.release("b");
    expect(drain(queue)).toEqual(["a5", "b3", "a1"]);
  });

  it("gives an owner that leaves and comes again no earlier turn", () => {
    const queue = new FairQueue<number>();
    const { place } = queue.add("a", 1);
    queue.add("b", 1);
    expect([queue.remove(place!), queue.remove(place!)]).toEqual([true, false]);
    queue.add("a", 2);
    expect(drain(queue)).toEqual(["b1", "a2"]);
  });

  it("puts work that began once before the owner's other work, and not before other owners", () => {
    const queue = new FairQueue<number>();
    queue.add("b", 1);
    queue.add("a", 2);
    queue.add("a", 1, { isFirst: true });
    expect(drain(queue)).toEqual(["b1", "a1", "a2"]);
  });
});

describe("a full queue", () => {
  it("can be filled by one owner alone, and no further", () => {
    const queue = new FairQueue<number>({ lengthMax: 3 });
    expect([1, 2, 3, 4].map((item) => queue.add("a", item).place !== undefined)).toEqual([true, true, true, false]);
  });

  it("makes room for an owner with clearly less, from the newest work of the one with the most", () => {
    const queue = new FairQueue<number>({ lengthMax: 4 });
    for (const item of [1, 2, 3, 4]) queue.add("a", item);
    expect(queue.add("b", 1)).toMatchObject({ place: { owner: "b" }, displaced: { owner: "a", item: 4 } });
    expect(queue.add("b", 2)).toMatchObject({ place: { owner: "b" }, displaced: { owner: "a", item: 3 } });
    expect([queue.add("b", 3), queue.add("a", 5)]).toEqual([{ place: undefined }, { place: undefined }]);
    expect(queue.add("c", 1).displaced).toMatchObject({ owner: "a", item: 2 });
    expect(queue.add("d", 1).displaced).toMatchObject({ owner: "b", item: 2 });
    expect(queue.add("e", 1)).toEqual({ place: undefined });
    expect(drain(queue)).toEqual(["a1", "b1", "c1", "d1"]);
  });

  it("says how much begins before new work: as much of each other owner as the owner has itself, and one more", () => {
    const queue = new FairQueue<number>();
    for (let item = 0; item < 10; item += 1) queue.add("a", item);
    queue.add("b", 1);
    expect([queue.aheadOf("a"), queue.aheadOf("b"), queue.aheadOf("c")]).toEqual([11, 3, 2]);
  });
});

describe("an owner with more than its share", () => {
  it("is named while another waits that has two less running", () => {
    const queue = new FairQueue<number>();
    for (const item of [1, 2, 3]) queue.add("a", item);
    queue.take();
    queue.take();
    expect(queue.overdrawn()).toBeUndefined();
    const { place } = queue.add("b", 1);
    expect(queue.overdrawn()).toBe("a");
    queue.enter("b");
    expect(queue.overdrawn()).toBeUndefined();
    queue.release("b");
    queue.remove(place!);
    expect(queue.overdrawn()).toBeUndefined();
  });
});

it("keeps its promises through any run of additions, turns, ends and aborts", () => {
  const random = seededRandom();
  const lengthMax = 1 + random.below(12);
  const queue = new FairQueue<number>({ lengthMax });
  const owners = ["a", "b", "c", "d", "e"];
  const waiting: Place<number>[] = [];
  const running: string[] = [];
  const ofOwner = (owner: string): Place<number>[] => waiting.filter((place) => place.owner === owner);
  const drop = (place: Place<number>): void => {
    waiting.splice(waiting.indexOf(place), 1);
  };
  for (let step = 0; step < 4000; step += 1) {
    const what = `seed ${String(random.seed)}, step ${String(step)}`;
    const act = random.below(10);
    if (act < 5) {
      const owner = random.pick(owners);
      const longest = Math.max(0, ...owners.map((other) => ofOwner(other).length));
      const own = ofOwner(owner).length;
      const { place, displaced } = queue.add(owner, step);
      if (displaced !== undefined) {
        expect(displaced, what).toBe(ofOwner(displaced.owner).at(-1));
        expect([longest, ofOwner(displaced.owner).length >= own + 2], what).toEqual([
          ofOwner(displaced.owner).length,
          true,
        ]);
        drop(displaced);
      }
      if (place === undefined) expect([waiting.length, longest < own + 2], what).toEqual([lengthMax, true]);
      else waiting.push(place);
    } else if (act < 7) {
      const next = queue.take();
      expect(next === undefined, what).toBe(waiting.length === 0);
      if (next === undefined) continue;
      const countOf = (owner: string): number => running.filter((one) => one === owner).length;
      expect(next, what).toBe(ofOwner(next.owner)[0]);
      const rivals = owners.filter((owner) => owner !== next.owner && ofOwner(owner).length > 0);
      for (const rival of rivals) expect(countOf(rival), what).toBeGreaterThanOrEqual(countOf(next.owner));
      drop(next);
      running.push(next.owner);
    } else if (act < 9) {
      const [ended] = running.splice(random.below(running.length), 1);
      if (ended !== undefined) queue.release(ended);
    } else if (waiting.length > 0) {
      const place = random.pick(waiting);
      expect(queue.remove(place), what).toBe(true);
      drop(place);
    }
    expect(queue.length, what).toBe(waiting.length);
    expect(queue.owners, what).toBe(new Set([...waiting.map(({ owner }) => owner), ...running]).size);
  }
  for (const owner of running) queue.release(owner);
  expect(drain(queue)).toHaveLength(waiting.length);
  expect([queue.length, queue.owners], `seed ${String(random.seed)}`).toEqual([0, 0]);
});

it("lets no waiting owner be passed over twice by another when one place is free at a time", () => {
  const random = seededRandom();
  const queue = new FairQueue<number>();
  const owners = ["a", "b", "c", "d"];
  const passed = new Map<string, number>();
  for (let step = 0; step < 2000; step += 1) {
    if (random.chance(0.55)) queue.add(random.pick(owners), step);
    const next = queue.take();
    if (next === undefined) continue;
    queue.release(next.owner);
    for (const other of owners) {
      passed.delete(`${next.owner}<${other}`);
      if (other === next.owner) continue;
      const key = `${other}<${next.owner}`;
      const isWaiting = queue.waitingOf(other) > 0;
      passed.set(key, isWaiting ? (passed.get(key) ?? 0) + 1 : 0);
      expect(passed.get(key), `seed ${String(random.seed)}, step ${String(step)}`).toBeLessThanOrEqual(1);
    }
  }
});
