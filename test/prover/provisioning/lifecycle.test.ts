import { describe, expect, it } from "vitest";
import {
  PROVER_STATUSES,
  isFinished,
  mayFollow,
  progressOf,
  stepOf,
} from "../../../src/prover/provisioning/lifecycle.js";
import type { ProverStatus, ProvisioningPlace } from "../../../src/prover/provisioning/lifecycle.js";

const KEYS = ["missing", "unchecked", "checked"] as const;
const ALLOWED: readonly (readonly [ProverStatus, ProverStatus])[] = [
  ["init", "compiling"],
  ["init", "compiled"],
  ["init", "failed"],
  ["compiling", "compiled"],
  ["compiling", "failed"],
  ["compiled", "pending_setup"],
  ["compiled", "deploying_artifacts"],
  ["compiled", "provisioned"],
  ["compiled", "failed"],
  ["pending_setup", "running_setup"],
  ["pending_setup", "failed"],
  ["running_setup", "deploying_artifacts"],
  ["running_setup", "provisioned"],
  ["running_setup", "failed"],
  ["deploying_artifacts", "provisioned"],
  ["deploying_artifacts", "failed"],
];

describe("prover lifecycle", () => {
  it("allows exactly the listed transitions", () => {
    const found = PROVER_STATUSES.flatMap((from) =>
      PROVER_STATUSES.filter((to) => mayFollow(from, to)).map((to) => `${from} -> ${to}`),
    );
    expect(found.sort()).toEqual(ALLOWED.map(([from, to]) => `${from} -> ${to}`).sort());
  });

  it("never goes back: no status can be reached from one that follows it", () => {
    for (const start of PROVER_STATUSES) {
      const reached = new Set<ProverStatus>();
      const open: ProverStatus[] = [start];
      for (let status = open.pop(); status !== undefined; status = open.pop()) {
        for (const next of PROVER_STATUSES)
          if (mayFollow(status, next) && !reached.has(next)) {
            reached.add(next);
            open.push(next);
          }
      }
      expect(reached.has(start), start).toBe(false);
    }
  });

  it("finishes in provisioned and failed only", () => {
    expect(PROVER_STATUSES.filter(isFinished)).toEqual(["provisioned", "failed"]);
  });

  it("gives every step words, and progress that only grows", () => {
    for (const [from, to] of ALLOWED)
      expect(progressOf({ status: to }), `${from} -> ${to}`).toBeGreaterThanOrEqual(progressOf({ status: from }, 1));
    for (const setup of ["own", "universal", "none"] as const) {
      const status = setup === "own" ? "running_setup" : "compiled";
      const places: ProvisioningPlace[] = [
        { status: "init", setup },
        { status: "compiling", setup },
        ...KEYS.map((keys) => ({ status, setup, keys }) as const),
        { status: "deploying_artifacts", setup },
        { status: "provisioned", setup },
      ];
      const ends = places.flatMap((place) => [progressOf(place), progressOf(place, 1)]);
      expect(ends, setup).toEqual(ends.toSorted((a, b) => a - b));
    }
    expect([progressOf({ status: "init" }), progressOf({ status: "provisioned" })]).toEqual([0, 1]);
    expect(progressOf({ status: "running_setup" }, 7)).toBe(progressOf({ status: "running_setup" }, 1));
    for (const status of PROVER_STATUSES) expect(stepOf({ status })).not.toBe("");
  });
});
