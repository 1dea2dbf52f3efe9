/**
 * The four-lane form of kernels in this process: which kernels take it, and whether they still do. One thread chooses
 * (choose-form.ts); the others are given what it chose, and all share one word that turns the form off.
 *
 * The form rests on an experimental part of V8. So only kernels take it whose results are checked before they are used
 * (`KernelOptions.isChecked`), and whoever finds that a result was wrong discards the form for the whole process.
 */

/** The module of a curve's sums and transforms, or of its pairing. */
export type WideKind = "kernels" | "pairing";

/** What a module's kernels have in four lanes. Structured clones can go to other threads. */
export interface WideForm {
  readonly curve: string;
  readonly kind: WideKind;
  readonly module: WebAssembly.Module;
  /** Kernels whose four-lane form answered right and was faster. */
  readonly kernels: readonly string[];
}

/** The forms of a process, as they go from thread to thread. */
export interface WideForms {
  readonly forms: readonly WideForm[];
  /** Word 0: 1 while the forms may be used. Word 1: how often they were discarded. */
  readonly state: SharedArrayBuffer;
}

/** The key of the forms among what new threads are given. */
export const WIDE_FORMS_KEY = "proofwright-wide-forms";

const WORD = { isOn: 0, discards: 1 } as const;

interface ThreadState {
  words: Int32Array | undefined;
  forms: readonly WideForm[];
  /** Depth of the calls that this thread runs on two lanes. */
  narrowCalls: number;
  /** Depth of the calls of this thread whose results are checked. */
  checkedCalls: number;
}

/** Of this thread: V8's flag and its code are the process's as well. */
const thread: ThreadState = { words: undefined, forms: [], narrowCalls: 0, checkedCalls: 0 };

/** Returns forms that are on. */
export function newWideForms(forms: readonly WideForm[]): WideForms {
  const state = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  new Int32Array(state)[WORD.isOn] = 1;
  return { forms, state };
}

/** Lets this thread's kernels take the forms, also those that are loaded already. Undefined: none any more. */
export function useWideForms(given: WideForms | undefined): void {
  thread.words = given === undefined ? undefined : new Int32Array(given.state);
  thread.forms = given?.forms ?? [];
}

/** Returns the form of a curve's module that this thread was given, whether or not it is on. */
export function wideFormOf(curve: string, kind: WideKind): WideForm | undefined {
  return thread.forms.find((form) => form.curve === curve && form.kind === kind);
}

/** Whether kernels of this thread may take their four-lane form now. */
export function isWideOn(): boolean {
  return thread.words !== undefined && thread.narrowCalls === 0 && Atomics.load(thread.words, WORD.isOn) === 1;
}

/** Runs something of this thread on two lanes. */
export function onTwoLanes<T>(run: () => T): T {
  thread.narrowCalls += 1;
  try {
    return run();
  } finally {
    thread.narrowCalls -= 1;
  }
}

/** Whether the pairing may take its four-lane form now, which it does only inside of `whileChecked`. */
export function isCheckedWide(): boolean {
  return thread.checkedCalls > 0 && isWideOn();
}

/** Runs something of this thread whose results are checked, or computed again on two lanes, before they are used. */
export function whileChecked<T>(run: () => T): T {
  thread.checkedCalls += 1;
  try {
    return run();
  } finally {
    thread.checkedCalls -= 1;
  }
}

/** Turns the forms off in all threads of the process, for good, after a result of theirs was found wrong. */
export function discardWideForms(): void {
  const { words } = thread;
  if (words === undefined) return;
  if (Atomics.compareExchange(words, WORD.isOn, 1, 0) === 1) Atomics.add(words, WORD.discards, 1);
}

/** Returns how often the forms were discarded in this process: 0 or 1. */
export function wideDiscards(): number {
  return thread.words === undefined ? 0 : Atomics.load(thread.words, WORD.discards);
}
