import { describe, expect, it } from "vitest";
import { TurnMemo } from "../../../src/platform/concurrency/per-tick-cache.js";

const turnEnds = async (): Promise<void> => {
  await new Promise((resolve) => setImmediate(resolve));
};

function counted(): { memo: TurnMemo<string>; worked: string[] } {
  const worked: string[] = [];
  const memo = new TurnMemo((text) => {
    worked.push(text);
    if (text === "bad") throw new Error("no text");
    return text.toUpperCase();
  });
  return { memo, worked };
}

describe("what is worked out once a turn", () => {
  it("is worked out for each text, once, as long as the turn lasts", async () => {
    const { memo, worked } = counted();
    expect(["a", "b", "a", "b"].map((text) => memo.of(text))).toEqual(["A", "B", "A", "B"]);
    await Promise.resolve();
    expect(memo.of("a")).toBe("A");
    expect(worked).toEqual(["a", "b"]);
  });

  it("is forgotten at the end of each turn", async () => {
    const { memo, worked } = counted();
    for (let turn = 1; turn <= 3; turn += 1) {
      expect([memo.of("a"), memo.of("a")]).toEqual(["A", "A"]);
      expect(worked).toHaveLength(turn);
      await turnEnds();
    }
  });

  it("is no failure", async () => {
    const { memo, worked } = counted();
    for (let tries = 0; tries < 2; tries += 1) expect(() => memo.of("bad")).toThrow("no text");
    expect(memo.of("a")).toBe("A");
    expect(worked).toEqual(["bad", "bad", "a"]);
    await turnEnds();
  });
});
