import { describe, expect, it } from "vitest";
import { Signal } from "../../../src/platform/concurrency/signal.js";

describe("a signal", () => {
  it("calls its listeners in order, each after the one before has settled", async () => {
    const calls: string[] = [];
    const signal = new Signal<string>();
    signal.on(async (word) => {
      await Promise.resolve();
      calls.push(`first ${word}`);
    });
    signal.on((word) => {
      calls.push(`second ${word}`);
    });
    await signal.emit("gone");
    expect(calls).toEqual(["first gone", "second gone"]);
  });

  it("rejects with the first failure and calls no further listener", async () => {
    const calls: string[] = [];
    const signal = new Signal();
    signal.on(() => Promise.reject(new Error("first")));
    signal.on(() => {
      calls.push("second");
    });
    await expect(signal.emit()).rejects.toThrow("first");
    expect(calls).toEqual([]);
  });
});
