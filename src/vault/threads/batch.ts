/** Work on many items at once, where refused items do not stop the others. */
import { assert } from "../../platform/errors.js";

/** Returns the result or throws the error of one item. */
export type Deferred<T> = () => T;

/**
 * Reads each item, does the work on all items that could be read, and returns one result for each item, in order.
 * @param read throws for an item that is refused; the item's result throws the same error
 * @param work returns one result for each read item, in order
 */
export function runBatch<Item, Read, T>(
  items: readonly Item[],
  read: (item: Item) => Read,
  work: (all: readonly Read[]) => readonly Deferred<T>[],
): Deferred<T>[] {
  const reads = items.map((item) => settled(() => read(item)));
  const results = work(reads.flatMap((each) => ("value" in each ? [each.value] : []))).values();
  return reads.map((each) => ("value" in each ? nextOf(results) : each.refusal));
}

/** Returns the value, or a function that throws what `run` threw. */
function settled<T>(run: () => T): { readonly value: T } | { readonly refusal: () => never } {
  try {
    return { value: run() };
  } catch (error) {
    return {
      refusal: () => {
        throw error;
      },
    };
  }
}

function nextOf<T>(results: Iterator<Deferred<T>>): Deferred<T> {
  const next = results.next();
  assert(next.done !== true, "each item that was read has a result");
  return next.value;
}
