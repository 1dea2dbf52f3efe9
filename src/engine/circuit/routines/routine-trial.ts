/**
 * Holds our routines against those of circom's, in one program with either: the same elements in every form, with
 * targets that are operands too. What counts is values; forms may differ.
 */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { inverse, reduce } from "../../field/prime-field.js";
import { SIGNATURES } from "./field-routines.js";

/** Returns a number from 0 up to the limit, which is left out. */
export type RandomBelow = (limit: bigint) => bigint;

export interface TrialOptions {
  /** circom's program, and the same with our routines; both export the routines by their names. */
  readonly own: WebAssembly.Module;
  readonly faster: WebAssembly.Module;
  readonly curve: Pick<CurveParameters, "r">;
  readonly random: RandomBelow;
  readonly rounds: number;
}

/** What was computed differently. */
export interface RoutineFault {
  readonly routine: string;
  /** The operands' values and forms. */
  readonly operands: readonly string[];
}

type Form = "short" | "short_montgomery" | "long" | "long_montgomery";

interface Element {
  readonly value: bigint;
  readonly form: Form;
}

/** What a call leaves: the values of the places that it was given, and what it returned. */
type Outcome = { readonly values: readonly bigint[]; readonly returned: number | undefined } | "trap";

const ELEMENT_BYTES = 40;
const FORMS: readonly Form[] = ["short", "short_montgomery", "long", "long_montgomery"];
const HEADERS: Readonly<Record<Form, number>> = {
  short: 0,
  short_montgomery: 0x40000000,
  long: 0x80000000,
  long_montgomery: 0xc0000000,
};
const [SHORT_MIN, SHORT_MAX] = [-(2n ** 31n), 2n ** 31n - 1n];
const PAGE_BYTES = 65_536;
/** Routines that change their operand in place, or answer, and have no target. */
const WITHOUT_TARGET: ReadonlySet<string> = new Set(["Fr_toNormal", "Fr_toInt", "Fr_eqR", "Fr_gtR"]);

/** Returns the first fault that shows in so many rounds of all routines; undefined where none does. */
export function findRoutineFault(options: TrialOptions): RoutineFault | undefined {
  const { curve, random, rounds } = options;
  const [own, faster] = [options.own, options.faster].map((module) => new RoutineBench(module, curve.r)) as [
    RoutineBench,
    RoutineBench,
  ];
  const names = [...own.routines];
  const elements = new Elements(curve.r, random);
  const faultOf = (routine: string, operands: readonly Element[]): RoutineFault | undefined => {
    const alias = Number(random(4n));
    if (isSame(own.call(routine, operands, alias), faster.call(routine, operands, alias))) return undefined;
    return { routine, operands: operands.map(({ value, form }) => `${String(value)} (${form})`) };
  };
  for (const routine of names.filter((name) => operandsOf(name) === 1 && !WITHOUT_TARGET.has(name)))
    for (const element of elements.extremes()) {
      const fault = faultOf(routine, [element]);
      if (fault !== undefined) return fault;
    }
  for (let round = 0; round < rounds; round += 1)
    for (const routine of names) {
      const operands = Array.from({ length: operandsOf(routine) }, () => elements.next());
      const fault = faultOf(routine, operands);
      if (fault !== undefined) return fault;
    }
  return undefined;
}

function operandsOf(routine: string): number {
  return (SIGNATURES[routine]?.params ?? 0) - (WITHOUT_TARGET.has(routine) ? 0 : 1);
}

function isSame(a: Outcome, b: Outcome): boolean {
  if (a === "trap" || b === "trap") return a === b;
  return a.returned === b.returned && a.values.every((value, at) => b.values[at] === value);
}

/** Elements at the edges of what is short, long and negative, and random ones. */
class Elements {
  readonly #prime: bigint;
  readonly #random: RandomBelow;
  readonly #edges: readonly bigint[];

  constructor(prime: bigint, random: RandomBelow) {
    this.#prime = prime;
    this.#random = random;
    const small = [0n, 1n, 2n, 3n, 31n, 32n, 253n, 254n, 255n, SHORT_MAX - 1n, SHORT_MAX, SHORT_MAX + 1n, 2n ** 32n];
    const large = [2n ** 63n, 2n ** 64n - 1n, 2n ** 64n, 2n ** 128n, prime / 2n, prime / 2n + 1n, prime / 2n + 2n];
    this.#edges = [...small, ...large, ...small.map((value) => prime - value - 1n)];
  }

  next(): Element {
    const value = this.#value();
    const forms = this.#formsOf(value);
    return { value, form: forms[Number(this.#random(BigInt(forms.length)))] ?? "long" };
  }

  /** Returns the ends of what is short, long, positive and negative, in every form. */
  extremes(): Element[] {
    const prime = this.#prime;
    const positive = [0n, 1n, 2n, SHORT_MAX, prime / 2n];
    const negative = [1n, 2n, -SHORT_MIN, prime / 2n].map((value) => prime - value);
    return [...positive, ...negative].flatMap((value) => this.#formsOf(value).map((form) => ({ value, form })));
  }

  #formsOf(value: bigint): readonly Form[] {
    const signed = value > this.#prime / 2n ? value - this.#prime : value;
    return signed >= SHORT_MIN && signed <= SHORT_MAX ? FORMS : FORMS.slice(2);
  }

  #value(): bigint {
    const kind = this.#random(4n);
    if (kind === 0n) return this.#random(this.#prime);
    if (kind === 1n) return this.#random(2n ** 34n);
    return this.#edges[Number(this.#random(BigInt(this.#edges.length)))] ?? 0n;
  }
}

type RoutineExports = Readonly<Record<string, ((...args: number[]) => number | undefined) | undefined>>;

/** The routines of one program, with elements in a page of memory that nothing uses before a run. */
class RoutineBench {
  readonly routines: readonly string[];
  readonly #exports: RoutineExports;
  readonly #memory: WebAssembly.Memory;
  readonly #base: number;
  readonly #prime: bigint;
  readonly #montgomery: bigint;
  readonly #inverse: bigint;

  constructor(module: WebAssembly.Module, prime: bigint) {
    const none = (): never => {
      throw new Error("a routine of the field calls nothing outside");
    };
    const runtime = Object.fromEntries(WebAssembly.Module.imports(module).map(({ name }) => [name, none] as const));
    const { exports } = new WebAssembly.Instance(module, { runtime });
    this.#exports = exports as unknown as RoutineExports;
    this.routines = Object.keys(SIGNATURES).filter((name) => name in exports);
    this.#memory = exports["memory"] as WebAssembly.Memory;
    // The end of the room in which a run makes its components.
    this.#base = this.#memory.buffer.byteLength - PAGE_BYTES;
    this.#prime = prime;
    this.#montgomery = 2n ** 256n % prime;
    this.#inverse = inverse(this.#montgomery, prime);
  }

  /** @param alias 1 and 2: the target is that operand; 3: both operands are the first one */
  call(routine: string, operands: readonly Element[], alias: number): Outcome {
    for (const [at, element] of operands.entries()) this.#write(at, element);
    this.#write(2, { value: 12345n, form: "short" });
    const places = operands.map((_, at) => this.#base + ELEMENT_BYTES * (alias === 3 ? 0 : at));
    const target = (alias === 1 || alias === 2 ? places[alias - 1] : undefined) ?? this.#base + 2 * ELEMENT_BYTES;
    try {
      const args = WITHOUT_TARGET.has(routine) ? places : [target, ...places];
      const returned = this.#exports[routine]?.(...args);
      return { returned, values: [0, 1, 2].map((at) => this.#read(at)) };
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) return "trap";
      throw error;
    }
  }

  #write(at: number, { value, form }: Element): void {
    const view = new DataView(this.#memory.buffer, this.#base + ELEMENT_BYTES * at, ELEMENT_BYTES);
    const isNegative = value > this.#prime / 2n;
    view.setInt32(0, form.startsWith("short") ? Number(isNegative ? value - this.#prime : value) : 0x5a5a5a5a, true);
    view.setUint32(4, HEADERS[form], true);
    let rest = form.endsWith("montgomery") ? (value * this.#montgomery) % this.#prime : form === "long" ? value : 0n;
    for (let offset = 8; offset < ELEMENT_BYTES; offset += 8, rest >>= 64n)
      view.setBigUint64(offset, rest & (2n ** 64n - 1n), true);
  }

  #read(at: number): bigint {
    const view = new DataView(this.#memory.buffer, this.#base + ELEMENT_BYTES * at, ELEMENT_BYTES);
    const header = view.getUint32(4, true);
    if (header < 0x80000000) return reduce(BigInt(view.getInt32(0, true)), this.#prime);
    let value = 0n;
    for (let offset = ELEMENT_BYTES - 8; offset >= 8; offset -= 8)
      value = (value << 64n) | view.getBigUint64(offset, true);
    return (header & 0x40000000) === 0 ? value : (value * this.#inverse) % this.#prime;
  }
}
