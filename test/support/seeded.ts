/** Randomness that repeats: print the seed, pass it as PROOFWRIGHT_TEST_SEED to see the same run again. */

export interface SeededRandom {
  readonly seed: number;
  /** A whole number from 0 to limit - 1. */
  below(limit: number): number;
  pick<T>(items: readonly T[]): T;
  chance(probability: number): boolean;
}

/** mulberry32, the well-known 32-bit generator; good enough to choose test cases, for nothing else. */
export function seededRandom(
  seed = Number(process.env["PROOFWRIGHT_TEST_SEED"] ?? Date.now() % 2 ** 31),
): SeededRandom {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return { seed, below, pick: (items) => items[below(items.length)]!, chance: (probability) => next() < probability };
}
