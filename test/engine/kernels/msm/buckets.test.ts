/** Scalars to signed digits and digits to buckets, for every width of a window. */
import { describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../../../../src/engine/kernels/kernels.js";
import { WINDOW_BITS_MAX, recodeScratchBytes } from "../../../../src/engine/kernels/msm/buckets.js";
import { cheapestPlan, windowPlans } from "../../../../src/engine/kernels/msm/window-plan.js";
import { Arena } from "../../../../src/engine/kernels/wasm/arena.js";
import { bigBelow, modulo, writeScalars } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";

const random = seededRandom();
const PAGES = 64;

describe.each([BN254, BLS12_381])(`digits of scalars of $name, seed ${String(random.seed)}`, (curve) => {
  const { r } = curve;
  const kernels = loadKernels({ curve, pages: PAGES });
  const plans = windowPlans(r);
  // Ends of the range and of its halves, and digits that are all the lowest, all the highest, or on either side of 0.
  const scalars = [
    ...[0n, 1n, 2n, r - 1n, r - 2n, r / 2n, r / 2n + 1n, r / 2n - 1n],
    ...plans
      .flatMap(({ offset }) => [offset, offset - 1n, offset + 1n, r - offset, 2n * offset])
      .map((x) => modulo(x, r)),
    ...Array.from({ length: 100 }, () => bigBelow(random, r)),
  ];

  it.each(plans)("are signed, within their window and add up, $windowBits bits", (plan) => {
    const { windowBits, windows, offset } = plan;
    const arena = new Arena(KERNEL_RESERVED_BYTES, PAGES * 65_536);
    const count = scalars.length;
    const [kept, sources, items] = [arena.take(4 * count), arena.take(4 * count), arena.take(4 * count)];
    const [digitsAt, offsetAt] = [arena.take(2 * count * windows), arena.take(kernels.fr.bytes + 8)];
    const scratch = arena.take(recodeScratchBytes(kernels.fr.bytes));
    kernels.writeInteger(offsetAt, plan.offset, kernels.fr.bytes + 8);
    kernels.words(kept, count).set(scalars.map((_, i) => i));
    kernels.words(sources, count).set(scalars.map((_, i) => 64 * (i + 1) + (i & 1)));
    const scalarsAt = writeScalars({ kernels, arena }, scalars);
    kernels.call("recode", scalarsAt, kept, count, digitsAt, windowBits, windows, offsetAt, scratch);
    const digits = new Int16Array(kernels.memory.buffer, digitsAt, count * windows);
    const half = 2 ** (windowBits - 1);
    for (const [i, scalar] of scalars.entries()) {
      const own = Array.from({ length: windows }, (_, w) => digits[w * count + i] ?? 0);
      expect(Math.min(...own)).toBeGreaterThanOrEqual(-half);
      expect(Math.max(...own)).toBeLessThan(half);
      const sum = own.reduceRight((value, digit) => (value << BigInt(windowBits)) + BigInt(digit), 0n);
      expect(sum).toBe(scalar > r / 2n ? r - scalar : scalar);
    }
    expect(offset).toBeGreaterThan(0n);
    const [countsAt, startsAt, cursorsAt] = [0, 0, 0].map(() => arena.take(4 * half)) as [number, number, number];
    for (let w = 0; w < windows; w += 1) {
      const own = digits.subarray(w * count, (w + 1) * count);
      kernels.words(countsAt, half).fill(0);
      kernels.call("count_digits", countsAt, digitsAt + 2 * count * w, count);
      const counts = kernels.words(countsAt, half);
      kernels.call("start_buckets", countsAt, startsAt, cursorsAt, half);
      let before = 0;
      const starts = Array.from(counts, (each) => (before += each) - each);
      for (const at of [startsAt, cursorsAt]) expect([...kernels.words(at, half)]).toEqual(starts);
      kernels.call("scatter", items, cursorsAt, digitsAt + 2 * count * w, sources, count);
      const expected: number[] = [];
      const order = [...own.keys()].filter((i) => own[i] !== 0);
      order.sort((a, b) => Math.abs(own[a] ?? 0) - Math.abs(own[b] ?? 0));
      for (const i of order) expected.push((64 * (i + 1) + (i & 1)) ^ ((own[i] ?? 0) < 0 ? 1 : 0));
      expect([...kernels.words(items, order.length)]).toEqual(expected);
      expect(counts.reduce((sum, each) => sum + each, 0)).toBe(order.length);
    }
  });

  it.each([
    [17, 3],
    [32, 3],
    [48, 2],
    [64, 3],
  ])("of %i buckets are folded into rows and columns of 2^%i", (size, bits) => {
    const arena = new Arena(KERNEL_RESERVED_BYTES, PAGES * 65_536);
    const take = (count: number): number => arena.take(4 * count);
    const width = 2 ** bits;
    const [items, starts, counts] = [take(3 * size), take(size), take(size)];
    // Three words for each bucket, of which the first is its sum; some buckets are empty.
    const words = Array.from({ length: size }, (_, d) => (random.chance(0.3) ? 0 : 128 * (d + 1) + 1));
    for (const [d, word] of words.entries()) {
      kernels.words(items + 12 * d, 3).set([word, 7, 7]);
      kernels.words(starts + 4 * d, 1)[0] = 3 * d;
      kernels.words(counts + 4 * d, 1)[0] = word === 0 ? 0 : 1;
    }
    const first = 5;
    const [into, intoStarts, intoCounts] = [take(first + 2 * size), take(2 * width), take(2 * width)];
    const end = kernels.callOne("fold_buckets", items, starts, counts, size, bits, into, first, intoStarts, intoCounts);
    const rows = Array.from({ length: width }, (_, row) => words.filter((_word, d) => d >> bits === row + 1));
    const columns = Array.from({ length: width }, (_, column) => words.filter((_word, d) => d % width === column));
    const expected = [...rows, ...columns].map((list) => list.filter((word) => word !== 0));
    const lists = expected.map((_, l) => {
      const [start, count] = [kernels.word(intoStarts + 4 * l), kernels.word(intoCounts + 4 * l)];
      return [...kernels.words(into + 4 * start, count)];
    });
    expect(lists).toEqual(expected);
    expect(kernels.word(intoStarts)).toBe(first);
    expect(end - first).toBe(expected.flat().length);
  });

  it("take wider windows for more scalars, never narrower ones", () => {
    let before = 0;
    for (let count = 1; count < 2 ** 22; count = Math.ceil(count * 1.02)) {
      const { windowBits } = cheapestPlan(plans, count);
      if (count >= 2 ** 15) expect(windowBits).toBeGreaterThanOrEqual(before);
      before = Math.max(before, windowBits);
    }
    expect(before).toBe(WINDOW_BITS_MAX);
  });
});
