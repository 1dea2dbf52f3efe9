/** Progress for people who wait: it moves, never goes back, and says what is probably left. */
import { beforeEach, describe, expect, it } from "vitest";
import { ProvisioningProgress } from "../../../src/prover/provisioning/provisioning-progress.js";
import type { ProvisioningPlace } from "../../../src/prover/provisioning/lifecycle.js";

const ID = "prover";
const COMPILING: ProvisioningPlace = { status: "compiling" };
const MAKING_KEYS: ProvisioningPlace = { status: "running_setup", keys: "missing" };
const CHECKING_KEYS: ProvisioningPlace = { status: "running_setup", keys: "unchecked" };

let nowMs: number;
let progress: ProvisioningProgress;
beforeEach(() => {
  nowMs = 1_000;
  progress = new ProvisioningProgress({ monotonicMs: () => nowMs });
});

/** What is told at each of so many steps of time. */
function toldEvery(stepMs: number, steps: number, place: ProvisioningPlace): number[] {
  return Array.from({ length: steps }, () => {
    nowMs += stepMs;
    return progress.of(ID, place).progress;
  });
}

describe("progress of provisioning", () => {
  it("moves while a process is silent, and stays within its step", () => {
    progress.begin(ID, COMPILING);
    const told = [progress.of(ID, COMPILING).progress, ...toldEvery(500, 240, COMPILING)];
    for (let i = 1; i <= 60; i += 1) expect(told[i]).toBeGreaterThan(told[i - 1]!);
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    progress.nextStep(ID);
    expect(progress.of(ID, MAKING_KEYS).progress).toBeGreaterThan(told.at(-1)!);
  });

  it("never goes back when a report is behind the estimate, in a report out of order, or from step to step", () => {
    const told: number[] = [];
    progress.begin(ID, COMPILING);
    told.push(...toldEvery(10_000, 10, COMPILING));
    progress.report(ID, 0.45);
    told.push(...toldEvery(100, 10, COMPILING));
    progress.report(ID, 0.9);
    progress.report(ID, 0.8);
    told.push(...toldEvery(100, 10, COMPILING));
    for (const place of [MAKING_KEYS, CHECKING_KEYS]) {
      progress.nextStep(ID);
      told.push(progress.of(ID, place).progress);
      progress.report(ID, 1);
      told.push(...toldEvery(100, 3, place));
    }
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    expect(told.at(-1)).toBeLessThan(1);
  });

  it("estimates the time that is left from the time that the work took so far", () => {
    progress.begin(ID, COMPILING);
    expect(progress.of(ID, COMPILING).remainingMs).toBeNull();
    nowMs += 6_000;
    progress.nextStep(ID);
    const { progress: done, remainingMs } = progress.of(ID, MAKING_KEYS);
    expect(remainingMs).toBe(Math.round((6_000 * (1 - done)) / (done - 0.02)));
  });

  it("does not count what was done before this process went on with it", () => {
    progress.begin(ID, CHECKING_KEYS);
    nowMs += 1_000;
    progress.report(ID, 1);
    progress.nextStep(ID);
    const { progress: done, remainingMs } = progress.of(ID, { status: "running_setup", keys: "checked" });
    expect(done).toBeGreaterThan(0.96);
    expect(remainingMs).toBeLessThan(1_000);
  });

  it("follows a run of another process by its steps and the shares that are told", () => {
    progress.follow(ID, "compile", COMPILING);
    progress.report(ID, 0.5);
    const half = progress.of(ID, COMPILING).progress;
    expect(half).toBeGreaterThan(0);
    progress.follow(ID, "compile", COMPILING);
    expect(progress.of(ID, COMPILING).progress).toBeGreaterThanOrEqual(half);
    nowMs += 10_000;
    progress.follow(ID, "setup", MAKING_KEYS);
    const { progress: next, remainingMs } = progress.of(ID, MAKING_KEYS);
    expect(next).toBeGreaterThan(half);
    expect(remainingMs).toBeGreaterThan(0);
    progress.report(ID, 0.9);
    expect(progress.of(ID, MAKING_KEYS).progress).toBeGreaterThan(next);
  });

  it("says where a prover stands that this process does not work on, and nothing of the time", () => {
    expect(progress.of(ID, MAKING_KEYS)).toEqual({ progress: 0.62, remainingMs: null });
    progress.begin(ID, COMPILING);
    nowMs += 60_000;
    progress.end(ID);
    progress.report(ID, 0.7);
    expect(progress.of(ID, { status: "compiled" })).toEqual({ progress: 0.6, remainingMs: null });
  });
});
