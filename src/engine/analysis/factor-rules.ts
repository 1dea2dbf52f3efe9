/**
 * The rules of propagation about constraints with a known factor A: A * B = C fixes what is in B where A is not zero,
 * and what is in C where it is.
 */
import { inverse } from "../field/prime-field.js";
import {
  addScaled,
  coefficientOf,
  EMPTY_FORM,
  isLinear,
  rowsWith,
  wiresOf,
  type LinearForm,
  type Row,
} from "./constraint-system.js";
import { intervalOf } from "./bound-rules.js";
import type { Knowledge } from "./knowledge.js";

/** A wire that is fixed unless the denominator is zero; where it is zero, so is the numerator. */
export interface Guard {
  readonly wire: number;
  readonly row: number;
  readonly denominator: LinearForm;
  readonly numerator: LinearForm;
}

/** Constraints that are looked at together in one case split. */
const CASE_ROWS_MAX = 24;
/** A wire in more constraints than this connects nothing. */
const CASE_COLUMN_MAX = 64;
/** Terms of a factor that is compared with others. */
const FACTOR_TERMS_MAX = 64;

/** One of y_i, where (K - value) * y_i = 0 for a known K. */
interface Choice {
  readonly direction: string;
  readonly value: bigint;
}

export class FactorRules {
  readonly #knowledge: Knowledge;
  readonly #names = new Map<number, string>();
  readonly #choices = new Map<number, Choice>();

  constructor(knowledge: Knowledge) {
    this.#knowledge = knowledge;
  }

  /** Splits the cases A = 0 and A != 0 of a row, together with the constraints around it that share A. */
  split(index: number): void {
    const knowledge = this.#knowledge;
    const row = knowledge.system.rows[index];
    const factor = this.#knownFactor(index);
    if (row === undefined || factor === undefined) return;
    this.#recordChoice(row, factor);
    const name = this.#nameOf(index, factor.form);
    if (name === undefined) return;
    const group = this.#around(index, name);
    if (group.length < 2) return;
    const where = determinedIn(group, { knowledge, isZero: false });
    if (where.size === 0) return;
    const zero = determinedIn(group, { knowledge, isZero: true });
    for (const wire of where) if (zero.has(wire)) knowledge.fix(wire, "case");
  }

  /** Fixes y_1 ... y_n of a known sum when at most one of them is not zero, and known which. */
  fixOneHot(row: Row): boolean {
    const unknown = this.#knowledge.unknownsOf(row.c);
    const choices = unknown.map(({ wire }) => this.#choices.get(wire));
    const direction = choices[0]?.direction;
    if (direction === undefined || choices.some((choice) => choice?.direction !== direction)) return false;
    if (new Set(choices.map((choice) => choice?.value)).size < choices.length) return false;
    for (const { wire } of unknown) this.#knowledge.fix(wire, "one_hot");
    return true;
  }

  /** Fixes the one unknown of a row whose factor has only positive values. */
  fixNonZero(index: number): boolean {
    const guard = this.guardOf(index);
    if (guard === undefined) return false;
    const interval = intervalOf(guard.denominator, this.#knowledge);
    if (interval === undefined || interval.high >= this.#knowledge.system.prime) return false;
    const isNonZero = interval.low > 0n || (interval.high < 0n && -interval.low < this.#knowledge.system.prime);
    if (isNonZero) this.#knowledge.fix(guard.wire, "linear");
    return isNonZero;
  }

  /** Returns what guards the one unknown of a row: its coefficient, a form of known wires. */
  guardOf(index: number): Guard | undefined {
    const { system, openAll } = this.#knowledge;
    const row = system.rows[index];
    const factor = this.#knownFactor(index);
    if (row === undefined || factor === undefined || openAll[index] !== 1) return undefined;
    const wire = this.#knowledge.unknownWires(index)[0];
    if (wire === undefined) return undefined;
    const { prime } = system;
    const inOther = coefficientOf(factor.other, wire);
    const inC = coefficientOf(row.c, wire);
    if (inOther === 0n) return undefined;
    const constant: LinearForm = { wires: [0], coefficients: [1n] };
    const denominator = addScaled(addScaled(EMPTY_FORM, factor.form, inOther, prime), constant, -inC, prime);
    // Where the denominator is zero, A is inC / inOther, so that the rest of A * B - C is a form again.
    const value = inC === 0n ? 0n : (inC * inverse(inOther, prime)) % prime;
    const without = ({ wires, coefficients }: LinearForm): LinearForm => {
      const at = wires.indexOf(wire);
      return at < 0
        ? { wires, coefficients }
        : { wires: wires.toSpliced(at, 1), coefficients: coefficients.toSpliced(at, 1) };
    };
    return {
      wire,
      row: index,
      denominator,
      numerator: addScaled(without(row.c), without(factor.other), -value, prime),
    };
  }

  #knownFactor(index: number): { readonly form: LinearForm; readonly other: LinearForm } | undefined {
    const row = this.#knowledge.system.rows[index];
    if (row === undefined || isLinear(row)) return undefined;
    if (this.#knowledge.openA[index] === 0) return { form: row.a, other: row.b };
    return this.#knowledge.openB[index] === 0 ? { form: row.b, other: row.a } : undefined;
  }

  #recordChoice(row: Row, { form, other }: { readonly form: LinearForm; readonly other: LinearForm }): void {
    const [wire] = other.wires;
    if (row.c.wires.length > 0 || other.wires.length !== 1 || wire === undefined || this.#choices.has(wire)) return;
    if (form.wires.length > FACTOR_TERMS_MAX) return;
    const { prime } = this.#knowledge.system;
    const plain = form.wires[0] === 0 ? { wires: form.wires.slice(1), coefficients: form.coefficients.slice(1) } : form;
    const scale = inverse(plain.coefficients[0] ?? 1n, prime);
    const constant = form.wires[0] === 0 ? (form.coefficients[0] ?? 0n) : 0n;
    this.#choices.set(wire, { direction: nameOf(plain, prime), value: (constant * scale) % prime });
    for (const holder of rowsWith(this.#knowledge.system, wire)) this.#knowledge.wide.push(holder);
  }

  /** The same for forms that are multiples of each other. */
  #nameOf(index: number, form: LinearForm): string | undefined {
    const key = 2 * index + (this.#knowledge.system.rows[index]?.a === form ? 0 : 1);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    if (form.wires.length > FACTOR_TERMS_MAX) return undefined;
    const name = nameOf(form, this.#knowledge.system.prime);
    this.#names.set(key, name);
    return name;
  }

  /** Rows that are linear or have the same factor, connected by unknown wires; those with the factor are marked. */
  #around(start: number, name: string): GroupRow[] {
    const { system } = this.#knowledge;
    const group = new Map<number, GroupRow>();
    const waiting = [start];
    while (waiting.length > 0 && group.size < CASE_ROWS_MAX) {
      const index = waiting.pop() ?? 0;
      const row = system.rows[index];
      if (row === undefined || group.has(index)) continue;
      const factor = this.#knownFactor(index);
      const isShared = factor !== undefined && this.#nameOf(index, factor.form) === name;
      if (!isShared && !isLinear(row)) continue;
      group.set(index, { row, other: isShared ? factor.other : undefined });
      for (const wire of wiresOf(row).slice(0, CASE_COLUMN_MAX)) {
        if (this.#knowledge.isKnown(wire)) continue;
        const holders = rowsWith(system, wire);
        if (holders.length <= CASE_COLUMN_MAX) waiting.push(...holders);
      }
    }
    return [...group.values()];
  }
}

interface GroupRow {
  readonly row: Row;
  /** The factor beside the shared one; undefined for a linear row. */
  readonly other: LinearForm | undefined;
}

/** The wires that the group fixes where the shared factor is zero, or is not. */
function determinedIn(
  group: readonly GroupRow[],
  { knowledge, isZero }: { readonly knowledge: Knowledge; readonly isZero: boolean },
): ReadonlySet<number> {
  const found = new Set<number>();
  const openIn = (form: LinearForm): number[] =>
    form.wires.filter((wire) => !knowledge.isKnown(wire) && !found.has(wire));
  for (let before = -1; before < found.size;) {
    before = found.size;
    for (const { row, other } of group) {
      const inC = openIn(row.c);
      const inOther = other === undefined || isZero ? [] : openIn(other);
      const [wire] = [...inC, ...inOther];
      // With one unknown on both sides, its coefficient may be zero.
      if (wire !== undefined && inC.length + inOther.length === 1) found.add(wire);
    }
  }
  return found;
}

function nameOf({ wires, coefficients }: LinearForm, prime: bigint): string {
  const [lead = 1n] = coefficients;
  const scale = lead === 1n ? 1n : inverse(lead, prime);
  return wires
    .map((wire, i) => `${String(wire)}:${(((coefficients[i] ?? 0n) * scale) % prime).toString(36)}`)
    .join(" ");
}
