/** Large work that waits for memory, or is refused. */
import { describe, expect, it } from "vitest";
import { MemoryBudget, type MemoryShare } from "../../../src/platform/concurrency/memory-budget.js";

const GIB = 1024 ** 3;

/** Takes memory and tells whether it has been given. */
function take(
  budget: MemoryBudget,
  bytes: number,
  request: { readonly owner?: string; readonly signal?: AbortSignal } = {},
) {
  const state: { share?: MemoryShare; error?: unknown } = {};
  const settled = budget.take({ bytes, what: "the work", ...request }).then(
    (share) => {
      state.share = share;
    },
    (error: unknown) => {
      state.error = error;
    },
  );
  return { state, settled };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the memory of large work", () => {
  it("is refused where there is never as much, with what is needed and what there is", async () => {
    const budget = new MemoryBudget({ bytes: 4 * GIB });
    await expect(budget.take({ bytes: 4 * GIB + 1, what: "the setup" })).rejects.toMatchObject({
      code: "insufficient_memory",
      message: expect.stringMatching(/^the setup takes 4\.0 GiB .* has 4\.0 GiB/) as string,
    });
    expect((await budget.take({ bytes: 4 * GIB, what: "the setup" })).bytes).toBe(4 * GIB);
  });

  it("is given in turn, never more than there is", async () => {
    const budget = new MemoryBudget({ bytes: 100, passMs: 0 });
    const works = [60, 60, 40, 30].map((bytes) => take(budget, bytes));
    await turn();
    // The third would fit beside the first, but the second came before it, and is passed no longer.
    expect(works.map(({ state }) => state.share !== undefined)).toEqual([true, false, false, false]);
    works[0]!.state.share!.release();
    await turn();
    expect(works.map(({ state }) => state.share !== undefined)).toEqual([true, true, true, false]);
    expect(budget.taken).toBe(100);
    works[2]!.state.share!.release();
    works[2]!.state.share!.release();
    await works[3]!.settled;
    expect(budget.taken).toBe(90);
  });

  it("lets small work pass larger work that waits, however long it has", async () => {
    const budget = new MemoryBudget({ bytes: 320, passMs: 0 });
    const [first, second, small, larger] = [300, 300, 10, 11].map((bytes) => take(budget, bytes));
    await turn();
    expect([first, second, small, larger].map((work) => work!.state.share !== undefined)).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  it("takes work out of the queue that is ended, and lets the next begin", async () => {
    const budget = new MemoryBudget({ bytes: 100, passMs: 0 });
    const ending = new AbortController();
    const [, second, third] = [take(budget, 50), take(budget, 60, { signal: ending.signal }), take(budget, 50)];
    ending.abort(new Error("gone"));
    await Promise.all([second.settled, third.settled]);
    expect(second.state.error).toEqual(new Error("gone"));
    expect(budget.taken).toBe(100);
    const late = AbortSignal.abort(new Error("late"));
    await expect(budget.take({ bytes: 1, what: "the work", signal: late })).rejects.toThrow("late");
  });

  it("lets what fits pass the first that waits, and gives it what comes free", async () => {
    const budget = new MemoryBudget({ bytes: 100 });
    const [held, large, passing, tooLarge] = [50, 80, 40, 20].map((bytes) => take(budget, bytes));
    await turn();
    expect([large, passing, tooLarge].map((work) => work!.state.share !== undefined)).toEqual([false, true, false]);
    // 10 + 50 are free then: for the one of 20, as the first needs 80.
    held!.state.share!.release();
    await turn();
    expect([large!.state.share !== undefined, tooLarge!.state.share !== undefined]).toEqual([false, true]);
    passing!.state.share!.release();
    tooLarge!.state.share!.release();
    await large!.settled;
    expect(budget.taken).toBe(80);
  });

  it("keeps what is reclaimed for the first that waits from those that would pass it", async () => {
    const budget = new MemoryBudget({ bytes: 100 });
    const keys = [await budget.take({ bytes: 50, what: "a key" }), await budget.take({ bytes: 50, what: "a key" })];
    let areFree = false;
    budget.onWant(() => {
      if (areFree) for (const key of keys) key.release();
    });
    const [first, passing] = [take(budget, 90), take(budget, 40)];
    await turn();
    areFree = true;
    budget.wake();
    await first.settled;
    await turn();
    expect([budget.taken, passing.state.share]).toEqual([90, undefined]);
  });

  it("is given to owners in turn, and each owner's own in order", async () => {
    const budget = new MemoryBudget({ bytes: 100 });
    const held = take(budget, 100, { owner: "a" });
    const order: string[] = [];
    const works = ["a1", "a2", "a3", "b1", "b2", "c1"].map((name) => {
      const work = take(budget, 100, { owner: name.charAt(0) });
      void work.settled.then(() => order.push(name));
      return work;
    });
    await held.settled;
    held.state.share!.release();
    const left = new Set(works);
    while (left.size > 0) {
      await Promise.race([...left].map(({ settled }) => settled));
      for (const work of left)
        if (work.state.share !== undefined) {
          left.delete(work);
          work.state.share.release();
        }
    }
    // The next is chosen when one begins: b1 while a1 runs, and a2 while b1 does.
    expect(order).toEqual(["a1", "b1", "a2", "c1", "b2", "a3"]);
  });

  it("counts as no turn of its owner any more once it is only kept", async () => {
    const budget = new MemoryBudget({ bytes: 100 });
    const kept = await budget.take({ bytes: 10, what: "a key", owner: "a" });
    const held = await budget.take({ bytes: 90, what: "a setup" });
    const order: string[] = [];
    const begin = (owner: string): Promise<void> =>
      budget.run({ bytes: 90, what: "the work", owner }, () => Promise.resolve(void order.push(owner)));
    const works = ["c", "a", "b"].map(begin);
    kept.endTurn();
    held.release();
    await Promise.all(works);
    expect(order).toEqual(["c", "a", "b"]);
    kept.release();
    expect(budget.taken).toBe(0);
  });

  it("is given back in part, and asked for where it is only kept", async () => {
    const budget = new MemoryBudget({ bytes: 100 });
    const kept = await budget.take({ bytes: 80, what: "a key" });
    kept.shrink(70);
    const wanted: number[] = [];
    let isFree = false;
    budget.onWant((bytes) => {
      wanted.push(bytes);
      if (isFree) kept.release();
    });
    const waiting = take(budget, 50);
    await turn();
    expect([waiting.state.share, wanted]).toEqual([undefined, [20]]);
    isFree = true;
    budget.wake();
    await waiting.settled;
    expect([waiting.state.share?.bytes, budget.taken]).toEqual([50, 50]);
  });

  it("is given back when the work fails", async () => {
    const budget = new MemoryBudget({ bytes: 100 });
    const failing = (): Promise<never> => Promise.reject(new Error("failed"));
    await expect(budget.run({ bytes: 100, what: "the work" }, failing)).rejects.toThrow("failed");
    expect(budget.taken).toBe(0);
  });
});
