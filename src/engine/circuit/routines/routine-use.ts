/**
 * Whether the witness programs of this process run on our field routines. One thread says so at the start; all share
 * one word that ends it, once a routine was found wrong.
 */

/** The key of the state among what new threads are given. */
export const ROUTINE_STATE_KEY = "proofwright-witness-routines";

/** One 32-bit word: 1 while our routines may be used. */
export type RoutineState = SharedArrayBuffer;

/** Of this thread; on, unless the process says otherwise. */
let word = new Int32Array(newRoutineState(true));

/** Returns the state of a process. */
export function newRoutineState(isOn: boolean): RoutineState {
  const state = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  new Int32Array(state)[0] = isOn ? 1 : 0;
  return state;
}

/** Lets this thread go by the state of its process. */
export function useRoutineState(state: RoutineState | undefined): void {
  word = new Int32Array(state ?? newRoutineState(true));
}

/** Whether our routines may be used now. */
export function areFasterRoutinesOn(): boolean {
  return Atomics.load(word, 0) === 1;
}

/** Has circom's own routines used from now on, in all threads of the process. */
export function discardFasterRoutines(): void {
  Atomics.store(word, 0, 0);
}
