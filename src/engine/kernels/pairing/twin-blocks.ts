/**
 * Arithmetic on elements of Fq2 at rest, two jobs at once: in functions of two halves, each half with a job of its own,
 * so that V8 can make one 256-bit instruction of what both do (wide/). Only addresses go from function to function.
 */
import type { Fq2 } from "../../field/prime-field.js";
import type { FmaField } from "../field/fma-field.js";
import type { FmaElement } from "../field/fma-arithmetic.js";
import type { Address } from "../field/field.js";
import { TwinField } from "../field/twin-field.js";
import type { TwinAddresses } from "../field/twin-field.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32 } from "../wasm/wasm-ops.js";
import { FmaTower, fmaTowerScratchBytes } from "./fma-tower.js";
import type { FmaTowerOptions } from "./fma-tower.js";
import { OneByOneBlocks } from "./one-by-one-blocks.js";
import type { BlockProduct, CombinationJob, ScalingJob, SquareJob, SumJob, TowerBlocks } from "./tower-blocks.js";

/** Factors that one list of sums may have prepared: eleven of either side are those of a square in Fq12. */
const SLOTS_MAX = 24;

/** Returns the bytes of scratch that blocks over this field need. */
export function twinBlocksScratchBytes(base: FmaField): number {
  const twin = new TwinField(base.prime, 0);
  return fmaTowerScratchBytes(base) + twin.scratchBytes + SLOTS_MAX * 2 * twin.packedBytes;
}

export interface TwinBlocksOptions extends FmaTowerOptions {
  readonly twinField?: typeof TwinField;
}

export class TwinBlocks implements TowerBlocks {
  readonly atOnce = 2;
  readonly blockBytes: number;
  readonly nonResidue: number;
  readonly inversionScratchBytes: number;
  readonly #module: ModuleBuilder;
  readonly #field: TwinField;
  readonly #tower: FmaTower;
  /** What is done to one block at a time. */
  readonly #alone: OneByOneBlocks<FmaElement>;
  readonly #firstSlot: number;
  readonly #functions = new Map<string, FunctionHandle>();

  /**
   * @param options as for a tower over `base`, with scratch of `twinBlocksScratchBytes`; perhaps with a field in place
   *   of the sound one, for tests
   */
  constructor(module: ModuleBuilder, base: FmaField, { twinField = TwinField, ...options }: TwinBlocksOptions) {
    const twinScratch = options.scratch + fmaTowerScratchBytes(base);
    this.#module = module;
    this.#field = new twinField(base.prime, twinScratch);
    this.#tower = new FmaTower(this.#field, options);
    this.#alone = new OneByOneBlocks(module, new FmaTower(base, options));
    this.#firstSlot = twinScratch + this.#field.scratchBytes;
    this.blockBytes = this.#tower.blockBytes;
    this.nonResidue = options.nonResidue;
    this.inversionScratchBytes = this.#alone.inversionScratchBytes;
  }

  /** Prepares the factors of the list, each once, and calls the function of each two sums' form. */
  sums(f: FunctionBuilder, jobs: readonly SumJob[]): void {
    const slots = new Slots(this.#firstSlot, 2 * this.#field.packedBytes);
    for (const [first, second] of inTwos(jobs, haveSameAddends)) {
      const products = zipped(first.products, second.products).map((pair) => ({
        left: this.#leftFactor(f, slots, pair),
        right: this.#rightFactor(f, slots, pair),
      }));
      const addends = [first.addend, second.addend].flatMap((addend) => (addend === undefined ? [] : [addend]));
      f.call(this.#sumsLike(products, { isAdded: addends.length > 0 }), [
        ...products.flatMap(({ left, right }) => [left.at, right.at]),
        first.target,
        second.target,
        ...addends,
      ]);
    }
  }

  /** Calls one function. */
  squares(f: FunctionBuilder, jobs: readonly SquareJob[]): void {
    const handle = this.#function("fq2_squares", { twins: 2 }, (g, { twins: [to, from] }) => {
      this.#store(g, to, this.#tower.square(g, this.#load(g, from)));
    });
    for (const [first, second] of inTwos(jobs, () => true))
      f.call(handle, [first.target, second.target, first.source, second.source]);
  }

  /** Calls the function of each two combinations' form, in which the numbers are constants. */
  combinations(f: FunctionBuilder, jobs: readonly CombinationJob[]): void {
    for (const [first, second] of inTwos(jobs, haveSameTerms)) {
      const terms = first.terms.map(({ source, times, isTurned = false }, i) => {
        const other = required(second.terms[i]);
        return { sources: [source, other.source], times: [times, other.times], isTurned };
      });
      const form = terms.map(({ times, isTurned }) => `${times.join("/")}${isTurned ? "u" : ""}`).join(" ");
      const twins = 1 + terms.length;
      const handle = this.#function(`fq2_combinations ${form}`, { twins }, (g, { twins: [to, ...sources] }) => {
        const values = terms.map(({ times, isTurned }, i) => {
          const value = this.#load(g, sources[i]);
          return { value: isTurned ? this.#tower.timesU(g, value) : value, times };
        });
        this.#store(g, to, this.#tower.combination(g, values));
      });
      f.call(handle, [first.target, second.target, ...terms.flatMap(({ sources }) => sources)]);
    }
  }

  /** Calls one function. */
  scalings(f: FunctionBuilder, jobs: readonly ScalingJob[]): void {
    const handle = this.#function("fq2_scalings", { twins: 3 }, (g, { twins: [to, a, b] }) => {
      this.#store(g, to, this.#tower.mulCoefficients(g, this.#load(g, a), this.#load(g, b)));
    });
    for (const [first, second] of inTwos(jobs, () => true))
      f.call(handle, [first.target, second.target, first.a, second.a, first.b, second.b]);
  }

  /** Stores one. */
  storeConstant(f: FunctionBuilder, target: Address, value: Fq2): void {
    this.#alone.storeConstant(f, target, value);
  }

  /** Tests one. */
  isZero(f: FunctionBuilder, block: Address): Address {
    return this.#alone.isZero(f, block);
  }

  /** Inverts one. */
  invert(
    f: FunctionBuilder,
    addresses: { readonly target: Address; readonly source: Address; readonly scratch: Address },
  ): void {
    this.#alone.invert(f, addresses);
  }

  /** A left factor that both halves have is read where it is; of others, each coefficient is put into both lanes. */
  #leftFactor(f: FunctionBuilder, slots: Slots, [first, second]: MaybeTwins): LeftFactor {
    const present = required(first ?? second);
    const [a, b] = [(first ?? present).a, (second ?? present).a];
    if (a === b) return { at: a, isShared: true };
    const at = slots.of("left", [a, b], (slot) => {
      const handle = this.#function("fq2_prepare_left", { twins: 1, plain: 1 }, (g, { twins: [from], plain: [to] }) => {
        const value = this.#load(g, from);
        for (const lane of [0, 1] as const)
          this.#field.storePacked(
            g,
            required(to),
            lane * this.#field.packedBytes,
            this.#tower.coefficient(g, value, lane),
          );
      });
      f.call(handle, [slot, a, b]);
    });
    return { at, isShared: false };
  }

  /** The right factor as often as it counts, 0 times where one half has a product less, and u times that. */
  #rightFactor(f: FunctionBuilder, slots: Slots, [first, second]: MaybeTwins): RightFactor {
    const present = required(first ?? second);
    const [a, b] = [(first ?? present).b, (second ?? present).b];
    const times = [first, second].map((product) => (product === undefined ? 0 : product.isDouble === true ? 2 : 1));
    const at = slots.of(`right ${times.join("/")}`, [a, b], (slot) => {
      const isPlain = times.every((each) => each === 1);
      const numbers = isPlain ? [] : times.map((each) => this.#module.addressOfNumber(each));
      f.call(isPlain ? this.#prepareRight() : this.#prepareMultiple(), [slot, a, b, ...numbers]);
    });
    return { at, times: Math.max(...times) };
  }

  #prepareRight(): FunctionHandle {
    return this.#function("fq2_prepare_right", { twins: 1, plain: 1 }, (g, { twins: [from], plain: [to] }) => {
      this.#storeRight(g, to, this.#load(g, from));
    });
  }

  /** One function for all numbers, which are up to 2: V8 optimises a short function after many calls only. */
  #prepareMultiple(): FunctionHandle {
    return this.#function(
      "fq2_prepare_multiple",
      { twins: 2, plain: 1 },
      (g, { twins: [from, times], plain: [to] }) => {
        const number = this.#field.splatTwins(g, required(times));
        this.#storeRight(g, to, this.#tower.multiple(g, { value: this.#load(g, from), number, numberMax: 2n }));
      },
    );
  }

  #storeRight(f: FunctionBuilder, target: Address | undefined, value: FmaElement): void {
    this.#field.storePacked(f, required(target), 0, value);
    this.#field.storePacked(f, required(target), this.#field.packedBytes, this.#tower.timesU(f, value));
  }

  /** Returns the function of sums with such factors: (each product's factors, two targets, [two addends]). */
  #sumsLike(products: readonly TwinProduct[], { isAdded }: { readonly isAdded: boolean }): FunctionHandle {
    const { reducedMax, packedBytes } = this.#field;
    const form = products.map(({ left, right }) => `${left.isShared ? "s" : "p"}${String(right.times)}`).join("");
    const shape = { twins: isAdded ? 2 : 1, plain: 2 * products.length };
    return this.#function(`fq2_sums ${form}${isAdded ? " added" : ""}`, shape, (g, { twins: [to, addend], plain }) => {
      const factors = products.flatMap(({ left, right }, i) => {
        const [leftAt, rightAt] = [required(plain[2 * i]), required(plain[2 * i + 1])];
        return ([0, 1] as const).map((lane) => ({
          a: left.isShared
            ? this.#field.factor(leftAt, reducedMax, lane)
            : this.#field.packedFactor(leftAt, lane * packedBytes, reducedMax),
          b: this.#field.packedFactor(rightAt, lane * packedBytes, BigInt(right.times) * reducedMax),
        }));
      });
      const sum = this.#field.sumOfProducts(g, factors);
      this.#store(g, to, isAdded ? this.#tower.add(g, sum, this.#load(g, addend)) : sum);
    });
  }

  #load(f: FunctionBuilder, addresses: TwinAddresses | undefined): FmaElement {
    return this.#field.loadTwins(f, required(addresses), this.#field.reducedMax);
  }

  #store(f: FunctionBuilder, targets: TwinAddresses | undefined, element: FmaElement): void {
    this.#field.storeTwins(f, required(targets), this.#tower.reduce(f, element));
  }

  /**
   * Returns the function of that name, defined once. Its plain parameters come first, then two for each that the halves
   * have of their own.
   */
  #function(
    name: string,
    { twins, plain = 0 }: { readonly twins: number; readonly plain?: number },
    build: (f: FunctionBuilder, params: TwinParams) => void,
  ): FunctionHandle {
    const known = this.#functions.get(name);
    if (known !== undefined) return known;
    const params = Array.from({ length: 2 * twins + plain }, () => "i32" as const);
    const handle = this.#module.define({ name, params, exported: false, halves: 2 }, (f, ...locals) => {
      const own = locals.slice(plain);
      build(f, {
        plain: locals.slice(0, plain),
        twins: Array.from({ length: twins }, (_, i) => [required(own[2 * i]), required(own[2 * i + 1])] as const),
      });
    });
    this.#functions.set(name, handle);
    return handle;
  }
}

interface TwinParams {
  /** Of both halves. */
  readonly plain: readonly Address[];
  /** One for each half. */
  readonly twins: readonly TwinAddresses[];
}

/** What the two halves multiply; one may have a product less than the other. */
type MaybeTwins = readonly [BlockProduct | undefined, BlockProduct | undefined];

interface LeftFactor {
  readonly at: Address;
  /** A block at rest that both halves read; else both coefficients, packed. */
  readonly isShared: boolean;
}

interface RightFactor {
  readonly at: Address;
  /** The most that it counts. */
  readonly times: number;
}

interface TwinProduct {
  readonly left: LeftFactor;
  readonly right: RightFactor;
}

/** The prepared factors of one list of sums: two packed elements each. */
class Slots {
  readonly #first: number;
  readonly #bytes: number;
  readonly #known: { readonly kind: string; readonly of: Twins<Address>; readonly at: Address }[] = [];

  constructor(first: number, bytes: number) {
    this.#first = first;
    this.#bytes = bytes;
  }

  /** Returns the slot of a factor of that kind, which `prepare` fills the first time. */
  of(kind: string, of: Twins<Address>, prepare: (slot: Address) => void): Address {
    const known = this.#known.find((each) => each.kind === kind && each.of[0] === of[0] && each.of[1] === of[1]);
    if (known !== undefined) return known.at;
    if (this.#known.length === SLOTS_MAX) throw new Error("a list of sums has too many factors");
    const at = i32.const(this.#first + this.#known.length * this.#bytes);
    this.#known.push({ kind, of, at });
    prepare(at);
    return at;
  }
}

type Twins<T> = readonly [T, T];

/** Returns neighbours as twos where they have the same form, and all others twice. */
function inTwos<T>(jobs: readonly T[], areAlike: (first: T, second: T) => boolean): Twins<T>[] {
  const twos: Twins<T>[] = [];
  for (let i = 0; i < jobs.length; i += 1) {
    const [first, next] = [required(jobs[i]), jobs[i + 1]];
    const isPair = next !== undefined && areAlike(first, next);
    twos.push([first, isPair ? next : first]);
    if (isPair) i += 1;
  }
  return twos;
}

function haveSameAddends(first: SumJob, second: SumJob): boolean {
  return (first.addend === undefined) === (second.addend === undefined);
}

function haveSameTerms(first: CombinationJob, second: CombinationJob): boolean {
  const turns = (job: CombinationJob): string => job.terms.map(({ isTurned }) => isTurned === true).join();
  return turns(first) === turns(second);
}

function zipped(first: readonly BlockProduct[], second: readonly BlockProduct[]): MaybeTwins[] {
  return Array.from({ length: Math.max(first.length, second.length) }, (_, i) => [first[i], second[i]] as const);
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("something is missing of two");
  return value;
}
