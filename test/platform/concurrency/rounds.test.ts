import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Rounds } from "../../../src/platform/concurrency/rounds.js";

describe("Rounds", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("work at once and in each interval, also after a round that failed, until they are stopped", async () => {
    let done = 0;
    const rounds = new Rounds(1_000, async () => {
      done += 1;
      await Promise.resolve();
      if (done === 2) throw new Error("the store is closing");
    });
    await rounds.start();
    expect(done).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(done).toBe(3);
    rounds.stop();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(done).toBe(3);
  });

  it("do not begin when the first one fails", async () => {
    let done = 0;
    const rounds = new Rounds(1_000, async () => {
      done += 1;
      await Promise.reject(new Error("no store"));
    });
    await expect(rounds.start()).rejects.toThrow("no store");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(done).toBe(1);
  });
});
