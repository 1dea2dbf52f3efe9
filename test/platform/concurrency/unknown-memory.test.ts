/** Processes whose memory nobody can tell: what they take of the server's, and whose turn it is. */
import { describe, expect, it } from "vitest";
import { MemoryBudget } from "../../../src/platform/concurrency/memory-budget.js";
import { runWithUnknownMemory } from "../../../src/platform/concurrency/unknown-memory.js";

const MIB = 1024 ** 2;
const what = "the compilation of this circuit";

/** Runs that wait until the test lets them go. */
class Held {
  readonly begun: { readonly owner: string; readonly memoryMb: number; end: (isShort: boolean) => void }[] = [];
  readonly #memory: MemoryBudget;

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  async run(owner: string, memoryMb: number, signal?: AbortSignal): Promise<boolean> {
    return await runWithUnknownMemory(
      this.#memory,
      { owner, what, memoryMb, signal },
      async (given) =>
        await new Promise<boolean>((end) => {
          this.begun.push({ owner, memoryMb: given, end });
        }),
      (isShort) => isShort,
    );
  }

  get running(): string[] {
    return this.begun.map(({ owner, memoryMb }) => `${owner} ${String(memoryMb)}`);
  }
}

/** Lets promises that are settled be heard. */
const settle = async (): Promise<void> => {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
};

describe("a process of unknown memory", () => {
  it("takes little at first, all that it may have when that was short, and gives it back", async () => {
    const memory = new MemoryBudget({ bytes: 4096 * MIB });
    const held = new Held(memory);
    const ended = held.run("ada", 2048);
    await settle();
    expect(memory.taken).toBe(768 * MIB);
    held.begun[0]!.end(true);
    await settle();
    expect(memory.taken).toBe(2048 * MIB);
    held.begun[1]!.end(true);
    expect(await ended).toBe(true);
    expect(held.running).toEqual(["ada 768", "ada 2048"]);
    expect(memory.taken).toBe(0);
  });

  it.each([
    [768, 4096, 768],
    [769, 4096, 769],
    [128, 4096, 128],
    [2048, 512, 512],
  ])("of %i MiB at most, on a server with %i MiB, ends with %i MiB", async (memoryMb, serverMb, lastMb) => {
    const memory = new MemoryBudget({ bytes: serverMb * MIB });
    const given: number[] = [];
    const run = async (mb: number): Promise<boolean> => {
      given.push(mb);
      return await Promise.resolve(true);
    };
    await runWithUnknownMemory(memory, { what, memoryMb }, run, (isShort) => isShort);
    expect(given).toEqual(lastMb > 768 ? [768, lastMb] : [lastMb]);
  });

  it("waits while others have the memory, and owners take turns", async () => {
    const memory = new MemoryBudget({ bytes: 800 * MIB });
    const held = new Held(memory);
    const all = [held.run("ada", 768), held.run("ada", 768), held.run("ada", 768), held.run("bob", 768)];
    for (let i = 0; i < all.length; i += 1) {
      await settle();
      expect(held.begun).toHaveLength(i + 1);
      held.begun[i]!.end(false);
    }
    await Promise.all(all);
    expect(held.running.findIndex((each) => each.startsWith("bob"))).toBeLessThan(3);
  });

  it("gives its memory back when it throws, and leaves the line with its signal", async () => {
    const memory = new MemoryBudget({ bytes: 800 * MIB });
    const thrown = runWithUnknownMemory(
      memory,
      { what, memoryMb: 768 },
      async () => await Promise.reject(new Error("no process")),
      () => false,
    );
    await expect(thrown).rejects.toThrow("no process");
    expect(memory.taken).toBe(0);
    const held = new Held(memory);
    const first = held.run("ada", 768);
    await settle();
    const stopped = new AbortController();
    const second = held.run("bob", 768, stopped.signal);
    stopped.abort(new Error("the server stops"));
    await expect(second).rejects.toThrow("the server stops");
    held.begun[0]!.end(false);
    expect(await first).toBe(false);
    expect(held.running).toEqual(["ada 768"]);
  });
});
