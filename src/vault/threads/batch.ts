/** Work on many things at once, of which some may be refused while the others go on. */

/** Gives an answer, or throws what stands in its way. */
export type Answer<T> = () => T;

/**
 * Reads each item, does the work on all that could be read, and puts the answers where the items stood.
 * @param read throws for an item that is refused; its answer will throw the same
 * @param work answers in order, one answer for each that was read
 */
export function workTogether<Item, Read, T>(
  items: readonly Item[],
  read: (item: Item) => Read,
  work: (all: readonly Read[]) => readonly Answer<T>[],
): Answer<T>[] {
  const reads = items.map((item) => settled(() => read(item)));
  const answers = work(reads.flatMap((each) => ("value" in each ? [each.value] : []))).values();
  return reads.map((each) => ("value" in each ? nextOf(answers) : each.refusal));
}

/** Either what came of it, or a function that throws as it did. */
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

function nextOf<T>(answers: Iterator<Answer<T>>): Answer<T> {
  const next = answers.next();
  if (next.done === true) throw new Error("invariant broken: each item that was read has an answer");
  return next.value;
}
