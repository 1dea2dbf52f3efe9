/** Takes what a request has spent, for its answer. */
import type { SpentKey } from "./pending-append.js";

/** Returns the function that is told, and what the answer then says. */
export function spentKeys(): {
  readonly take: (spent: readonly SpentKey[]) => void;
  readonly answer: () => { readonly spent?: SpentKey[] };
} {
  let taken: SpentKey[] | undefined;
  return {
    take: (spent) => {
      taken = [...spent];
    },
    answer: () => (taken === undefined ? {} : { spent: taken }),
  };
}
