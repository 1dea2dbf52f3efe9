/**
 * The wall clock that the nodes of a cluster have in common: this machine's, corrected by how far the database's is
 * ahead. Each question to the database tells that within half of its way there and back; the quickest of a minute tells
 * it best. Nothing is decided by it that only one node may do.
 */
import type { Clock } from "../../clock.js";

/** What one question told. */
export interface ClockSample {
  /** How far the database's clock is ahead of this machine's, if both ways took as long, in milliseconds. */
  readonly aheadMs: number;
  /** How long the question and its answer took. */
  readonly roundTripMs: number;
}

interface KeptSample extends ClockSample {
  readonly atMs: number;
}

const KEPT_MS = 60_000;
/** The time stands still for at most so long where a correction would set it back; beyond that it goes back. */
const STANDING_MS_MAX = 5_000;

export class CommonClock implements Clock {
  readonly #machine: Clock;
  #samples: readonly KeptSample[] = [];
  #aheadMs = 0;
  #toldMs = -Infinity;

  constructor(machine: Clock) {
    this.#machine = machine;
  }

  /** How far the database's clock is ahead of this machine's, in milliseconds, which is the correction. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** See Clock. Does not go back by corrections after the first. */
  nowMs(): number {
    if (this.#samples.length === 0) return this.#machine.nowMs();
    const nowMs = Math.round(this.#machine.nowMs() + this.#aheadMs);
    const isBack = nowMs < this.#toldMs && nowMs > this.#toldMs - STANDING_MS_MAX;
    if (!isBack) this.#toldMs = nowMs;
    return this.#toldMs;
  }

  /** See Clock. */
  monotonicMs(): number {
    return this.#machine.monotonicMs();
  }

  /** This machine's own wall clock, with which samples are measured. */
  machineMs(): number {
    return this.#machine.nowMs();
  }

  /** Takes in what a question to the database told. */
  observe(sample: ClockSample): void {
    const atMs = this.#machine.monotonicMs();
    // A sample that cannot be true together with this one is of before one of both clocks was set.
    const kept = this.#samples.filter((other) => atMs - other.atMs < KEPT_MS && agree(other, sample));
    this.#samples = [...kept, { ...sample, atMs }];
    const best = this.#samples.reduce((a, b) => (b.roundTripMs < a.roundTripMs ? b : a));
    this.#aheadMs = best.aheadMs;
  }
}

/** Clocks drift by far less than this in a minute. */
const DRIFT_MS_MAX = 10;

function agree(a: ClockSample, b: ClockSample): boolean {
  return Math.abs(a.aheadMs - b.aheadMs) <= (a.roundTripMs + b.roundTripMs) / 2 + DRIFT_MS_MAX;
}
