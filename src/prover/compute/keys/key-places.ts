/**
 * The workspaces of keys that have fewer than there are threads, as places that proofs and their helpers wait for: a
 * proof that found none would build a whole key of its own. What is counted is this process's own use of its memory.
 */
import type { OpenKey } from "../../../engine/protocol.js";
import { AppError } from "../../../platform/errors.js";
import { Lane } from "../../../platform/pool/lane.js";
import type { RunOptions } from "../../../platform/pool/thread-pool.js";

interface KeyPlacesOptions {
  readonly threads: number;
  /** Proofs that may wait for one key. */
  readonly queueLengthMax: number;
}

export class KeyPlaces {
  readonly #options: KeyPlacesOptions;
  /** By the id of the opening, while a proof has or waits for a place. */
  readonly #lanes = new Map<string, Lane>();

  constructor(options: KeyPlacesOptions) {
    this.#options = options;
  }

  /** Returns how many workspaces are free; as many as there are where each thread has one. */
  freeOf({ id, key }: OpenKey): number {
    const lane = this.#lanes.get(id);
    return key.workspaces.length - (lane?.figures.running ?? 0);
  }

  /**
   * Runs the work as soon as the key has a free workspace, in turns of the owners; at once where each thread has one.
   * @throws overloaded when too many wait for the key; deadline_exceeded or the signal's reason when that came first
   */
  async run<Value>(
    openKey: OpenKey | undefined,
    task: Pick<RunOptions, "owner" | "signal" | "deadlineMs" | "sinceMs">,
    work: () => Promise<Value>,
  ): Promise<Value> {
    if (openKey === undefined || openKey.key.workspaces.length >= this.#options.threads) return await work();
    const { id, key } = openKey;
    const { owner } = task;
    const lane =
      this.#lanes.get(id) ??
      new Lane({ name: "prove", places: key.workspaces.length, queueLengthMax: this.#options.queueLengthMax });
    this.#lanes.set(id, lane);
    const wait = waitOf(task, () => lane.retryAfterSec(owner));
    try {
      return await lane.run({ ...(owner === undefined ? {} : { owner }), signal: wait.signal }, async () => {
        wait.end();
        return await work();
      });
    } finally {
      wait.end();
      if (lane.figures.running + lane.waiting === 0) this.#lanes.delete(id);
    }
  }
}

/** Returns a signal that fires with the caller's, or when the deadline passes before `end` was called. */
export function waitOf(
  { signal, deadlineMs, sinceMs }: Pick<RunOptions, "signal" | "deadlineMs" | "sinceMs">,
  retryAfterSec: () => number,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const late = new AbortController();
  const usedMs = sinceMs === undefined ? 0 : performance.now() - sinceMs;
  const giveUp = (): void => {
    const message = `prove: the task did not end within ${String(deadlineMs)} ms`;
    late.abort(new AppError("deadline_exceeded", { message, retryAfterSec: retryAfterSec() }));
  };
  const timer = deadlineMs === undefined ? undefined : setTimeout(giveUp, Math.max(0, deadlineMs - usedMs));
  return {
    signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
    end: () => {
      clearTimeout(timer);
    },
  };
}
