/**
 * How far provisioning has come, for people who wait: what the processes report, and between two reports an estimate by
 * the clock, so that it moves while a process cannot say anything. It never goes back. In memory; other nodes than the
 * one that does the work hear of steps at once and of shares every few seconds.
 */
import assert from "node:assert/strict";
import { LRUCache } from "lru-cache";
import type { Clock } from "../../platform/clock.js";
import { progressOf, type ProvisioningPlace } from "./lifecycle.js";

/** What was reported of one step, and told of it. Times are those of the monotonic clock, in milliseconds. */
interface Step {
  readonly beganAt: number;
  reportedAt: number;
  /** Share of the step that is done, 0 to 1. */
  share: number;
  /** The greatest share that was told. */
  told: number;
}

/** One run of provisioning, from its beginning or from where it was left. */
interface Run {
  readonly beganAt: number;
  /** Progress at which it began, 0 to 1. */
  readonly from: number;
  /** The name of the step, where it was told. */
  phase?: string;
  step: Step;
}

/** Silence takes at most this part of what is left of a step. */
const SILENT_PART = 0.5;
/** A silence as long as what went before it, but at least this long, takes half of that. */
const SILENT_MS_MIN = 3_000;
/** Before so much is done, an estimate of the rest would be a guess. */
const DONE_MIN = 0.03;
const STEPS_TOLD = 10_000;
const RUNS_MAX = 10_000;

export class ProvisioningProgress {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** Of those that other nodes end, not every end is told. */
  readonly #runs = new LRUCache<string, Run>({ max: RUNS_MAX });

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Called when this process begins to work on a prover, or goes on. */
  begin(proverId: string, place: ProvisioningPlace): void {
    const now = this.#clock.monotonicMs();
    this.#runs.set(proverId, { beganAt: now, from: progressOf(place), step: newStep(now) });
  }

  /** Takes notice of the step of a run, which another process may do. */
  follow(proverId: string, phase: string, place: ProvisioningPlace): void {
    const run = this.#runs.get(proverId);
    if (run === undefined) this.begin(proverId, place);
    else if (run.phase !== undefined && run.phase !== phase) run.step = newStep(this.#clock.monotonicMs());
    const followed = this.#runs.get(proverId);
    if (followed !== undefined) followed.phase = phase;
  }

  /** Takes the share of the present step that is done, 0 to 1. */
  report(proverId: string, share: number): void {
    const run = this.#runs.get(proverId);
    if (run === undefined) return;
    run.step.share = Math.max(run.step.share, share);
    run.step.reportedAt = this.#clock.monotonicMs();
  }

  /** Called when a step has ended. */
  nextStep(proverId: string): void {
    const run = this.#runs.get(proverId);
    if (run !== undefined) run.step = newStep(this.#clock.monotonicMs());
  }

  /** Called when this process works on the prover no longer. */
  end(proverId: string): void {
    this.#runs.delete(proverId);
  }

  /**
   * Returns the progress, 0 to 1, and the milliseconds that are probably left, or null where nothing can be said:
   * before the work, and while something else than work is awaited.
   */
  of(proverId: string, place: ProvisioningPlace): { readonly progress: number; readonly remainingMs: number | null } {
    const run = this.#runs.get(proverId);
    if (run === undefined) return { progress: progressOf(place), remainingMs: null };
    const now = this.#clock.monotonicMs();
    const progress = Math.round(progressOf(place, toldShare(run.step, now)) * STEPS_TOLD) / STEPS_TOLD;
    const done = progress - run.from;
    if (done < DONE_MIN) return { progress, remainingMs: null };
    return { progress, remainingMs: Math.round(((now - run.beganAt) * (1 - progress)) / done) };
  }
}

function newStep(now: number): Step {
  return { beganAt: now, reportedAt: now, share: 0, told: 0 };
}

/** The reported share, and what silence adds to it. */
function toldShare(step: Step, now: number): number {
  const silence = now - step.reportedAt;
  assert(silence >= 0, "a monotonic clock does not go back");
  const usual = Math.max(SILENT_MS_MIN, step.reportedAt - step.beganAt);
  const added = (1 - step.share) * SILENT_PART * (silence / (silence + usual));
  step.told = Math.max(step.told, step.share + added);
  return step.told;
}
