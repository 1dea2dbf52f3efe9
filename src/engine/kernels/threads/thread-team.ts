/**
 * Spreads one piece of work, such as a proof, over several threads through a few words of shared memory. The work is a
 * list of steps, each a number of tasks that may run in any order once the steps before it are done. One thread leads
 * and could do everything alone; helpers may join at any time and leave when they are dismissed. What the steps compute
 * is unknown here.
 *
 * A thread cannot see another one die. So the code that starts the threads must call `endTeam` once the leader has
 * returned or thrown, and `failTeam` when a helper is lost. The leader of a failed team throws, and what was computed
 * must not be used.
 *
 * Words of 32 bits: state || place || changes || active || leaving || reserved(3) || per step: taken, done.
 */

/** One step of the work. All threads of a team must build the same list of steps. */
export interface TeamStep {
  readonly name: string;
  /** Indices of the steps that must be done before. */
  readonly after: readonly number[];
  /** Returns the number of tasks, the same on every thread; called only once the steps before are done. */
  readonly count: () => number;
  /** Runs one task, 0 to count() - 1, to its end. */
  readonly run: (task: number) => void;
}

/** A member was lost, or its task threw: nothing that the team computed may be used. */
export class TeamFailedError extends Error {
  override readonly name = "TeamFailedError";
}

/** Steps that the memory of a team has room for. */
export const TEAM_STEPS_MAX = 32;

const WORD = { state: 0, place: 1, changes: 2, active: 3, leaving: 4, steps: 8 } as const;
/** A state may only be replaced by a later one of this list. */
const STATE = { forming: 0, open: 1, ended: 2, failed: 3, lost: 4 } as const;
/**
 * How long a thread waits at most before it looks at the state again. No wake-up should be missed; this bounds the cost
 * if one is.
 */
const WAIT_MS = 50;

/** Returns memory for one team, which may be posted to threads. */
export function createTeam(): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * (WORD.steps + 2 * TEAM_STEPS_MAX));
}

/**
 * Ends the team: its helpers leave after their present task. Call it when the leader has returned, thrown or died; it
 * is cheap and may be called at any time and more than once.
 */
export function endTeam(memory: SharedArrayBuffer): void {
  new ThreadTeam(memory).close(STATE.ended);
}

/**
 * Makes the leader throw, because a helper is lost and may have left a task half done. It has no effect once the team
 * has disbanded.
 */
export function failTeam(memory: SharedArrayBuffer): void {
  new ThreadTeam(memory).close(STATE.lost);
}

/**
 * Asks the helpers to leave after their present task, because other work needs their threads. The leader goes on alone.
 */
export function dismissHelpers(memory: SharedArrayBuffer): void {
  new ThreadTeam(memory).dismiss();
}

/** A thread's view of a team: the leader calls open, lead and disband, a helper join, help and leave. */
export class ThreadTeam {
  readonly #words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  /**
   * Opens the team for helpers, to whom `join` returns the number `place`.
   * @returns false when the team has been led or ended before; the leader then needs another team.
   */
  open(place: number): boolean {
    Atomics.store(this.#words, WORD.place, place);
    if (Atomics.compareExchange(this.#words, WORD.state, STATE.forming, STATE.open) !== STATE.forming) return false;
    this.#announce();
    return true;
  }

  /**
   * Waits for the leader and joins it.
   * @returns undefined when the team is over or its helpers are dismissed; after any other result `leave` must follow.
   */
  join(): { readonly place: number } | undefined {
    for (;;) {
      const changes = this.#changes();
      const state = Atomics.load(this.#words, WORD.state);
      if (state > STATE.open || this.#isDismissed()) return undefined;
      if (state === STATE.open) break;
      this.#wait(changes);
    }
    Atomics.add(this.#words, WORD.active, 1);
    // The leader may have ended the team between the load and the increment. Only a helper that was counted before may
    // touch the leader's memory.
    if (Atomics.load(this.#words, WORD.state) === STATE.open) return { place: Atomics.load(this.#words, WORD.place) };
    this.leave();
    return undefined;
  }

  /** Does tasks until the team is over or the helper is dismissed. A task that throws fails the team. */
  help(steps: readonly TeamStep[]): void {
    this.#work(steps, { isHelper: true });
  }

  /** Tells the leader that this helper no longer touches its memory. */
  leave(): void {
    Atomics.sub(this.#words, WORD.active, 1);
    this.#announce();
  }

  /**
   * Does tasks until all steps are done.
   * @param onTask called after each task of this thread, with the step's name and the task's time in milliseconds
   * @throws TeamFailedError when a helper was lost or failed, and any error that a task throws
   */
  lead(steps: readonly TeamStep[], onTask?: (name: string, ms: number) => void): void {
    this.#work(steps, { isHelper: false, ...(onTask === undefined ? {} : { onTask }) });
  }

  /**
   * Ends the team and waits until the last helper has left the leader's memory.
   * @returns false when a helper was lost inside it: that memory must not be used again
   */
  disband(): boolean {
    this.close(STATE.ended);
    for (;;) {
      const changes = this.#changes();
      if (Atomics.load(this.#words, WORD.active) === 0) return true;
      if (Atomics.load(this.#words, WORD.state) === STATE.lost) return false;
      this.#wait(changes);
    }
  }

  /** Asks the helpers to leave after their present task. */
  dismiss(): void {
    Atomics.store(this.#words, WORD.leaving, 1);
    this.#announce();
  }

  /** Moves to a closed state, unless the team is in that state or a later one. */
  close(state: typeof STATE.ended | typeof STATE.failed | typeof STATE.lost): void {
    for (let now = Atomics.load(this.#words, WORD.state); now < state; now = Atomics.load(this.#words, WORD.state)) {
      if (Atomics.compareExchange(this.#words, WORD.state, now, state) === now) break;
    }
    this.#announce();
  }

  /** Takes a task of a step that may run, of earlier steps first; undefined when there is none now. */
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
      const changes = this.#changes();
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
        this.#wait(changes);
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

  #wait(changes: number): void {
    Atomics.wait(this.#words, WORD.changes, changes, WAIT_MS);
  }
}
