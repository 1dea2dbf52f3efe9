/**
 * The final exponentiation of a Miller value to the power (q^12 - 1) / r, times a number that is prime to r: first the
 * part that makes the value unitary, so that inverses are conjugates, then the part that depends on the family of the
 * curve.
 */
import type { PairingMemory } from "./pairing-memory.js";
import type { PairingPlan } from "./pairing-plan.js";
import { COEFFICIENTS } from "./target-field.js";

/** Returns the address of the power of the value at an address; takes workspace that the caller gives back. */
export function finalExponentiation(memory: PairingMemory, plan: PairingPlan, value: number): number {
  const target = new TargetGroup(memory, plan);
  // f = value^((q^6 - 1)(q^2 + 1)).
  const unitary = target.mul(target.conjugate(value), target.apply("gt_invert", value));
  const f = target.mul(target.apply("gt_frobenius_2", unitary), unitary);
  return plan.curve.family === "BN" ? hardPartOfBn(target, f) : hardPartOfBls12(target, f);
}

/**
 * Times 2x (6x^2 + 3x + 1): L. Fuentes-Castaneda, E. Knapp, F. Rodriguez-Henriquez, "Faster hashing to G2" (SAC 2011),
 * section 5.2.
 */
function hardPartOfBn(target: TargetGroup, f: number): number {
  // a = f^(-2x), b = f^(-6x), c = f^(6x^2), d = f^(6x^2 + 6x), e = f^(12x^3 + 6x^2 + 6x).
  const a = target.square(target.conjugate(target.powerOfSeed(f)));
  const b = target.mul(a, target.square(a));
  const c = target.conjugate(target.powerOfSeed(b));
  const d = target.mul(c, target.conjugate(b));
  const e = target.mul(d, target.powerOfSeed(target.square(c)));
  const g = target.mul(a, e);
  const h = target.mul(f, target.mul(c, e));
  return target.mul(
    target.mul(target.mul(h, target.apply("gt_frobenius_1", g)), target.apply("gt_frobenius_2", e)),
    target.apply("gt_frobenius_3", target.mul(target.conjugate(f), g)),
  );
}

/**
 * Times 3: (x - 1)^2 (x + q) (x^2 + q^2 - 1) + 3, by D. Hayashida, K. Hayasaka, T. Teruya, "Efficient final
 * exponentiation via cyclotomic structure for pairings over families of elliptic curves" (eprint 2020/875). A negative
 * seed makes the loop's value the inverse of the Miller function, up to factors that vanish here.
 */
function hardPartOfBls12(target: TargetGroup, miller: number): number {
  const f = target.isSeedNegative ? target.conjugate(miller) : miller;
  const minusOne = (a: number): number => target.mul(target.powerOfSeed(a), target.conjugate(a));
  const a = minusOne(minusOne(f));
  const b = target.mul(target.powerOfSeed(a), target.apply("gt_frobenius_1", a));
  const c = target.mul(
    target.mul(target.powerOfSeed(target.powerOfSeed(b)), target.apply("gt_frobenius_2", b)),
    target.conjugate(b),
  );
  return target.mul(c, target.mul(f, target.square(f)));
}

/** Operations on unitary values by their addresses; each gives the address of a new value. */
class TargetGroup {
  readonly isSeedNegative: boolean;
  readonly #memory: PairingMemory;
  readonly #plan: PairingPlan;
  readonly #bytes: number;
  /** Steps below the highest digit of |x|. */
  readonly #steps: readonly PowerStep[];

  constructor(memory: PairingMemory, plan: PairingPlan) {
    this.isSeedNegative = plan.curve.seed < 0n;
    this.#memory = memory;
    this.#plan = plan;
    this.#bytes = COEFFICIENTS * memory.layout.blockBytes;
    this.#steps = stepsOf(plan.seedDigits);
  }

  /** Calls a kernel with a new target first. */
  apply(name: string, ...operands: readonly number[]): number {
    const target = this.#memory.take(this.#bytes);
    this.#memory.call(name, target, ...operands);
    return target;
  }

  mul(a: number, b: number): number {
    return this.apply("gt_mul", a, b);
  }

  conjugate(a: number): number {
    return this.apply("gt_conjugate", a);
  }

  square(a: number): number {
    const target = this.#memory.take(this.#bytes);
    this.#memory.copy(target, a, this.#bytes);
    this.#memory.call("gt_cyclotomic_square", target, 1);
    return target;
  }

  /** value^x for the curve's seed x. */
  powerOfSeed(value: number): number {
    const memory = this.#memory;
    const result = memory.take(this.#bytes);
    memory.scoped(() => {
      const powers = this.#oddPowers(value);
      const inverse = memory.take(this.#bytes);
      let [running, spare] = [memory.take(this.#bytes), memory.take(this.#bytes)];
      memory.copy(running, powers[this.#plan.seedDigits[0] ?? 1] ?? value, this.#bytes);
      for (const { squarings, digit } of this.#steps) {
        memory.call("gt_cyclotomic_square", running, squarings);
        const power = powers[Math.abs(digit)];
        if (power === undefined) continue;
        if (digit < 0) memory.call("gt_conjugate", inverse, power);
        memory.call("gt_mul", spare, running, digit < 0 ? inverse : power);
        [running, spare] = [spare, running];
      }
      if (this.isSeedNegative) memory.call("gt_conjugate", result, running);
      else memory.copy(result, running, this.#bytes);
    });
    return result;
  }

  /** Addresses of value, value^3, value^5 ..., by exponent. */
  #oddPowers(value: number): number[] {
    const powers: number[] = [];
    powers[1] = value;
    const largest = 2 ** (this.#plan.seedWidth - 1);
    if (largest <= 2) return powers;
    const squared = this.square(value);
    for (let exponent = 3; exponent < largest; exponent += 2)
      powers[exponent] = this.mul(powers[exponent - 2] ?? value, squared);
    return powers;
  }
}

interface PowerStep {
  readonly squarings: number;
  readonly digit: number;
}

/** What follows the highest digit: so many squarings, then a product with that power of the value. */
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
