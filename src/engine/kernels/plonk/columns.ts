/**
 * The first work of a proof of PLONK's kind: the wires' values, the columns that the gates make of them, and the
 * permutation's product. A. Gabizon, Z. Williamson, O. Ciobotaru (eprint 2019/953), section 8.3, rounds 1 and 2.
 */
import { rootOfUnity } from "../../curves/curve-parameters.js";
import { inverse, power } from "../../field/prime-field.js";
import { COLUMN_FACTORS } from "../../plonk/key.js";
import { vectorBytes } from "../ntt/domain.js";
import { CONSTRAINT_CONSTANTS } from "./constraints.js";
import { blocksOf } from "./resident-circuit.js";
import type { CircuitContext } from "./resident-circuit.js";

/** Columns of wires. */
export const COLUMNS = ["a", "b", "c"] as const;

/** Addresses of canonical scalars, the system's wires first, and of the wires as elements. */
interface WirePlaces {
  readonly scalars: number;
  readonly wires: number;
}

/** Imports the witness, whose scalars stand in place, and computes the additions in both forms. */
export function computeWires({ kernels, key, memory }: CircuitContext, { scalars, wires }: WirePlaces): void {
  const { bytes, elementBytes } = kernels.fr;
  // The constant stands in the selectors, and wire 0 is 0.
  memory.scalars.writeIntegers(scalars, [0n]);
  kernels.call("fr_import_plain", wires, scalars, key.systemWireCount);
  const added = wires + key.systemWireCount * elementBytes;
  const count = key.wireCount - key.systemWireCount;
  if (count === 0) return;
  kernels.call("fr_add_wires", added, key.additions, count, key.factors, wires);
  kernels.call("fr_export_plain", scalars + key.systemWireCount * bytes, added, count);
}

/** Turns values on the domain into coefficients, which may stand in the same place. */
export function interpolate(context: CircuitContext, values: number, coefficients: number): void {
  const { kernels, key, domain } = context;
  const bytes = vectorBytes(kernels, key.domainPower);
  if (values !== coefficients) kernels.bytes(coefficients, bytes).set(kernels.bytes(values, bytes));
  domain.forward(coefficients);
  kernels.call("fr_scale_blocks", coefficients, coefficients, blocksOf(context), key.inverseSize);
}

/** Interpolates the polynomial of the public signals: minus each one at its row. */
export function interpolatePublicSignals(context: CircuitContext, target: number, signals: readonly bigint[]): void {
  const { kernels, key, memory } = context;
  kernels.bytes(target, vectorBytes(kernels, key.domainPower)).fill(0);
  for (const [i, signal] of signals.entries()) memory.scalars.writeAt(target, i, -signal);
  interpolate(context, target, target);
}

/** z on the domain: products of the factors' ratios, from prefixes of the numerators and suffixes of the rest. */
export function computePermutationProduct(
  context: CircuitContext,
  places: {
    readonly columns: Readonly<Record<(typeof COLUMNS)[number], number>>;
    readonly target: number;
    /** Three vectors that may be overwritten. */
    readonly spare: readonly [number, number, number];
  },
  { beta, gamma }: { readonly beta: bigint; readonly gamma: bigint },
): void {
  const { kernels, key, memory, scratch } = context;
  const blocks = blocksOf(context);
  const [numerators, denominators, suffixes] = places.spare;
  const { target } = places;
  const order = kernels.curve.r;
  const root = rootOfUnity(kernels.curve, key.domainPower);
  const { elementBytes, lanes } = kernels.fr;
  scratch.scoped(() => {
    const constants = scratch.take(CONSTRAINT_CONSTANTS.length * elementBytes);
    const { k1, k2 } = COLUMN_FACTORS;
    memory.scalars.writeElements(constants, [beta, gamma, k1, k2, power(root, BigInt(lanes), order), 0n, 0n, 0n]);
    const identity = identityBlock(context, [beta, (beta * root) % order]);
    const vectors = scratch.take(4 * 6);
    const { a, b, c } = places.columns;
    const { s1, s2, s3 } = key.sigma;
    kernels.words(vectors, 6).set([a, b, c, s1, s2, s3]);
    kernels.call("fr_permutation_factors", numerators, denominators, vectors, blocks, constants, identity);
    const total = scratch.take(elementBytes);
    kernels.call("fr_prefix_products", target, numerators, blocks, total);
    kernels.call("fr_suffix_products", suffixes, denominators, blocks);
    const whole = memory.scalars.readAt(suffixes, 0);
    kernels.call("fr_mul_blocks", target, target, suffixes, blocks);
    memory.scalars.withElement(inverse(whole, order), (factor) => {
      kernels.call("fr_scale_blocks", target, target, blocks, factor);
    });
  });
}

/** Writes a block of the first values, one for each lane, into the scratch; returns its address. */
export function identityBlock({ kernels, memory, scratch }: CircuitContext, values: readonly bigint[]): number {
  const { lanes, elementBytes } = kernels.fr;
  const block = scratch.take(lanes * elementBytes);
  for (let lane = 0; lane < lanes; lane += 1) memory.scalars.writeAt(block, lane, values[lane] ?? 0n);
  return block;
}
