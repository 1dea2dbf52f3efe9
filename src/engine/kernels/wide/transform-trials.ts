/** Tries the layers of transforms (ntt/ntt.ts) and products of vectors against the same on integers. */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { reduce } from "../../field/prime-field.js";
import { TrialField } from "./trial-memory.js";
import type { KernelCall, RandomBelow, TrialMemory, WideTrial } from "./trial-memory.js";

/** Elements of a vector; two of them make a block. */
const ELEMENTS = 1024;
const BLOCKS = ELEMENTS / 2;
/** One element of so many is extreme. */
const EXTREME_EVERY = 4n;

type Residues = readonly bigint[];

interface TransformTrial {
  readonly kernel: string;
  readonly run: (call: KernelCall) => void;
  /** What becomes of the data, with the twiddles. */
  readonly expected: (data: Residues, twiddles: Residues) => Residues;
}

/** Returns the trials of the kernels that `defineButterflies` defines. */
export function transformTrials(
  trialMemory: TrialMemory,
  { r }: Pick<CurveParameters, "r">,
  random: RandomBelow,
): WideTrial[] {
  const field = new TrialField(r);
  const vector = new Vectors(trialMemory, field);
  const [data, twiddles] = [vector.take(), vector.take()];
  const extremes = field.extremes();
  const values = (): Residues =>
    Array.from({ length: ELEMENTS }, () =>
      random(EXTREME_EVERY) === 0n ? (extremes[Number(random(BigInt(extremes.length)))] ?? 0n) : random(r),
    );
  const [input, factors] = [values(), values()];
  return trialsOf(field, { data, twiddles, middle: data + vector.bytes / 2 }).map(({ kernel, run, expected }) => ({
    kernel,
    run,
    prepare: () => {
      vector.write(data, input);
      vector.write(twiddles, factors);
    },
    isRight: () => {
      const answers = vector.read(data);
      return expected(input, factors).every((value, i) => answers[i] === value);
    },
  }));
}

function trialsOf(
  field: TrialField,
  { data, twiddles, middle }: { readonly data: number; readonly twiddles: number; readonly middle: number },
): TransformTrial[] {
  const { prime } = field;
  const sum = (a: bigint, b: bigint): bigint => reduce(a + b, prime);
  const product = (a: bigint, b: bigint): bigint => reduce(a * b, prime);
  /** Butterflies between elements a fixed distance apart. */
  const layer =
    (butterfly: (low: bigint, high: bigint, twiddle: bigint) => readonly [bigint, bigint], distance = ELEMENTS / 2) =>
    (values: Residues, factors: Residues): Residues => {
      const result = [...values];
      for (let low = 0; low < ELEMENTS; low += 1) {
        if (low % (2 * distance) >= distance) continue;
        const [first, second] = butterfly(
          values[low] ?? 0n,
          values[low + distance] ?? 0n,
          factors[low % distance] ?? 0n,
        );
        result[low] = first;
        result[low + distance] = second;
      }
      return result;
    };
  const inFrequency = layer((low, high, twiddle) => [sum(low, high), product(low - high, twiddle)]);
  const inTime = layer((low, high, twiddle) => {
    const turned = product(high, twiddle);
    return [sum(low, turned), sum(low, -turned)];
  });
  const half = BLOCKS / 2;
  return [
    { kernel: "fr_dif_layer", run: (call) => call("fr_dif_layer", data, half, 1, twiddles), expected: inFrequency },
    { kernel: "fr_dif_run", run: (call) => call("fr_dif_run", data, middle, half, twiddles), expected: inFrequency },
    { kernel: "fr_dit_layer", run: (call) => call("fr_dit_layer", data, half, 1, twiddles), expected: inTime },
    { kernel: "fr_dit_run", run: (call) => call("fr_dit_run", data, middle, half, twiddles), expected: inTime },
    {
      kernel: "fr_pair_layer",
      run: (call) => call("fr_pair_layer", data, BLOCKS),
      expected: layer((low, high) => [sum(low, high), sum(low, -high)], 1),
    },
    {
      kernel: "fr_mul_blocks",
      run: (call) => call("fr_mul_blocks", data, data, twiddles, BLOCKS),
      expected: (values, factors) => values.map((value, i) => product(value, factors[i] ?? 0n)),
    },
  ];
}

/** Vectors of blocks of two elements, limb by limb. */
class Vectors {
  readonly bytes: number;
  readonly #memory: TrialMemory;
  readonly #field: TrialField;

  constructor(memory: TrialMemory, field: TrialField) {
    this.#memory = memory;
    this.#field = field;
    this.bytes = ELEMENTS * field.elementBytes;
  }

  take(): number {
    return this.#memory.arena.take(this.bytes);
  }

  write(address: number, values: Residues): void {
    for (const [i, value] of values.entries())
      this.#memory.writeLimbs(this.#placeOf(address, i), this.#field.limbsOf(value), 16);
  }

  read(address: number): (bigint | undefined)[] {
    const limbCount = this.#field.elementBytes / 8;
    return Array.from({ length: ELEMENTS }, (_, i) =>
      this.#field.residueOf(this.#memory.readLimbs(this.#placeOf(address, i), limbCount, 16)),
    );
  }

  #placeOf(address: number, index: number): number {
    return address + (index >>> 1) * 2 * this.#field.elementBytes + 8 * (index & 1);
  }
}
