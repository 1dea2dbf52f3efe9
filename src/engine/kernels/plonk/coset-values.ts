/**
 * What the quotients of PLONK and FFLONK do on a coset: polynomials to values, the constants of the constraints there,
 * and the quotient's values to its residue; then residues to the quotient's parts.
 */
import { rootOfUnity } from "../../curves/curve-parameters.js";
import { inverse, power } from "../../field/prime-field.js";
import { COLUMN_FACTORS } from "../../plonk/key.js";
import { vectorBytes } from "../ntt/domain.js";
import { identityBlock } from "./columns.js";
import { CONSTRAINT_CONSTANTS } from "./constraints.js";
import type { ConstraintConstant } from "./constraints.js";
import { EXTRA_POWERS, blocksOf } from "./resident-circuit.js";
import type { CircuitContext, CircuitCoset, VectorPlace } from "./resident-circuit.js";
import { forEachPiece } from "./sections.js";

/** Blocks of one task that joins residues. */
const CHUNK_BLOCKS = 8192;

/** Takes a vector of scratch. */
export function takeVector({ kernels, key, scratch }: CircuitContext): number {
  return scratch.take(vectorBytes(kernels, key.domainPower));
}

/**
 * Returns, in scratch, a polynomial's values on a coset.
 * @param blinding coefficients, lowest first, of the polynomial whose product with X^n - 1 belongs to it
 */
export function valuesOnCoset(
  context: CircuitContext,
  coset: CircuitCoset<never, VectorPlace>,
  coefficients: number,
  blinding: readonly bigint[] = [],
): number {
  const { kernels, key, memory, domain } = context;
  const order = kernels.curve.r;
  const values = takeVector(context);
  multiply(context, values, [coefficients, coset.scale]);
  // On the coset B (X^n - 1) is a constant times B.
  const places = kernels.words(key.places, EXTRA_POWERS);
  let factor = power(coset.shift, 2n ** BigInt(key.domainPower), order) - 1n;
  for (const [i, scalar] of blinding.entries()) {
    memory.scalars.addAt(values, places[i] ?? 0, factor * scalar);
    factor = (factor * coset.shift) % order;
  }
  domain.backward(values);
  return values;
}

/** Returns, in scratch, the values at points times the domain's root of a polynomial given by its values on a coset. */
export function rotated(context: CircuitContext, values: number): number {
  const target = takeVector(context);
  context.kernels.call("fr_rotate_blocks", target, values, blocksOf(context));
  return target;
}

/** target := the product of two vectors, value by value. */
function multiply(context: CircuitContext, target: number, factors: readonly [number, VectorPlace]): void {
  forEachPiece(context, [target, ...factors], ({ count, addresses: [to = 0, one = 0, other = 0] }) => {
    context.kernels.call("fr_mul_blocks", to, one, other, count);
  });
}

/** Writes, into scratch, the first points of a piece of a coset's vectors, which begins with a block, times beta. */
export function cosetIdentity(
  context: CircuitContext,
  { shift }: Pick<CircuitCoset, "shift">,
  { beta, block }: { readonly beta: bigint; readonly block: number },
): number {
  const { kernels, key } = context;
  const order = kernels.curve.r;
  // The way back visits the coset against the powers of the root.
  const ratio = inverse(rootOfUnity(kernels.curve, key.domainPower), order);
  const first = (((beta * shift) % order) * power(ratio, BigInt(block * kernels.fr.lanes), order)) % order;
  return identityBlock(context, [first, (first * ratio) % order]);
}

/** Writes, into scratch, the constants of the constraints' kernels (constraints.ts) and their first block of points. */
export function cosetConstants(
  context: CircuitContext,
  { shift }: Pick<CircuitCoset, "shift">,
  challenges: { readonly beta: bigint; readonly gamma: bigint; readonly alpha: bigint },
): { readonly constants: number; readonly identity: number } {
  const { kernels, key, memory, scratch } = context;
  const order = kernels.curve.r;
  const { beta, gamma, alpha } = challenges;
  const ratio = inverse(rootOfUnity(kernels.curve, key.domainPower), order);
  const values: Record<ConstraintConstant, bigint> = {
    beta,
    gamma,
    ...COLUMN_FACTORS,
    step: power(ratio, BigInt(kernels.fr.lanes), order),
    alpha,
    alphaSquared: alpha * alpha,
    vanishing: inverse(power(shift, 2n ** BigInt(key.domainPower), order) - 1n, order),
  };
  const constants = scratch.take(CONSTRAINT_CONSTANTS.length * kernels.fr.elementBytes);
  memory.scalars.writeElements(
    constants,
    CONSTRAINT_CONSTANTS.map((name) => values[name]),
  );
  return { constants, identity: cosetIdentity(context, { shift }, { beta, block: 0 }) };
}

/** Turns values on a coset, in reversed order, into the polynomial's residue modulo X^n minus the coset's constant. */
export function residueOf(context: CircuitContext, coset: CircuitCoset<never, VectorPlace>, values: number): void {
  context.domain.forward(values);
  multiply(context, values, [values, coset.inverseScale]);
}

/** Returns the number of tasks that join residues. */
export function joinTasks(context: Pick<CircuitContext, "kernels" | "key">): number {
  return Math.ceil(blocksOf(context) / CHUNK_BLOCKS);
}

/** Replaces one task's share of the residues on four cosets by that of the polynomial's four parts. */
export function joinResidues(
  context: CircuitContext,
  residues: readonly [number, number, number, number],
  task: number,
): void {
  const { kernels, key } = context;
  const first = task * CHUNK_BLOCKS;
  const count = Math.min(CHUNK_BLOCKS, blocksOf(context) - first);
  const offset = first * kernels.fr.lanes * kernels.fr.elementBytes;
  const [t0, t1, t2, t3] = residues.map((vector) => vector + offset) as [number, number, number, number];
  kernels.call("fr_join_cosets", t0, t1, t2, t3, count, key.joinFactors);
}
