/** Work on the four-lane form whose result is checked as a whole, as a key is by its gates. */
import { discardWideForms, isWideOn } from "./wide-form.js";

/** A result, and whether it is the second: the first was wrong, and four lanes alone can have made it so. */
interface CheckedResult<T> {
  readonly result: T;
  readonly isWideWrong: boolean;
}

/**
 * Runs work, and once more on two lanes when it failed with the four-lane form on, which is discarded before.
 * @param work checks its result; may spread over threads that were given this thread's forms
 * @param hasFailed whether a result is that of a check that failed
 */
export async function runChecked<T>(
  work: () => Promise<T>,
  hasFailed: (result: T) => boolean,
): Promise<CheckedResult<T>> {
  try {
    const result = await work();
    if (!hasFailed(result) || !isWideOn()) return { result, isWideWrong: false };
  } catch (error) {
    if (!isWideOn()) throw error;
  }
  discardWideForms();
  const result = await work();
  return { result, isWideWrong: !hasFailed(result) };
}
