/**
 * The constants of Poseidon in the form in which a partial round costs 2 t - 2 products of the state instead of t^2:
 * Grassi et al., "Poseidon", USENIX Security 2021, appendix B, and one product less by scaling element 0. The hash
 * stays the same. Runs when the kernels are built, not when they are used.
 */
import type { PoseidonParameters } from "../../../crypto/hashes/poseidon.js";
import { inverse, power } from "../../field/prime-field.js";

type Vector = readonly bigint[];
type Matrix = readonly Vector[];

/** The constants of all rounds, in the order in which they are used. */
export interface SparseRounds {
  /** Rounds of each half: t constants added before the S-boxes, then the t rows of the matrix. */
  readonly first: readonly (readonly bigint[])[];
  readonly second: readonly (readonly bigint[])[];
  /**
   * Rounds with one S-box. First what is added to element 0 before all of them. Then for each: the t - 1 factors of the
   * other elements that are added to element 0 behind its S-box; the t - 1 factors of element 0 behind its S-box that
   * are added to the others; what is added to element 0 for the next of these rounds, 0 behind the last.
   */
  readonly partial: readonly (readonly bigint[])[];
}

/** Returns the constants for parameters of any width from 2 on. */
export function sparseRounds({
  order,
  fullRounds,
  partialRounds,
  roundConstants,
  mds,
}: PoseidonParameters): SparseRounds {
  const half = fullRounds / 2;
  const { added, last } = movedConstants({
    order,
    mds,
    constants: roundConstants.slice(half, half + partialRounds + 1),
  });
  const partial: (readonly bigint[])[] = [];
  let addedNext = 0n;
  const fifthRoot = inverse(5n, order - 1n);
  // From the last round back: the matrix of a round is a sparse one times one that leaves element 0 alone, which can as
  // well be applied before the round's S-box, so that it joins the matrix of the round before.
  let matrix = mds;
  // Element 0 stands for itself divided by a scale, so chosen that its own factor in row 0 becomes 1: with
  // x = s z is (x + c)^5 = s^5 (z + c / s)^5. Every element has one fifth root, as 5 does not divide r - 1.
  let scale = 1n;
  for (let round = partialRounds - 1; round >= 0; round -= 1) {
    const { corner, row, column, rest } = splitMatrix(matrix, order);
    const next = scale;
    const fifth = (next * inverse(corner, order)) % order;
    scale = power(fifth, fifthRoot, order);
    const inverseNext = inverse(next, order);
    partial.unshift([
      ...row.map((factor) => (factor * inverseNext) % order),
      ...column.map((factor) => (factor * fifth) % order),
      addedNext,
    ]);
    addedNext = ((added[round] ?? 0n) * inverse(scale, order)) % order;
    matrix = multiply(rest, mds, order);
  }
  const inverseScale = inverse(scale, order);
  const beforePartial = matrix.map((row, i) => (i === 0 ? row.map((entry) => (entry * inverseScale) % order) : row));
  const fullRound = (constants: Vector, rows: Matrix): readonly bigint[] => [...constants, ...rows.flat()];
  return {
    first: roundConstants
      .slice(0, half)
      .map((constants, i) => fullRound(constants, i === half - 1 ? beforePartial : mds)),
    partial: [[addedNext], ...partial],
    second: [last, ...roundConstants.slice(half + partialRounds + 1)].map((constants) => fullRound(constants, mds)),
  };
}

/**
 * Moves what a partial round adds to elements other than the first behind its matrix, into the constants of the next
 * round: those elements pass no S-box there.
 */
function movedConstants({
  order,
  mds,
  constants,
}: {
  readonly order: bigint;
  readonly mds: Matrix;
  readonly constants: Matrix;
}): { readonly added: Vector; readonly last: Vector } {
  const added: bigint[] = [];
  let carried: Vector = mds.map(() => 0n);
  for (const [round, own] of constants.entries()) {
    const total = own.map((constant, i) => (constant + (carried[i] ?? 0n)) % order);
    if (round === constants.length - 1) return { added, last: total };
    added.push(total[0] ?? 0n);
    const moved = total.map((constant, i) => (i === 0 ? 0n : constant));
    carried = mds.map((row) => dot(row, moved, order));
  }
  throw new Error("invariant broken: a full round follows the partial ones");
}

/** A matrix that is the identity but for its row 0 and its column 0, whose corner is told apart. */
interface SparseMatrix {
  readonly corner: bigint;
  readonly row: Vector;
  readonly column: Vector;
}

/** Splits M into S * B, where S is sparse and B has 1 and the lower right part of M on its diagonal. */
function splitMatrix(matrix: Matrix, order: bigint): SparseMatrix & { readonly rest: Matrix } {
  const [top = [], ...others] = matrix;
  const lower = others.map((row) => row.slice(1));
  const inverted = invertMatrix(lower, order);
  const row = lower.map((_, column) =>
    dot(
      top.slice(1),
      inverted.map((line) => line[column] ?? 0n),
      order,
    ),
  );
  return {
    corner: top[0] ?? 0n,
    row,
    column: others.map((line) => line[0] ?? 0n),
    rest: [top.map((_, i) => (i === 0 ? 1n : 0n)), ...lower.map((line) => [0n, ...line])],
  };
}

/** Gauss-Jordan elimination. */
function invertMatrix(matrix: Matrix, order: bigint): Matrix {
  let rows = matrix.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1n : 0n))]);
  for (let column = 0; column < matrix.length; column += 1) {
    const at = rows.findIndex((row, i) => i >= column && row[column] !== 0n);
    const pivot = rows[at];
    if (pivot === undefined) throw new Error("invariant broken: Poseidon's matrices are invertible");
    const factor = inverse(pivot[column] ?? 0n, order);
    const scaled = pivot.map((entry) => (entry * factor) % order);
    const others = rows.filter((_, i) => i !== at).map((row) => subtract(row, scaled, row[column] ?? 0n, order));
    rows = [...others.slice(0, column), scaled, ...others.slice(column)];
  }
  return rows.map((row) => row.slice(matrix.length));
}

/** row - factor * other. */
function subtract(row: Vector, other: Vector, factor: bigint, order: bigint): bigint[] {
  return row.map((entry, i) => (entry + (order - factor) * (other[i] ?? 0n)) % order);
}

function multiply(a: Matrix, b: Matrix, order: bigint): Matrix {
  return a.map((row) =>
    row.map((_, column) =>
      dot(
        row,
        b.map((line) => line[column] ?? 0n),
        order,
      ),
    ),
  );
}

function dot(a: Vector, b: Vector, order: bigint): bigint {
  return a.reduce((sum, entry, i) => sum + entry * (b[i] ?? 0n), 0n) % order;
}
