/**
 * Turns a rank-1 constraint system into PLONK's gates: A. Gabizon, Z. Williamson, O. Ciobotaru, "PLONK" (eprint
 * 2019/953), section 6. A gate binds the values a, b, c of three wires by
 *
 *   m a b + l a + r b + o c + k = 0
 *
 * with five selectors. A sum of more terms than a gate takes is cut into gates that each add two wires into a new one.
 * The order and the shape of the gates are those of snarkjs, so that both make the same key from the same setup.
 */
import { COEFFICIENT_BYTES } from "../circuit/r1cs.js";
import type { R1cs, R1csMatrix } from "../circuit/r1cs.js";
import { readBigIntLE } from "../field/bytes.js";
import { reduce } from "../field/prime-field.js";
import { GrowingWords } from "./growing-words.js";

/** Names of a gate's wires and selectors, in the order of snarkjs' files. */
export const GATE_WIRES = ["a", "b", "c"] as const;
export const SELECTORS = ["m", "l", "r", "o", "k"] as const;

export type GateWire = (typeof GATE_WIRES)[number];
export type Selector = (typeof SELECTORS)[number];

/** Gates as flat arrays, one entry per gate; field elements are indices into `coefficients`. */
export interface PlonkGates {
  /** Outputs and public inputs: gate i < publicCount has wire i + 1 as its a, and no other wire. */
  readonly publicCount: number;
  readonly gateCount: number;
  /** Wires of the constraint system, wire 0 being the constant, whose value is 0 in a gate. */
  readonly systemWireCount: number;
  /** Wires that sums were cut at: wire systemWireCount + i is the i-th addition. */
  readonly additions: {
    readonly count: number;
    readonly left: Uint32Array;
    readonly right: Uint32Array;
    readonly leftFactor: Uint32Array;
    readonly rightFactor: Uint32Array;
  };
  readonly wires: Readonly<Record<GateWire, Uint32Array>>;
  readonly selectors: Readonly<Record<Selector, Uint32Array>>;
  /** The distinct field elements, each in [0, r); the first is 0 and the second 1. */
  readonly coefficients: readonly bigint[];
}

/** A sum of wires times factors and a constant; wires ascend. */
interface LinearSum {
  readonly wires: number[];
  readonly factors: bigint[];
  readonly constant: bigint;
  /** Whether the row has a term of wire 0, even one whose factor is 0. */
  readonly hasConstant: boolean;
}

/** What is left of a sum that was cut: as many wires as asked for, padded with wire 0 and factor 0. */
type CutSum = Pick<LinearSum, "wires" | "factors" | "constant">;

/** How a constraint system becomes gates. */
export interface GateOptions {
  /**
   * Whether terms with the factor 0 vanish, also where two terms cancel. snarkjs drops them for FFLONK and keeps them
   * for PLONK; gates and commitments differ, the statement does not.
   */
  readonly dropsZeroTerms?: boolean;
}

/** Returns the gates of a constraint system. About a microsecond for each term. */
export function gatesOf(r1cs: R1cs, options: GateOptions = {}): PlonkGates {
  const builder = new GateBuilder(r1cs, options);
  for (let wire = 1; wire <= builder.publicCount; wire += 1)
    builder.addGate({ a: wire, b: 0, c: 0 }, { m: 0n, l: 1n, r: 0n, o: 0n, k: 0n });
  const { a, b, c } = r1cs.constraints;
  for (let row = 0; row < r1cs.constraintCount; row += 1)
    builder.addConstraint(sumOfRow(a, row), sumOfRow(b, row), sumOfRow(c, row));
  return builder.finish();
}

class GateBuilder {
  readonly publicCount: number;
  readonly #prime: bigint;
  readonly #systemWireCount: number;
  readonly #dropsZeroTerms: boolean;
  readonly #coefficients: bigint[] = [0n, 1n];
  readonly #numbers = new Map<bigint, number>([
    [0n, 0],
    [1n, 1],
  ]);
  readonly #wires = { a: new GrowingWords(), b: new GrowingWords(), c: new GrowingWords() };
  readonly #selectors = {
    m: new GrowingWords(),
    l: new GrowingWords(),
    r: new GrowingWords(),
    o: new GrowingWords(),
    k: new GrowingWords(),
  };
  readonly #additions = {
    left: new GrowingWords(),
    right: new GrowingWords(),
    leftFactor: new GrowingWords(),
    rightFactor: new GrowingWords(),
  };

  constructor(r1cs: R1cs, { dropsZeroTerms = false }: GateOptions) {
    this.#dropsZeroTerms = dropsZeroTerms;
    this.publicCount = r1cs.outputCount + r1cs.publicInputCount;
    this.#prime = r1cs.prime;
    this.#systemWireCount = r1cs.wireCount;
  }

  addGate(wires: Readonly<Record<GateWire, number>>, selectors: Readonly<Record<Selector, bigint>>): void {
    for (const name of GATE_WIRES) this.#wires[name].push(wires[name]);
    for (const name of SELECTORS) this.#selectors[name].push(this.#numberOf(reduce(selectors[name], this.#prime)));
  }

  /** Adds the gates of A * B = C. Where A or B is a constant the constraint is a sum, and else a product. */
  addConstraint(...sums: readonly [a: LinearSum, b: LinearSum, c: LinearSum]): void {
    const [a, b, c] = sums.map((sum) => this.#normalized(sum)) as [LinearSum, LinearSum, LinearSum];
    if (isNothing(a) || isNothing(b)) this.#addSum(c);
    else if (a.wires.length === 0) this.#addSum(this.#combine(a.constant, b, c));
    else if (b.wires.length === 0) this.#addSum(this.#combine(b.constant, a, c));
    else this.#addProduct(a, b, c);
  }

  finish(): PlonkGates {
    const words = <Name extends string>(of: Readonly<Record<Name, GrowingWords>>): Record<Name, Uint32Array> =>
      Object.fromEntries(Object.entries<GrowingWords>(of).map(([name, list]) => [name, list.toWords()])) as Record<
        Name,
        Uint32Array
      >;
    return {
      publicCount: this.publicCount,
      gateCount: this.#wires.a.length,
      systemWireCount: this.#systemWireCount,
      additions: { count: this.#additions.left.length, ...words(this.#additions) },
      wires: words(this.#wires),
      selectors: words(this.#selectors),
      coefficients: this.#coefficients,
    };
  }

  #addSum(sum: LinearSum): void {
    const { wires, factors, constant } = this.#cut(sum, 3);
    const [a = 0, b = 0, c = 0] = wires;
    const [l = 0n, r = 0n, o = 0n] = factors;
    this.addGate({ a, b, c }, { m: 0n, l, r, o, k: constant });
  }

  #addProduct(a: LinearSum, b: LinearSum, c: LinearSum): void {
    const [left, right, result] = [this.#cut(a, 1), this.#cut(b, 1), this.#cut(c, 1)];
    const [fa = 0n] = left.factors;
    const [fb = 0n] = right.factors;
    const [fc = 0n] = result.factors;
    this.addGate(
      { a: left.wires[0] ?? 0, b: right.wires[0] ?? 0, c: result.wires[0] ?? 0 },
      {
        m: fa * fb,
        l: fa * right.constant,
        r: left.constant * fb,
        o: -fc,
        k: left.constant * right.constant - result.constant,
      },
    );
  }

  /** Adds gates for the first two terms of a sum, and a wire for their total at its end, until few enough are left. */
  #cut(sum: LinearSum, wireCount: number): CutSum {
    const wires = [...sum.wires];
    const factors = [...sum.factors];
    let first = 0;
    for (; wires.length - first > wireCount; first += 2) {
      const [left = 0, right = 0] = [wires[first], wires[first + 1]];
      const [leftFactor = 0n, rightFactor = 0n] = [factors[first], factors[first + 1]];
      const total = this.#systemWireCount + this.#additions.left.length;
      this.addGate({ a: left, b: right, c: total }, { m: 0n, l: -leftFactor, r: -rightFactor, o: 1n, k: 0n });
      this.#additions.left.push(left);
      this.#additions.right.push(right);
      this.#additions.leftFactor.push(this.#numberOf(leftFactor));
      this.#additions.rightFactor.push(this.#numberOf(rightFactor));
      wires.push(total);
      factors.push(1n);
    }
    return { wires: wires.slice(first), factors: factors.slice(first), constant: sum.constant };
  }

  /** Returns factor * x - y. A wire whose terms cancel stays, with factor 0, unless such terms are dropped. */
  #combine(factor: bigint, x: LinearSum, y: LinearSum): LinearSum {
    const terms = new Map<number, bigint>();
    x.wires.forEach((wire, i) => terms.set(wire, factor * (x.factors[i] ?? 0n)));
    y.wires.forEach((wire, i) => terms.set(wire, (terms.get(wire) ?? 0n) - (y.factors[i] ?? 0n)));
    const wires = [...terms.keys()].sort((a, b) => a - b);
    return this.#normalized({
      wires,
      factors: wires.map((wire) => reduce(terms.get(wire) ?? 0n, this.#prime)),
      constant: reduce(factor * x.constant - y.constant, this.#prime),
      hasConstant: x.hasConstant || y.hasConstant,
    });
  }

  #normalized(sum: LinearSum): LinearSum {
    if (!this.#dropsZeroTerms) return sum;
    const isKept = sum.factors.map((factor) => factor % this.#prime !== 0n);
    return {
      wires: sum.wires.filter((_, i) => isKept[i]),
      factors: sum.factors.filter((_, i) => isKept[i]),
      constant: sum.constant,
      hasConstant: sum.constant % this.#prime !== 0n,
    };
  }

  #numberOf(coefficient: bigint): number {
    const known = this.#numbers.get(coefficient);
    if (known !== undefined) return known;
    const number = this.#coefficients.push(coefficient) - 1;
    this.#numbers.set(coefficient, number);
    return number;
  }
}

function isNothing(sum: LinearSum): boolean {
  return sum.wires.length === 0 && !sum.hasConstant;
}

function sumOfRow(matrix: R1csMatrix, row: number): LinearSum {
  const wires: number[] = [];
  const factors: bigint[] = [];
  let constant = 0n;
  let hasConstant = false;
  for (let i = matrix.rowOffsets[row] ?? 0; i < (matrix.rowOffsets[row + 1] ?? 0); i += 1) {
    const wire = matrix.wires[i] ?? 0;
    const factor = readBigIntLE(matrix.coefficients, i * COEFFICIENT_BYTES);
    if (wire === 0) {
      constant += factor;
      hasConstant = true;
    } else {
      wires.push(wire);
      factors.push(factor);
    }
  }
  const isAscending = wires.every((wire, i) => i === 0 || wire > (wires[i - 1] ?? 0));
  return isAscending ? { wires, factors, constant, hasConstant } : inOrder({ wires, factors, constant, hasConstant });
}

/** Sorts the terms by wire and adds up those of one wire. */
function inOrder(sum: LinearSum): LinearSum {
  const terms = new Map<number, bigint>();
  sum.wires.forEach((wire, i) => terms.set(wire, (terms.get(wire) ?? 0n) + (sum.factors[i] ?? 0n)));
  const wires = [...terms.keys()].sort((a, b) => a - b);
  return { ...sum, wires, factors: wires.map((wire) => terms.get(wire) ?? 0n) };
}
