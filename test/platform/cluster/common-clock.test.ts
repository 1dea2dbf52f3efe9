import { beforeEach, expect, it } from "vitest";
import { CommonClock } from "../../../src/platform/cluster/members/common-clock.js";

let wallMs: number;
let sinceStartMs: number;
let clock: CommonClock;
beforeEach(() => {
  wallMs = Date.UTC(2026, 0, 1);
  sinceStartMs = 0;
  clock = new CommonClock({ nowMs: () => wallMs, monotonicMs: () => sinceStartMs });
});

function pass(ms: number): void {
  wallMs += ms;
  sinceStartMs += ms;
}

it("is the machine's before anything is known, and corrected by the quickest answer of a minute", () => {
  expect(clock.nowMs()).toBe(wallMs);
  clock.observe({ aheadMs: 1_480, roundTripMs: 100 });
  expect(clock.nowMs()).toBe(wallMs + 1_480);
  clock.observe({ aheadMs: 1_500, roundTripMs: 4 });
  for (const aheadMs of [1_540, 1_470, 1_505]) {
    pass(2_000);
    clock.observe({ aheadMs, roundTripMs: 90 });
    expect(clock.aheadMs).toBe(1_500);
  }
  pass(58_000);
  clock.observe({ aheadMs: 1_520, roundTripMs: 60 });
  expect(clock.aheadMs).toBe(1_520);
  expect(clock.nowMs()).toBe(wallMs + 1_520);
});

it("follows at once when one of both clocks was set", () => {
  clock.observe({ aheadMs: 3, roundTripMs: 1 });
  wallMs += 3_600_000;
  clock.observe({ aheadMs: -3_599_990, roundTripMs: 40 });
  expect(clock.aheadMs).toBe(-3_599_990);
});

it("stands still rather than goes back by a correction, and goes back by more than seconds", () => {
  clock.observe({ aheadMs: 2_000, roundTripMs: 1 });
  const before = clock.nowMs();
  clock.observe({ aheadMs: 500, roundTripMs: 1 });
  expect(clock.nowMs()).toBe(before);
  pass(1_000);
  expect(clock.nowMs()).toBe(before);
  pass(1_000);
  expect(clock.nowMs()).toBe(before + 500);
  // Somebody has set the machine's clock, from an hour ahead.
  wallMs += 3_600_000;
  const wrong = clock.nowMs();
  wallMs -= 3_600_000;
  expect(clock.nowMs()).toBe(wrong - 3_600_000);
});

it("has the machine's durations", () => {
  clock.observe({ aheadMs: 2_000, roundTripMs: 1 });
  pass(7);
  expect(clock.monotonicMs()).toBe(7);
  expect(clock.machineMs()).toBe(wallMs);
});
