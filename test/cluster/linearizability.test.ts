/** The checker of histories itself: what it must accept and what it must find. */
import { describe, expect, it } from "vitest";
import { isLinearizable, type RegisterOperation } from "../support/linearizability.js";
import { seededRandom } from "../support/seeded.js";

const write = (value: string, calledAt: number, answeredAt: number): RegisterOperation => ({
  ...{ kind: "write", value, calledAt, answeredAt },
});
const read = (value: string | undefined, calledAt: number, answeredAt: number): RegisterOperation => ({
  ...{ kind: "read", value, calledAt, answeredAt },
});

describe("a history of a register", () => {
  it.each([
    ["one after the other", [write("a", 0, 1), read("a", 2, 3), write("b", 4, 5), read("b", 6, 7)]],
    [
      "a read during a write, of the old value and of the new",
      [write("a", 0, 10), read(undefined, 1, 2), read("a", 3, 4)],
    ],
    ["an unknown write that happened late", [write("a", 0, Infinity), read(undefined, 5, 6), read("a", 7, 8)]],
    ["an unknown write that never happened", [write("a", 0, Infinity), read(undefined, 5, 6)]],
    [
      "two writes at once, in either order",
      [write("a", 0, 10), write("b", 0, 10), read("b", 11, 12), read("b", 13, 14)],
    ],
  ])("is accepted: %s", (_name, history) => {
    expect(isLinearizable(history, undefined)).toBe(true);
  });

  it.each([
    ["a stale read", [write("a", 0, 1), write("b", 2, 3), read("a", 4, 5)]],
    ["a lost write", [write("a", 0, 1), read(undefined, 2, 3)]],
    ["a value that comes back", [write("a", 0, 10), read("a", 1, 2), read(undefined, 3, 4)]],
    ["a write that happens twice", [write("a", 0, 1), write("b", 2, 3), read("b", 4, 5), read("a", 6, 7)]],
    ["an unknown write that is undone", [write("a", 0, Infinity), read("a", 1, 2), read(undefined, 3, 4)]],
  ])("is refused: %s", (_name, history) => {
    expect(isLinearizable(history, undefined)).toBe(false);
  });

  it("is accepted when it was made in an order, and refused when one of its reads is changed to a value that is gone", () => {
    const random = seededRandom();
    let value: string | undefined;
    const history = Array.from({ length: 400 }, (_, at): RegisterOperation => {
      const [calledAt, answeredAt] = [at - random.below(3), at + random.below(3)];
      if (at % 2 === 1) return read(value, calledAt, answeredAt);
      value = `v${String(at)}`;
      return write(value, calledAt, random.chance(0.05) ? Infinity : answeredAt);
    });
    expect(isLinearizable(history, undefined), `seed ${String(random.seed)}`).toBe(true);
    const changed = history.with(301, { ...(history[301] ?? read(undefined, 0, 0)), value: "v4" });
    expect(isLinearizable(changed, undefined), `seed ${String(random.seed)}`).toBe(false);
  });
});
