/**
 * Several threads at one piece of work, through a few words of shared memory and nothing else. The work is a list of
 * steps, each a number of tasks that may run in any order once the steps before it are done. One thread leads and could
 * do it all alone; others join when they come and leave when they are told. It knows nothing of what the steps compute.
 *
 * Whoever starts the threads watches over their lives: it must call `endTeam` when the leader has settled, however it
 * did, and `failTeam` when a helper was lost, for nobody here can see a thread die. A leader whose team has failed
 * throws; what was computed is then void.
 *
 * Words of 32 bits: state || place || changes || active || leaving || reserved(3) || per step: taken, done.
 */

/** One step. All threads of a team must build the same list. */
export interface TeamStep {
  readonly name: string;
  /** Indices of the steps that must be done before. */
  readonly after: readonly number[];
  /** Asked only once the steps before are done; the same on every thread. */
  readonly count: () => number;
  readonly run: (task: number) => void;
}

/** A member is lost, or its task threw: nothing that the team computed may be used. */
export class TeamFailedError extends Error {
  override readonly name = "TeamFailedError";
}

export const TEAM_STEPS_MAX = 24;

const WORD = { state: 0, place: 1, changes: 2, active: 3, leaving: 4, steps: 8 } as const;
/** In the order in which one may replace another. */
const STATE = { forming: 0, open: 1, ended: 2, failed: 3, lost: 4 } as const;
/**
 * A missed wake-up costs this much; without one it is only how often a waiting thread looks whether it has been ended.
 */
const WAIT_MS = 50;

/** Memory for one team; may be posted to threads. */
export function createTeam(): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * (WORD.steps + 2 * TEAM_STEPS_MAX));
}

/**
 * Sends everybody away: the work is over, or its leader is. Cheap, and may be called at any time and more than once.
 */
export function endTeam(memory: SharedArrayBuffer): void {
  new ThreadTeam(memory).close(STATE.ended);
}

/**
 * Makes the leader throw: a helper is lost and may have left a task half done. Without effect once the team has
 * disbanded.
 */
export function failTeam(memory: SharedArrayBuffer): void {
  new ThreadTeam(memory).close(STATE.lost);
}

/**
 * Asks the helpers to go after their present task, because their threads are wanted elsewhere. The leader goes on by
 * itself.
 */
export function dismissHelpers(memory: SharedArrayBuffer): void {
  new ThreadTeam(memory).dismiss();
}

/** One thread's view of a team. */
export class ThreadTeam {
  readonly #words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  /**
   * Opens the team for helpers, who get the number `place`. False when it has been led or ended before; the work must
   * then go on alone.
   */
  open(place: number): boolean {
    Atomics.store(this.#words, WORD.place, place);
    if (Atomics.compareExchange(this.#words, WORD.state, STATE.forming, STATE.open) !== STATE.forming) return false;
    this.#announce();
    return true;
  }

  /**
   * Waits for the leader and joins it. Undefined when the team is over or full before that; else `leave` must follow.
   */
  join(): { readonly place: number } | undefined {
    for (;;) {
      const seen = this.#changes();
      const state = Atomics.load(this.#words, WORD.state);
      if (state > STATE.open || this.#isDismissed()) return undefined;
      if (state === STATE.open) break;
      this.#wait(seen);
    }
    Atomics.add(this.#words, WORD.active, 1);
    // The leader may have ended the team between the look and the count: only who is counted before that may touch its
    // memory.
    if (Atomics.load(this.#words, WORD.state) === STATE.open) return { place: Atomics.load(this.#words, WORD.place) };
    this.leave();
    return undefined;
  }

  /** Does tasks until the team is over or the helper is dismissed. A task that throws fails the team. */
  help(steps: readonly TeamStep[]): void {
    this.#work(steps, { isHelper: true });
  }

  leave(): void {
    Atomics.sub(this.#words, WORD.active, 1);
    this.#announce();
  }

  /**
   * Does tasks until all steps are done.
   * @param onTask told of each task that this thread did, in milliseconds
   * @throws TeamFailedError when a helper was lost or failed, and whatever a task throws
   */
  lead(steps: readonly TeamStep[], onTask?: (name: string, ms: number) => void): void {
    this.#work(steps, { isHelper: false, ...(onTask === undefined ? {} : { onTask }) });
  }

  /**
   * Ends the team and waits until the last helper is out of the leader's memory.
   * @returns false when a helper was lost inside it: that memory must not be used again
   */
  disband(): boolean {
    this.close(STATE.ended);
    for (;;) {
      const seen = this.#changes();
      if (Atomics.load(this.#words, WORD.active) === 0) return true;
      if (Atomics.load(this.#words, WORD.state) === STATE.lost) return false;
      this.#wait(seen);
    }
  }

  dismiss(): void {
    Atomics.store(this.#words, WORD.leaving, 1);
    this.#announce();
  }

  /** Moves to a closed state, unless it is in a worse one. */
  close(state: typeof STATE.ended | typeof STATE.failed | typeof STATE.lost): void {
    for (let now = Atomics.load(this.#words, WORD.state); now < state; now = Atomics.load(this.#words, WORD.state)) {
      if (Atomics.compareExchange(this.#words, WORD.state, now, state) === now) break;
    }
    this.#announce();
  }

  /** Takes a task whose turn it is, earlier steps first. */
  claim(steps: readonly TeamStep[]): { readonly step: number; readonly task: number } | undefined {
    for (const [step, { after, count }] of steps.entries()) {
      if (!after.every((before) => this.#isDone(steps, before))) continue;
      const total = count();
      const taken = WORD.steps + 2 * step;
      if (Atomics.load(this.#words, taken) >= total) continue;
      const task = Atomics.add(this.#words, taken, 1);
      if (task < total) return { step, task };
    }
    return undefined;
  }

  #work(
    steps: readonly TeamStep[],
    role: { readonly isHelper: boolean; readonly onTask?: (name: string, ms: number) => void },
  ): void {
    if (steps.length > TEAM_STEPS_MAX) throw new RangeError("a team has room for fewer steps");
    for (;;) {
      const seen = this.#changes();
      const state = Atomics.load(this.#words, WORD.state);
      if (state !== STATE.open) {
        if (role.isHelper) return;
        throw new TeamFailedError("a thread was lost under this work");
      }
      if (role.isHelper && this.#isDismissed()) return;
      const claimed = this.claim(steps);
      const step = claimed === undefined ? undefined : steps[claimed.step];
      if (claimed === undefined || step === undefined) {
        if (steps.every((_, i) => this.#isDone(steps, i))) return;
        this.#wait(seen);
        continue;
      }
      const startedMs = performance.now();
      try {
        step.run(claimed.task);
      } catch (error) {
        this.close(STATE.failed);
        throw error;
      }
      role.onTask?.(step.name, performance.now() - startedMs);
      Atomics.add(this.#words, WORD.steps + 2 * claimed.step + 1, 1);
      this.#announce();
    }
  }

  #isDone(steps: readonly TeamStep[], index: number): boolean {
    const step = steps[index];
    if (step === undefined) throw new RangeError("there is no such step");
    if (!step.after.every((before) => this.#isDone(steps, before))) return false;
    return Atomics.load(this.#words, WORD.steps + 2 * index + 1) === step.count();
  }

  #isDismissed(): boolean {
    return Atomics.load(this.#words, WORD.leaving) !== 0;
  }

  #changes(): number {
    return Atomics.load(this.#words, WORD.changes);
  }

  #announce(): void {
    Atomics.add(this.#words, WORD.changes, 1);
    Atomics.notify(this.#words, WORD.changes);
  }

  #wait(seen: number): void {
    Atomics.wait(this.#words, WORD.changes, seen, WAIT_MS);
  }
}
