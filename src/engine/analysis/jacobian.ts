/**
 * Which wires the constraints leave free near a witness: those that are not zero in a random vector of the null space
 * of the constraints' derivative. It sees nothing of what is discrete (bits, roots), so that it only helps to choose.
 */
import { reduce } from "../field/prime-field.js";
import { evaluate, rowsWith, type ConstraintSystem, type LinearForm } from "./constraint-system.js";
import { randomNullVector, type SparseRow } from "./null-vector.js";

const STEPS_MAX = 20_000_000;

/**
 * Returns the wires among `open` that are free to the first order; undefined when it costs too much.
 * @param open wires that propagation has not fixed; all others stand still
 */
export function locallyFree(
  system: ConstraintSystem,
  witness: readonly bigint[],
  open: readonly number[],
): number[] | undefined {
  const { prime } = system;
  const isOpen = new Uint8Array(system.wireCount);
  for (const wire of open) isOpen[wire] = 1;
  const indices = new Set(open.flatMap((wire) => [...rowsWith(system, wire)]));
  const rows: SparseRow[] = [];
  for (const index of indices) {
    const row = system.rows[index];
    if (row === undefined) continue;
    const derivative: SparseRow = new Map();
    const add = ({ wires, coefficients }: LinearForm, factor: bigint): void => {
      if (factor === 0n) return;
      wires.forEach((wire, i) => {
        if (isOpen[wire] !== 1) return;
        const value = reduce((derivative.get(wire) ?? 0n) + factor * (coefficients[i] ?? 0n), prime);
        if (value === 0n) derivative.delete(wire);
        else derivative.set(wire, value);
      });
    };
    add(row.a, evaluate(row.b, witness, prime));
    add(row.b, evaluate(row.a, witness, prime));
    add(row.c, prime - 1n);
    if (derivative.size > 0) rows.push(derivative);
  }
  const constrained = new Set(rows.flatMap((row) => [...row.keys()]));
  const vector = randomNullVector(rows, prime, STEPS_MAX);
  if (vector === undefined) return undefined;
  return open.filter((wire) => !constrained.has(wire) || vector.get(wire) !== 0n);
}
