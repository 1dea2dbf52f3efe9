/**
 * Results of the four-lane form where some of them show that they are right, and all others are computed again on two
 * lanes: as verification does, which nobody checks after it.
 */
import { discardWideForms, isWideOn, onTwoLanes, whileChecked } from "./wide-form.js";

interface Computation<Item, Result> {
  /** Whether what computes has a four-lane form: else nothing is computed twice. */
  readonly isWide: boolean;
  /** Returns the result of each item; the items are all that are given, or some of them. */
  readonly compute: (items: readonly Item[]) => Result[];
  /** Whether no wrong computation gives such a result, but by chance. */
  readonly isSure: (result: Result) => boolean;
  readonly areSame: (first: Result, second: Result) => boolean;
}

/**
 * Computes the result of each item. What two lanes show to be wrong on four ends that form for the process; a caller of
 * unsure results has them computed twice, and no more.
 */
export function computeSurely<Item, Result>(
  items: readonly Item[],
  { isWide, compute, isSure, areSame }: Computation<Item, Result>,
): Result[] {
  if (!isWide || !isWideOn()) return compute(items);
  const first = attempt(() => whileChecked(() => compute(items)));
  const unsure = [...items.keys()].filter((i) => {
    const result = first?.[i];
    return result === undefined || !isSure(result);
  });
  if (first !== undefined && unsure.length === 0) return first;
  const second = onTwoLanes(() => compute(unsure.map((i) => items[i] as Item)));
  const results = [...(first ?? [])];
  for (const [k, i] of unsure.entries()) {
    const [before, now] = [first?.[i], second[k]];
    if (now === undefined) throw new Error("invariant broken: every item has a result");
    if (before === undefined || !areSame(before, now)) discardWideForms();
    results[i] = now;
  }
  return results;
}

/** A trap, or what wrong numbers lead to, is no result. */
function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
