/**
 * The pairing of BN254 on WebAssembly of our own (pairing-module.ts): optimal ate, several Miller loops over one running value, one
 * final exponentiation. Points are checked by the caller to lie on their curves. Each instance has its memory; nothing is kept in it
 * between calls.
 *
 * The membership test of G2 comes with the lines: the loop ends at T = [6x + 2]Q + psi(Q) - psi^2(Q), and Q is in the subgroup of order r
 * exactly when T = -psi^3(Q). For psi satisfies psi^2 - t psi + q = 0, so the order of a Q with that property divides the norm of
 * 6x + 2 + z - z^2 + z^3 in Z[z] / (z^2 - t z + q), whose greatest common divisor with the order of the twist is r. The method is that of
 * Y. Dai, K. Lin, C.-A. Zhao, Z. Zhou, eprint 2022/348; a step that meets infinity on the way leaves infinity, which is refused.
 */
import { BN254 as BN254_PARAMETERS } from "../../curve/curve-parameters.js";
import type { CurveParameters } from "../../curve/curve-parameters.js";
import type { PairingKernels, PairingTerm, PairingValue, PreparedG2 } from "../../curve/kernels.js";
import type { G1Point, G2Point } from "../../curve/points.js";
import { Arena } from "../arena.js";
import { BN254 } from "../curves.js";
import { hasFusedMultiplyAdd } from "../features.js";
import type { KernelKind } from "../kernel-module.js";
import { wasmHost } from "../wasm-host.js";
import { MULTIPLES } from "./lane-multiples.js";
import { BN254_PAIRING, nonAdjacentForm } from "./pairing-constants.js";
import { buildPairingModule } from "./pairing-module.js";
import type { PairingModule } from "./pairing-module.js";
import { scalarHalves } from "./scalar-halves.js";
import { COEFFICIENTS } from "./target-field.js";

/** 4 MiB: the lines of a hundred points and the tables of 256. */
const PAGES = 64;
/** Terms whose lines lie in memory at once. */
const LOOP_TERMS_MAX = 100;
/** Points whose tables lie in memory at once; longer sums take as many passes. */
const SUM_TERMS_MAX = 256;
const WINDOW_BITS = 4;
const COORDINATE_BYTES = 32;
const { loopDigits } = BN254_PAIRING;
/** A line for each doubling and each addition, and two at the end. */
const LINES = loopDigits.length + loopDigits.filter((digit) => digit !== 0).length + 2;

/** The seed's power from the highest digit down: so many squarings, then a product with the value (1) or its inverse (-1). */
const SEED_STEPS = stepsOf(nonAdjacentForm(BN254_PAIRING.seed));

type Exports = Readonly<Record<string, (...args: readonly number[]) => number>>;

interface Compiled {
  readonly layout: PairingModule;
  readonly module: WebAssembly.Module;
}

const compiledModules = new Map<KernelKind, Compiled>();
const halvesOf = scalarHalves(BN254.fr, BN254_PAIRING.endomorphismScalar);

/** Builds the kernels, compiled once per thread and kind: about 0.3 s, later a millisecond. `preferred` "integer" forces the fallback. */
export function loadKernelPairing(preferred?: KernelKind): KernelPairing {
  const kind: KernelKind = preferred !== "integer" && hasFusedMultiplyAdd() ? "fma" : "integer";
  let compiled = compiledModules.get(kind);
  if (compiled === undefined) {
    const layout = buildPairingModule(BN254, BN254_PAIRING, { kind, pagesMax: PAGES });
    compiled = { layout, module: new WebAssembly.Module(layout.bytes) };
    compiledModules.set(kind, compiled);
  }
  return new KernelPairing(compiled, kind);
}

export class KernelPairing implements PairingKernels {
  readonly curve: CurveParameters = BN254_PARAMETERS;
  readonly kind: KernelKind;
  readonly #layout: PairingModule;
  readonly #memory: WebAssembly.Memory;
  readonly #bytes: Uint8Array;
  readonly #words: BigUint64Array;
  readonly #exports: Exports;
  readonly #arena: Arena;
  /** Lines of points that were found in G2, for the pairing that follows the test. */
  readonly #lines = new WeakMap<G2Point, Uint8Array>();

  constructor({ layout, module }: Compiled, kind: KernelKind) {
    this.kind = kind;
    this.#layout = layout;
    this.#memory = new wasmHost.Memory({ initial: PAGES, maximum: PAGES, shared: true });
    this.#bytes = new Uint8Array(this.#memory.buffer);
    this.#words = new BigUint64Array(this.#memory.buffer);
    this.#exports = new WebAssembly.Instance(module, { env: { memory: this.#memory } }).exports as Exports;
    this.#arena = new Arena(layout.reservedBytes, PAGES * 65_536);
  }

  combineG1(terms: readonly { readonly point: G1Point | undefined; readonly scalar: bigint }[]): G1Point | undefined {
    const present = terms.flatMap(({ point, scalar }) => (point === undefined ? [] : [{ point, scalar }]));
    return this.#arena.scoped(() => {
      const sum = this.#arena.take(3 * this.#layout.elementBytes), part = this.#arena.take(3 * this.#layout.elementBytes);
      for (let start = 0; start === 0 || start < present.length; start += SUM_TERMS_MAX) {
        this.#arena.scoped(() => { this.#sumMultiples(start === 0 ? sum : part, present.slice(start, start + SUM_TERMS_MAX)); });
        if (start > 0) this.#call("g1_add_points", sum, sum, part);
      }
      const affine = this.#arena.take(2 * this.#layout.elementBytes);
      this.#call("g1_to_affine", affine, sum, this.#arena.take(this.#layout.affineScratchBytes));
      if (this.#call("g1_is_marked", affine) === 1) return undefined;
      const [x = 0n, y = 0n] = this.#readElements(affine, 2);
      return { x, y };
    });
  }

  isInSubgroupG2(point: G2Point): boolean {
    if (this.#lines.has(point)) return true;
    return this.#arena.scoped(() => {
      const lines = this.#arena.take(LINES * this.#lineBytes);
      if (!this.#computeLines(point, lines)) return false;
      this.#lines.set(point, this.#bytes.slice(lines, lines + LINES * this.#lineBytes));
      return true;
    });
  }

  prepareG2(point: G2Point): PreparedG2 {
    if (!this.isInSubgroupG2(point)) throw new RangeError("only points of the subgroup are prepared");
    return this.#arena.scoped(() => {
      const lines = this.#put(this.#linesOf(point));
      const divided = this.#arena.take(LINES * this.#dividedLineBytes);
      for (let i = 0; i < LINES; i += 1) this.#call("line_divide", divided + i * this.#dividedLineBytes, lines + i * this.#lineBytes);
      return { lines: this.#bytes.slice(divided, divided + LINES * this.#dividedLineBytes) };
    });
  }

  pairingProduct(terms: readonly PairingTerm[]): PairingValue {
    if (terms.length === 0) throw new RangeError("a product of no pairings");
    return this.#arena.scoped(() => {
      let [product, part, spare] = [0, 1, 2].map(() => this.#arena.take(this.#targetBytes)) as [number, number, number];
      for (let start = 0; start < terms.length; start += LOOP_TERMS_MAX) {
        const [value, rest] = this.#arena.scoped(() => this.#millerLoop(terms.slice(start, start + LOOP_TERMS_MAX), part, spare));
        if (start === 0) {
          [product, part, spare] = [value, rest, product];
        } else {
          this.#call("gt_mul", rest, product, value);
          [product, part, spare] = [rest, product, value];
        }
      }
      const result = this.#finalExponentiation(product);
      return { bytes: this.#exportTarget(result) };
    });
  }

  equalPairingValues(a: PairingValue, b: PairingValue): boolean {
    return Buffer.compare(a.bytes, b.bytes) === 0;
  }

  squareRootPower(value: bigint): bigint {
    return this.#arena.scoped(() => {
      const element = this.#arena.take(this.#layout.elementBytes);
      this.#writeElements(element, [value]);
      this.#call("fq_root_power", element, element, this.#arena.take(this.#layout.rootScratchBytes));
      const [power = 0n] = this.#readElements(element, 1);
      return power;
    });
  }

  get #targetBytes(): number {
    return COEFFICIENTS * this.#layout.blockBytes;
  }

  get #lineBytes(): number {
    return 3 * this.#layout.blockBytes;
  }

  get #dividedLineBytes(): number {
    return 2 * this.#layout.blockBytes;
  }

  /** Straus' interleaving: every lane sums its share of the points, each split in two by the endomorphism. */
  #sumMultiples(target: number, terms: readonly { readonly point: G1Point; readonly scalar: bigint }[]): void {
    const { elementBytes, lanes } = this.#layout;
    const entryBytes = 3 * elementBytes;
    const points = terms.flatMap(({ point, scalar }) => {
      const address = this.#arena.take(2 * elementBytes), image = this.#arena.take(2 * elementBytes);
      this.#writeElements(address, [point.x, point.y]);
      this.#call("g1_endomorphism", image, address);
      const [k1, k2] = halvesOf(scalar);
      return [{ point: address, digits: signedDigits(k1) }, { point: image, digits: signedDigits(k2) }];
    });
    const tables = points.map(({ point, digits }) => ({ point, digits, table: this.#arena.take((MULTIPLES + 1) * entryBytes) }));
    // The points come in pairs, so that the lanes are always full.
    for (let i = 0; i < tables.length; i += lanes) {
      const group = tables.slice(i, i + lanes);
      this.#call("g1_lane_tables", ...group.map(({ table }) => table), ...group.map(({ point }) => point));
    }
    const accumulator = this.#arena.take(3 * elementBytes * lanes);
    this.#call("g1_lane_clear", accumulator);
    const windows = Math.max(0, ...tables.map(({ digits }) => digits.length));
    for (let window = windows - 1; window >= 0; window -= 1) {
      if (window < windows - 1) this.#call("g1_lane_double", accumulator, WINDOW_BITS);
      for (let i = 0; i < tables.length; i += lanes) {
        const group = tables.slice(i, i + lanes).map(({ table, digits }) => ({ table, digit: digits[window] ?? 0 }));
        if (group.every(({ digit }) => digit === 0)) continue;
        this.#call("g1_lane_add", accumulator, ...group.map(({ table, digit }) => table + Math.abs(digit) * entryBytes), ...group.map(({ digit }) => (digit < 0 ? 1 : 0)));
      }
    }
    this.#call("g1_lane_sum", target, accumulator);
  }

  #linesOf(point: G2Point): Uint8Array {
    if (!this.isInSubgroupG2(point)) throw new RangeError("a pairing takes points of the subgroup only");
    const lines = this.#lines.get(point);
    if (lines === undefined) throw new Error("invariant broken: the lines of a member are kept");
    return lines;
  }

  /** Writes all lines of the loop over a point; whether the point is in the subgroup. */
  #computeLines({ x, y }: G2Point, lines: number): boolean {
    const { blockBytes, elementBytes } = this.#layout;
    return this.#arena.scoped(() => {
      const elements = this.#arena.take(6 * elementBytes);
      const point = this.#arena.take(2 * blockBytes), negative = this.#arena.take(2 * blockBytes), image = this.#arena.take(2 * blockBytes);
      const running = this.#arena.take(3 * blockBytes);
      this.#writeElements(elements, [x.c0, x.c1, y.c0, y.c1, 1n, 0n]);
      this.#call("fq2_gather", point, elements, 2);
      this.#call("fq2_gather", running, elements, 3);
      this.#call("g2_negate", negative, point);
      let line = lines;
      const add = (other: number): void => {
        this.#call("g2_add_step", running, other, line);
        line += this.#lineBytes;
      };
      for (const digit of loopDigits) {
        this.#call("g2_double_step", running, line);
        line += this.#lineBytes;
        if (digit !== 0) add(digit === 1 ? point : negative);
      }
      this.#call("g2_psi_1", image, point);
      add(image);
      this.#call("g2_psi_2", image, negative);
      add(image);
      this.#call("g2_psi_3", image, negative);
      return this.#call("g2_equals", running, image) === 1;
    });
  }

  /** Multiplies the lines of all terms into one value; returns its address and that of the other of the two given. */
  #millerLoop(terms: readonly PairingTerm[], first: number, second: number): readonly [number, number] {
    const { blockBytes, elementBytes } = this.#layout;
    const loops = terms.map(({ g1, g2 }) => {
      const isDivided = "lines" in g2;
      const lines = this.#put(isDivided ? g2.lines : this.#linesOf(g2));
      const point = this.#arena.take(2 * elementBytes), factors = this.#arena.take(2 * blockBytes);
      this.#writeElements(point, [g1.x, g1.y]);
      if (isDivided) this.#arena.scoped(() => { this.#call("g1_divided_line_factors", factors, point, this.#arena.take(this.#layout.affineScratchBytes)); });
      else this.#call("g1_line_factors", factors, point);
      return { kernel: isDivided ? "gt_mul_divided_line" : "gt_mul_line", lines, factors, lineBytes: isDivided ? this.#dividedLineBytes : this.#lineBytes };
    });
    let [value, spare] = [first, second];
    this.#writeOne(value);
    let index = 0;
    const multiplyLines = (): void => {
      for (const { kernel, lines, factors, lineBytes } of loops) {
        this.#call(kernel, spare, value, lines + index * lineBytes, factors);
        [value, spare] = [spare, value];
      }
      index += 1;
    };
    for (const [i, digit] of loopDigits.entries()) {
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

  /**
   * value^((q^12 - 1) / r), to the power 2x (6x^2 + 3x + 1), which is prime to r: L. Fuentes-Castaneda, E. Knapp, F. Rodriguez-Henriquez,
   * "Faster hashing to G2" (SAC 2011), section 5.2. Returns the address of the result.
   */
  #finalExponentiation(value: number): number {
    const fresh = (): number => this.#arena.take(this.#targetBytes);
    const apply = (name: string, ...operands: readonly number[]): number => {
      const target = fresh();
      this.#call(name, target, ...operands);
      return target;
    };
    const mul = (a: number, b: number): number => apply("gt_mul", a, b);
    const conjugate = (a: number): number => apply("gt_conjugate", a);
    const square = (a: number): number => {
      const target = fresh();
      this.#bytes.copyWithin(target, a, a + this.#targetBytes);
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
    return mul(mul(mul(h, apply("gt_frobenius_1", g)), apply("gt_frobenius_2", e)), apply("gt_frobenius_3", mul(conjugate(f), g)));
  }

  /** value^x for a unitary value, by the non-adjacent form of the seed. */
  #powerOfSeed(value: number): number {
    const result = this.#arena.take(this.#targetBytes);
    this.#arena.scoped(() => {
      const inverse = this.#arena.take(this.#targetBytes);
      let [running, spare] = [this.#arena.take(this.#targetBytes), this.#arena.take(this.#targetBytes)];
      this.#call("gt_conjugate", inverse, value);
      this.#bytes.copyWithin(running, value, value + this.#targetBytes);
      for (const { squarings, digit } of SEED_STEPS) {
        this.#call("gt_cyclotomic_square", running, squarings);
        if (digit === 0) continue;
        this.#call("gt_mul", spare, running, digit === 1 ? value : inverse);
        [running, spare] = [spare, running];
      }
      this.#bytes.copyWithin(result, running, running + this.#targetBytes);
    });
    return result;
  }

  #writeOne(value: number): void {
    const { elementBytes } = this.#layout;
    this.#arena.scoped(() => {
      const elements = this.#arena.take(2 * COEFFICIENTS * elementBytes);
      this.#writeElements(elements, [1n, ...Array.from({ length: 2 * COEFFICIENTS - 1 }, () => 0n)]);
      this.#call("fq2_gather", value, elements, COEFFICIENTS);
    });
  }

  /** Canonical integers, little-endian, c0 and c1 of each power of w. */
  #exportTarget(value: number): Uint8Array {
    const count = 2 * COEFFICIENTS;
    return this.#arena.scoped(() => {
      const elements = this.#arena.take(count * this.#layout.elementBytes), plain = this.#arena.take(count * COORDINATE_BYTES);
      this.#call("fq2_scatter", elements, value, COEFFICIENTS);
      this.#call("fq_export_plain", plain, elements, count);
      return this.#bytes.slice(plain, plain + count * COORDINATE_BYTES);
    });
  }

  #writeElements(target: number, values: readonly bigint[]): void {
    this.#arena.scoped(() => {
      const plain = this.#arena.take(values.length * COORDINATE_BYTES);
      const words = plain / 8;
      for (const [i, value] of values.entries()) {
        for (let word = 0; word < 4; word += 1) this.#words[words + 4 * i + word] = BigInt.asUintN(64, value >> BigInt(64 * word));
      }
      this.#call("fq_import_plain", target, plain, values.length);
    });
  }

  #readElements(source: number, count: number): bigint[] {
    return this.#arena.scoped(() => {
      const plain = this.#arena.take(count * COORDINATE_BYTES);
      this.#call("fq_export_plain", plain, source, count);
      const word = (index: number): bigint => this.#words[plain / 8 + index] ?? 0n;
      return Array.from({ length: count }, (_, i) => word(4 * i) | (word(4 * i + 1) << 64n) | (word(4 * i + 2) << 128n) | (word(4 * i + 3) << 192n));
    });
  }

  #put(bytes: Uint8Array): number {
    const address = this.#arena.take(bytes.length);
    this.#bytes.set(bytes, address);
    return address;
  }

  #call(name: string, ...args: readonly number[]): number {
    const kernel = this.#exports[name];
    if (kernel === undefined) throw new TypeError(`there is no kernel ${name}`);
    return kernel(...args);
  }
}

interface PowerStep {
  readonly squarings: number;
  readonly digit: -1 | 0 | 1;
}

function stepsOf(digits: readonly (-1 | 0 | 1)[]): PowerStep[] {
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

/** Digits between -8 and 8 to the base 2^WINDOW_BITS, the lowest first. */
function signedDigits(value: bigint): number[] {
  const base = 2 ** WINDOW_BITS, sign = value < 0n ? -1 : 1;
  const digits: number[] = [];
  let rest = value < 0n ? -value : value;
  while (rest > 0n) {
    let digit = Number(BigInt.asUintN(WINDOW_BITS, rest));
    if (digit > base / 2) digit -= base;
    rest = (rest - BigInt(digit)) >> BigInt(WINDOW_BITS);
    digits.push(sign * digit);
  }
  return digits;
}
