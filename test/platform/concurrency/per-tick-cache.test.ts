import { describe, expect, it } from "vitest";
import { PerTickCache } from "../../../src/platform/concurrency/per-tick-cache.js";

const turnEnds = async (): Promise<void> => {
  await new Promise((resolve) => setImmediate(resolve));
};

function counted(): { cache: PerTickCache<string>; worked: string[] } {
  const worked: string[] = [];
  const cache = new PerTickCache((text) => {
    worked.push(text);
    if (text === "bad") throw new Error("no text");
    return text.toUpperCase();
  });
  return { cache, worked };
}

describe("a cache for one turn of the event loop", () => {
  it("computes each text once while the turn lasts", async () => {
    const { cache, worked } = counted();
    expect(["a", "b", "a", "b"].map((text) => cache.get(text))).toEqual(["A", "B", "A", "B"]);
    await Promise.resolve();
    expect(cache.get("a")).toBe("A");
    expect(worked).toEqual(["a", "b"]);
  });

  it("is empty after each turn", async () => {
    const { cache, worked } = counted();
    for (let turn = 1; turn <= 3; turn += 1) {
      expect([cache.get("a"), cache.get("a")]).toEqual(["A", "A"]);
      expect(worked).toHaveLength(turn);
      await turnEnds();
    }
  });

  it("does not keep a failure", async () => {
    const { cache, worked } = counted();
    for (let tries = 0; tries < 2; tries += 1) expect(() => cache.get("bad")).toThrow("no text");
    expect(cache.get("a")).toBe("A");
    expect(worked).toEqual(["bad", "bad", "a"]);
    await turnEnds();
  });
});
