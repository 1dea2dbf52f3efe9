/** The geometry of the plots. */
import { describe, expect, it } from "vitest";
import { niceTop, plotOf, quantile } from "../../src/console/browser/queue/plot.js";

const FRAME = { width: 100, height: 50, fromMs: 1000, toMs: 2000, topMin: 1 };

describe("a plot", () => {
  it("puts times from left to right, and values from the bottom up", () => {
    const plot = plotOf(
      [
        { atMs: 1000, value: 0 },
        { atMs: 1500, value: 5 },
        { atMs: 2000, value: 10 },
      ],
      FRAME,
    );
    expect(plot.line).toBe("M0.0 50.0L50.0 25.0L100.0 0.0");
    expect(plot.area).toBe("M0.0 50.0L50.0 25.0L100.0 0.0L100.0 50L0.0 50Z");
    expect(plot.marks).toEqual([
      { value: 0, y: 50 },
      { value: 5, y: 25 },
      { value: 10, y: 0 },
    ]);
  });

  it("leaves out what lies outside of its times, and is empty without samples", () => {
    expect(
      plotOf(
        [
          { atMs: 999, value: 9 },
          { atMs: 2001, value: 9 },
        ],
        FRAME,
      ),
    ).toMatchObject({ line: "", area: "", top: 1 });
    expect(plotOf([], FRAME)).toMatchObject({ line: "", area: "", top: 1 });
  });

  it.each([
    [1, 1],
    [1.01, 2],
    [2, 2],
    [3, 5],
    [6, 10],
    [0.3, 0.5],
    [1234, 2000],
  ])("ends above %d at %d", (value, top) => {
    expect(niceTop(value)).toBe(top);
  });
});

describe("a quantile", () => {
  it("is the value of the nearest rank, whatever the order", () => {
    const values = [5, 1, 4, 2, 3];
    expect([0, 0.5, 0.95, 1].map((share) => quantile(values, share))).toEqual([1, 3, 5, 5]);
    expect(values).toEqual([5, 1, 4, 2, 3]);
    expect(quantile([], 0.5)).toBeUndefined();
  });
});
