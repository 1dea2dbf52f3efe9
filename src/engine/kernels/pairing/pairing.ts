/**
 * A curve's pairing on the kernels' WebAssembly (pairing-module.ts): optimal ate, several Miller loops over one
 * running value, one final exponentiation. The caller checks that points lie on their curves. Each instance has its own
 * memory, which holds nothing between calls.
 */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import type { PairingKernels, PairingTerm, PairingValue, PreparedG2 } from "../../curves/curve-kernels.js";
import { BN254 } from "../../curves/bn254.js";
import type { G1Point, G2Point } from "../../curves/points.js";
import { finalExponentiation } from "./final-exponentiation.js";
import { hasFusedMultiplyAdd } from "../wasm/features.js";
import type { KernelKind } from "../kernel-module.js";
import { linesOf } from "./lines.js";
import type { Lines } from "./lines.js";
import { LINE_ENTRY_BYTES } from "./miller-steps.js";
import { areMembers, eachMultiple, sumOfMultiples } from "./multiples.js";
import { PAIRING_PAGES, PairingMemory } from "./pairing-memory.js";
import { buildPairingModule, pairingModuleName } from "./pairing-module.js";
import { pairingPlanOf } from "./pairing-plan.js";
import type { PairingPlan } from "./pairing-plan.js";
import type { PairingModule } from "./pairing-module.js";
import { ModuleCache } from "../wasm/module-cache.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";
import type { CompiledModule } from "../wasm/module-cache.js";
import { isCheckedWide, wideFormOf } from "../wide/wide-form.js";
import { COEFFICIENTS } from "./target-field.js";

/** Terms whose lines are in memory at the same time. */
const LOOP_TERMS_MAX = 100;
/** Values whose powers are computed in one go. */
const POWERS_MAX = 1024;

/** The module of each curve and kind that this thread has used. */
const modules = new ModuleCache<PairingModule>();

/**
 * Returns new kernels of a curve's pairing, BN254 by default. Takes about 0.3 s once per thread, curve and kind where
 * the module is not prepared, then a millisecond.
 * @param preferred "integer" forces the fallback; fused multiply-add is only taken where the machine fuses it.
 */
export function loadKernelPairing(preferred?: KernelKind, curve: CurveParameters = BN254): KernelPairing {
  const kind: KernelKind = preferred !== "integer" && hasFusedMultiplyAdd() ? "fma" : "integer";
  const plan = pairingPlanOf(curve);
  return new KernelPairing(compiledPairing(plan, kind), plan, kind);
}

/** Returns the module of a curve's pairing, compiled once per thread. */
export function compiledPairing(plan: PairingPlan, kind: KernelKind): CompiledModule<PairingModule> {
  return modules.get(pairingModuleName(plan.curve, kind), () =>
    buildPairingModule(plan, { kind, pagesMax: PAIRING_PAGES }),
  );
}

/** The pairing, small multiples in G1 and roots in Fq, on one memory. */
export class KernelPairing implements PairingKernels {
  readonly curve: CurveParameters;
  readonly kind: KernelKind;
  readonly #plan: PairingPlan;
  readonly #memory: PairingMemory;
  /** Lines of points that were found in G2, for the pairing that follows the test, as that is computed on two lanes. */
  readonly #lines = new WeakMap<G2Point, Lines>();
  /** The same on four: what confirms a result on two lanes must not take lines from there. */
  readonly #wideLines = new WeakMap<G2Point, Lines>();

  constructor({ layout, module }: CompiledModule<PairingModule>, plan: PairingPlan, kind: KernelKind) {
    this.curve = plan.curve;
    this.kind = kind;
    this.#plan = plan;
    this.#memory = new PairingMemory(
      layout,
      module,
      kind === "fma" ? wideFormOf(plan.curve.name, "pairing") : undefined,
    );
  }

  /** See `PairingKernels`; any number of terms, 256 at a time. */
  combineG1(terms: readonly { readonly point: G1Point | undefined; readonly scalar: bigint }[]): G1Point | undefined {
    return sumOfMultiples(
      this.#memory,
      this.curve,
      terms.flatMap(({ point, scalar }) => (point === undefined ? [] : [{ point, scalar }])),
    );
  }

  /** See `PairingKernels`; any number of terms, 256 at a time. */
  multiplyG1(terms: readonly { readonly point: G1Point; readonly scalar: bigint }[]): (G1Point | undefined)[] {
    return eachMultiple(this.#memory, this.curve, terms);
  }

  /** See `PairingKernels`; any number of points, 256 at a time. */
  areInSubgroupG1(points: readonly G1Point[]): boolean[] {
    return areMembers(this.#memory, this.curve, points);
  }

  /** See `PairingKernels`; it leaves the lines of a member for a pairing that follows. */
  isInSubgroupG2(point: G2Point): boolean {
    return this.areInSubgroupG2([point])[0] === true;
  }

  /** See `PairingKernels`; from four points on their inversions are shared. */
  areInSubgroupG2(points: readonly G2Point[]): boolean[] {
    const known = this.#knownLines;
    const unknown = points.filter((point) => !known.has(point));
    for (const [i, lines] of linesOf(this.#memory, this.#plan, unknown).entries()) {
      const point = unknown[i];
      if (lines !== undefined && point !== undefined) known.set(point, lines);
    }
    return points.map((point) => known.has(point));
  }

  /** Computes divided lines; throws a RangeError for a point outside the subgroup. */
  prepareG2(point: G2Point): PreparedG2 {
    if (!this.isInSubgroupG2(point)) throw new RangeError("only points of the subgroup are prepared");
    const { bytes, isDivided } = this.#linesOf(point);
    if (isDivided) return { lines: bytes };
    return this.#memory.scoped(() => {
      const lines = this.#memory.put(bytes);
      const count = this.#plan.steps.length;
      const divided = this.#memory.take(count * this.#dividedLineBytes);
      for (let i = 0; i < count; i += 1)
        this.#call("line_divide", divided + i * this.#dividedLineBytes, lines + i * this.#lineBytes);
      return { lines: this.#memory.read(divided, count * this.#dividedLineBytes) };
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
      return { bytes: this.#memory.exportTarget(finalExponentiation(this.#memory, this.#plan, product)) };
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

  get #knownLines(): WeakMap<G2Point, Lines> {
    return isCheckedWide() ? this.#wideLines : this.#lines;
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
    const lines = this.#knownLines.get(point);
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
    for (const [i, step] of this.#plan.steps.entries()) {
      if (step === "double" && i > 0) {
        this.#call("gt_square", spare, value);
        [value, spare] = [spare, value];
      }
      multiplyLines();
    }
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
      this.#call(
        "g1_divided_line_factors",
        factors,
        points,
        count,
        this.#memory.take(scratchBytesFor(layout.pointScratch, count)),
      );
    });
    return table;
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
