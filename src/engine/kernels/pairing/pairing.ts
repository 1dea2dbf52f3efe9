/**
 * The pairing of BN254 on the kernels' WebAssembly (pairing-module.ts): optimal ate, several Miller loops over one
 * running value, one final exponentiation. The caller checks that points lie on their curves. Each instance has its own
 * memory, which holds nothing between calls.
 */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import type { PairingKernels, PairingTerm, PairingValue, PreparedG2 } from "../../curves/curve-kernels.js";
import type { G1Point, G2Point } from "../../curves/points.js";
import { BN254 } from "../../curves/bn254.js";
import { hasFusedMultiplyAdd } from "../wasm/features.js";
import type { KernelKind } from "../kernel-module.js";
import { LINES, linesOf } from "./lines.js";
import type { Lines } from "./lines.js";
import { LINE_ENTRY_BYTES } from "./miller-steps.js";
import { eachMultiple, sumOfMultiples } from "./multiples.js";
import { LOOP_DIGITS, nonAdjacentForm } from "./loop-digits.js";
import { PAIRING_PAGES, PairingMemory } from "./pairing-memory.js";
import { buildPairingModule } from "./pairing-module.js";
import type { PairingModule } from "./pairing-module.js";
import { ModuleCache } from "../wasm/module-cache.js";
import type { CompiledModule } from "../wasm/module-cache.js";
import { COEFFICIENTS } from "./target-field.js";

/** Terms whose lines are in memory at the same time. */
const LOOP_TERMS_MAX = 100;
/** Values whose powers are computed in one go. */
const POWERS_MAX = 1024;

/**
 * Width of the digits by which a value is raised to the power of the seed: odd digits up to 7 take 16 products in all,
 * digits of 1 take 23. A wider table costs as much as it saves.
 */
const SEED_WIDTH = 4;
const SEED_DIGITS = nonAdjacentForm(BN254.seed, SEED_WIDTH);
const SEED_START = SEED_DIGITS[0] ?? 1;
/** Steps below the highest digit: so many squarings, then a product with that power of the value. */
const SEED_STEPS = stepsOf(SEED_DIGITS);

/** The module of each kind that this thread has used. */
const modules = new ModuleCache<PairingModule>();

/**
 * Returns new kernels of the pairing. Takes about 0.3 s once per thread and kind, then a millisecond.
 * @param preferred "integer" forces the fallback; fused multiply-add is only taken where the machine fuses it.
 */
export function loadKernelPairing(preferred?: KernelKind): KernelPairing {
  const kind: KernelKind = preferred !== "integer" && hasFusedMultiplyAdd() ? "fma" : "integer";
  const compiled = modules.get(kind, () => buildPairingModule(BN254, { kind, pagesMax: PAIRING_PAGES }));
  return new KernelPairing(compiled, kind);
}

/** The pairing, small multiples in G1 and roots in Fq, on one memory. */
export class KernelPairing implements PairingKernels {
  readonly curve: CurveParameters = BN254;
  readonly kind: KernelKind;
  readonly #memory: PairingMemory;
  /** Lines of points that were found in G2, for the pairing that follows the test. */
  readonly #lines = new WeakMap<G2Point, Lines>();

  constructor({ layout, module }: CompiledModule<PairingModule>, kind: KernelKind) {
    this.kind = kind;
    this.#memory = new PairingMemory(layout, module);
  }

  /** See `PairingKernels`; any number of terms, 256 at a time. */
  combineG1(terms: readonly { readonly point: G1Point | undefined; readonly scalar: bigint }[]): G1Point | undefined {
    return sumOfMultiples(
      this.#memory,
      terms.flatMap(({ point, scalar }) => (point === undefined ? [] : [{ point, scalar }])),
    );
  }

  /** See `PairingKernels`; any number of terms, 256 at a time. */
  multiplyG1(terms: readonly { readonly point: G1Point; readonly scalar: bigint }[]): (G1Point | undefined)[] {
    return eachMultiple(this.#memory, terms);
  }

  /** See `PairingKernels`; it leaves the lines of a member for a pairing that follows. */
  isInSubgroupG2(point: G2Point): boolean {
    return this.areInSubgroupG2([point])[0] === true;
  }

  /** See `PairingKernels`; from four points on their inversions are shared. */
  areInSubgroupG2(points: readonly G2Point[]): boolean[] {
    const unknown = points.filter((point) => !this.#lines.has(point));
    for (const [i, lines] of linesOf(this.#memory, unknown).entries()) {
      const point = unknown[i];
      if (lines !== undefined && point !== undefined) this.#lines.set(point, lines);
    }
    return points.map((point) => this.#lines.has(point));
  }

  /** Computes divided lines; throws a RangeError for a point outside the subgroup. */
  prepareG2(point: G2Point): PreparedG2 {
    if (!this.isInSubgroupG2(point)) throw new RangeError("only points of the subgroup are prepared");
    const { bytes, isDivided } = this.#linesOf(point);
    if (isDivided) return { lines: bytes };
    return this.#memory.scoped(() => {
      const lines = this.#memory.put(bytes);
      const divided = this.#memory.take(LINES * this.#dividedLineBytes);
      for (let i = 0; i < LINES; i += 1)
        this.#call("line_divide", divided + i * this.#dividedLineBytes, lines + i * this.#lineBytes);
      return { lines: this.#memory.read(divided, LINES * this.#dividedLineBytes) };
    });
  }

  /** See `PairingKernels`; throws a RangeError for no terms and for points outside the subgroup. */
  pairingProduct(terms: readonly PairingTerm[]): PairingValue {
    if (terms.length === 0) throw new RangeError("a product of no pairings");
    this.areInSubgroupG2(terms.flatMap(({ g2 }) => ("lines" in g2 ? [] : [g2])));
    return this.#memory.scoped(() => {
      let [product, part, spare] = [0, 1, 2].map(() => this.#memory.take(this.#targetBytes)) as [
        number,
        number,
        number,
      ];
      for (let start = 0; start < terms.length; start += LOOP_TERMS_MAX) {
        const [value, rest] = this.#memory.scoped(() =>
          this.#millerLoop(terms.slice(start, start + LOOP_TERMS_MAX), part, spare),
        );
        if (start === 0) {
          [product, part, spare] = [value, rest, product];
        } else {
          this.#call("gt_mul", rest, product, value);
          [product, part, spare] = [rest, product, value];
        }
      }
      return { bytes: this.#memory.exportTarget(this.#finalExponentiation(product)) };
    });
  }

  /** Compares the canonical bytes. */
  equalPairingValues(a: PairingValue, b: PairingValue): boolean {
    return Buffer.compare(a.bytes, b.bytes) === 0;
  }

  /** See `PairingKernels`. */
  squareRootPower(value: bigint): bigint {
    return this.squareRootPowers([value])[0] ?? 0n;
  }

  /** See `PairingKernels`; two at a time on fused multiply-add. */
  squareRootPowers(values: readonly bigint[]): bigint[] {
    const powers: bigint[] = [];
    for (let start = 0; start < values.length; start += POWERS_MAX) {
      const part = values.slice(start, start + POWERS_MAX);
      powers.push(
        ...this.#memory.scoped(() => {
          const elements = this.#memory.take(part.length * this.#memory.layout.elementBytes);
          this.#memory.writeElements(elements, part);
          this.#call("fq_root_powers", elements, part.length, this.#memory.take(this.#memory.layout.rootScratchBytes));
          return this.#memory.readElements(elements, part.length);
        }),
      );
    }
    return powers;
  }

  get #targetBytes(): number {
    return COEFFICIENTS * this.#memory.layout.blockBytes;
  }

  get #lineBytes(): number {
    return 3 * this.#memory.layout.blockBytes;
  }

  get #dividedLineBytes(): number {
    return 2 * this.#memory.layout.blockBytes;
  }

  #linesOf(point: G2Point): Lines {
    const lines = this.#lines.get(point);
    if (lines === undefined) throw new RangeError("a pairing takes points of the subgroup only");
    return lines;
  }

  /** Multiplies the lines of all terms into one value; returns its address and that of the other of the two given. */
  #millerLoop(terms: readonly PairingTerm[], first: number, second: number): readonly [number, number] {
    const loops = terms.map(({ g1, g2 }) => ({
      g1,
      ...("lines" in g2 ? { bytes: g2.lines, isDivided: true } : this.#linesOf(g2)),
    }));
    const undivided = loops
      .filter(({ isDivided }) => !isDivided)
      .map(({ g1, bytes }) => ({ lines: this.#memory.put(bytes), factors: this.#lineFactors(g1) }));
    const divided = loops.filter(({ isDivided }) => isDivided);
    const table = this.#lineTable(divided);
    let [value, spare] = [first, second];
    this.#writeOne(value);
    let index = 0;
    const multiplyLines = (): void => {
      for (const { lines, factors } of undivided) {
        this.#call("gt_mul_line", spare, value, lines + index * this.#lineBytes, factors);
        [value, spare] = [spare, value];
      }
      const product = this.#call("gt_mul_divided_lines", value, spare, table, divided.length);
      if (product !== value) [value, spare] = [spare, value];
      index += 1;
    };
    for (const [i, digit] of LOOP_DIGITS.entries()) {
      if (i > 0) {
        this.#call("gt_square", spare, value);
        [value, spare] = [spare, value];
      }
      multiplyLines();
      if (digit !== 0) multiplyLines();
    }
    multiplyLines();
    multiplyLines();
    return [value, spare];
  }

  #lineFactors({ x, y }: G1Point): number {
    const { blockBytes, elementBytes } = this.#memory.layout;
    const factors = this.#memory.take(2 * blockBytes),
      point = this.#memory.take(2 * elementBytes);
    this.#memory.writeElements(point, [x, y]);
    this.#call("g1_line_factors", factors, point);
    return factors;
  }

  /** A table for `gt_mul_divided_lines` that starts at the loop's first lines. */
  #lineTable(loops: readonly { readonly g1: G1Point; readonly bytes: Uint8Array }[]): number {
    const { layout } = this.#memory;
    const { blockBytes, elementBytes } = layout;
    const count = loops.length;
    const table = this.#memory.take(count * LINE_ENTRY_BYTES),
      factors = this.#memory.take(count * 2 * blockBytes);
    if (count === 0) return table;
    this.#memory.writeTable(
      table,
      loops.flatMap(({ bytes }, i) => [this.#memory.put(bytes), factors + i * 2 * blockBytes]),
    );
    this.#memory.scoped(() => {
      const points = this.#memory.take(count * 2 * elementBytes);
      this.#memory.writeElements(
        points,
        loops.flatMap(({ g1 }) => [g1.x, g1.y]),
      );
      this.#call("g1_divided_line_factors", factors, points, count, this.#memory.take(layout.pointScratchBytes(count)));
    });
    return table;
  }

  /**
   * value^((q^12 - 1) / r), to the power 2x (6x^2 + 3x + 1), which is prime to r: L. Fuentes-Castaneda, E. Knapp, F.
   * Rodriguez-Henriquez, "Faster hashing to G2" (SAC 2011), section 5.2. Returns the address of the result.
   */
  #finalExponentiation(value: number): number {
    const fresh = (): number => this.#memory.take(this.#targetBytes);
    const apply = (name: string, ...operands: readonly number[]): number => {
      const target = fresh();
      this.#call(name, target, ...operands);
      return target;
    };
    const mul = (a: number, b: number): number => apply("gt_mul", a, b);
    const conjugate = (a: number): number => apply("gt_conjugate", a);
    const square = (a: number): number => {
      const target = fresh();
      this.#memory.copy(target, a, this.#targetBytes);
      this.#call("gt_cyclotomic_square", target, 1);
      return target;
    };
    // f = value^((q^6 - 1)(q^2 + 1)): from here on inverses are conjugates.
    const unitary = mul(conjugate(value), apply("gt_invert", value));
    const f = mul(apply("gt_frobenius_2", unitary), unitary);
    // a = f^(-2x), b = f^(-6x), c = f^(6x^2), d = f^(6x^2 + 6x), e = f^(12x^3 + 6x^2 + 6x).
    const a = square(conjugate(this.#powerOfSeed(f)));
    const b = mul(a, square(a));
    const c = conjugate(this.#powerOfSeed(b));
    const d = mul(c, conjugate(b));
    const e = mul(d, this.#powerOfSeed(square(c)));
    const g = mul(a, e);
    const h = mul(f, mul(c, e));
    return mul(
      mul(mul(h, apply("gt_frobenius_1", g)), apply("gt_frobenius_2", e)),
      apply("gt_frobenius_3", mul(conjugate(f), g)),
    );
  }

  /** value^x for a unitary value, whose inverse is its conjugate. */
  #powerOfSeed(value: number): number {
    const bytes = this.#targetBytes;
    const result = this.#memory.take(bytes);
    this.#memory.scoped(() => {
      const powers = this.#oddPowers(value);
      const inverse = this.#memory.take(bytes);
      let [running, spare] = [this.#memory.take(bytes), this.#memory.take(bytes)];
      this.#memory.copy(running, powers[SEED_START] ?? value, bytes);
      for (const { squarings, digit } of SEED_STEPS) {
        this.#call("gt_cyclotomic_square", running, squarings);
        const power = powers[Math.abs(digit)];
        if (power === undefined) continue;
        if (digit < 0) this.#call("gt_conjugate", inverse, power);
        this.#call("gt_mul", spare, running, digit < 0 ? inverse : power);
        [running, spare] = [spare, running];
      }
      this.#memory.copy(result, running, bytes);
    });
    return result;
  }

  /** Addresses of value, value^3, value^5 ..., by exponent. */
  #oddPowers(value: number): number[] {
    const bytes = this.#targetBytes;
    const squared = this.#memory.take(bytes);
    this.#memory.copy(squared, value, bytes);
    this.#call("gt_cyclotomic_square", squared, 1);
    const powers: number[] = [];
    powers[1] = value;
    for (let exponent = 3; exponent < 2 ** (SEED_WIDTH - 1); exponent += 2) {
      const power = this.#memory.take(bytes);
      this.#call("gt_mul", power, powers[exponent - 2] ?? value, squared);
      powers[exponent] = power;
    }
    return powers;
  }

  #writeOne(value: number): void {
    const { elementBytes } = this.#memory.layout;
    this.#memory.scoped(() => {
      const elements = this.#memory.take(2 * COEFFICIENTS * elementBytes);
      this.#memory.writeElements(elements, [1n, ...Array.from({ length: 2 * COEFFICIENTS - 1 }, () => 0n)]);
      this.#call("fq2_gather", value, elements, COEFFICIENTS);
    });
  }

  #call(name: string, ...args: readonly number[]): number {
    return this.#memory.call(name, ...args);
  }
}

interface PowerStep {
  readonly squarings: number;
  readonly digit: number;
}

/** What follows the highest digit. */
function stepsOf(digits: readonly number[]): PowerStep[] {
  const steps: PowerStep[] = [];
  let squarings = 0;
  for (const [i, digit] of digits.entries()) {
    if (i === 0) continue;
    squarings += 1;
    if (digit === 0 && i < digits.length - 1) continue;
    steps.push({ squarings, digit });
    squarings = 0;
  }
  return steps;
}
