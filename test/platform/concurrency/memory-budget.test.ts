/** Large work that waits for memory, or is refused. */
import { describe, expect, it } from "vitest";
import { MemoryBudget, type MemoryShare } from "../../../src/platform/concurrency/memory-budget.js";

const GIB = 1024 ** 3;

/** Takes memory and tells whether it has been given. */
function take(budget: MemoryBudget, bytes: number, signal?: AbortSignal) {
  const state: { share?: MemoryShare; error?: unknown } = {};
  const settled = budget.take(bytes, "the work", signal).then(
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
    await expect(budget.take(4 * GIB + 1, "the setup", undefined)).rejects.toMatchObject({
      code: "insufficient_memory",
      message: expect.stringMatching(/^the setup takes 4\.0 GiB .* has 4\.0 GiB/) as string,
    });
    expect((await budget.take(4 * GIB, "the setup")).bytes).toBe(4 * GIB);
  });

  it("is given in turn, never more than there is", async () => {
    const budget = new MemoryBudget({ bytes: 100 });
    const works = [60, 60, 40, 30].map((bytes) => take(budget, bytes));
    await turn();
    // The third would fit beside the first, but the second came before it.
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

  it("lets small work pass larger work that waits", async () => {
    const budget = new MemoryBudget({ bytes: 320 });
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
    const budget = new MemoryBudget({ bytes: 100 });
    const ending = new AbortController();
    const [, second, third] = [take(budget, 50), take(budget, 60, ending.signal), take(budget, 50)];
    ending.abort(new Error("gone"));
    await Promise.all([second.settled, third.settled]);
    expect(second.state.error).toEqual(new Error("gone"));
    expect(budget.taken).toBe(100);
    await expect(budget.take(1, "the work", AbortSignal.abort(new Error("late")))).rejects.toThrow("late");
  });

  it("is given back in part, and asked for where it is only kept", async () => {
    const budget = new MemoryBudget({ bytes: 100 });
    const kept = await budget.take(80, "a key");
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
