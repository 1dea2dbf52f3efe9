/**
 * Emits the places where PLONK and FFLONK evaluate their constraints: the factors of the permutation's product, and the
 * quotients on a coset. A. Gabizon, Z. Williamson, O. Ciobotaru (eprint 2019/953), section 8.3, rounds 2 and 3; FFLONK
 * (eprint 2021/1167) takes the gates and the permutation apart.
 */
import { everyLane, lanesOf } from "../field/field.js";
import type { PrimeField } from "../field/field.js";
import { forEachBlock } from "../ntt/ntt.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32 } from "../wasm/wasm-ops.js";
import type { Expression } from "../wasm/wasm-ops.js";

/**
 * Elements in Montgomery form, one after the other, that both kernels take at `constants`. `step` is the ratio of
 * neighbouring blocks of the identity; `vanishing` the inverse of the vanishing polynomial on the coset.
 */
export const CONSTRAINT_CONSTANTS = [
  "beta",
  "gamma",
  "k1",
  "k2",
  "step",
  "alpha",
  "alphaSquared",
  "vanishing",
] as const;

export type ConstraintConstant = (typeof CONSTRAINT_CONSTANTS)[number];

/** Vectors of the quotients' kernels, in the order of their tables of addresses. */
export const QUOTIENT_VECTORS = [
  ...(["a", "b", "c", "z", "zOmega", "publicInputs"] as const),
  ...(["m", "l", "r", "o", "k", "s1", "s2", "s3", "firstLagrange"] as const),
] as const;
export const GATE_VECTORS = ["a", "b", "c", "publicInputs", "m", "l", "r", "o", "k"] as const;
export const PERMUTATION_VECTORS = ["a", "b", "c", "z", "zOmega", "s1", "s2", "s3"] as const;

/**
 * Defines, with vectors of `count` blocks, `identity` the address of one block that holds beta times the first points
 * of the domain or coset, and `constants` as in CONSTRAINT_CONSTANTS:
 * - `_permutation_factors` (numerators, denominators, vectors, count, constants, identity): the factors of z, from the
 *   vectors a, b, c, s1, s2, s3, whose addresses stand at `vectors`;
 * - `_plonk_quotient` (target, vectors, count, constants, identity): the quotient from the vectors of QUOTIENT_VECTORS,
 *   written in reversed order: place i of the vectors goes to place (size - i) mod size;
 * - `_gate_quotient`, `_permutation_quotient`: the same of the gates alone, from GATE_VECTORS, and of the copy
 *   constraints alone, from PERMUTATION_VECTORS and without the first value of z.
 */
export function defineConstraints<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  defineFactors(module, field, name);
  defineQuotient(module, field, { name: `${name}_plonk_quotient`, vectors: QUOTIENT_VECTORS }, quotientValue);
  defineQuotient(module, field, { name: `${name}_gate_quotient`, vectors: GATE_VECTORS }, gateValue);
  defineQuotient(
    module,
    field,
    { name: `${name}_permutation_quotient`, vectors: PERMUTATION_VECTORS },
    permutationValue,
  );
}

/** The elements that a kernel keeps in locals, loaded once. */
type Constants<E> = Readonly<Record<ConstraintConstant, E>>;

function loadConstants<E>(f: FunctionBuilder, field: PrimeField<E>, address: Expression<"i32">): Constants<E> {
  const base = f.let(address);
  const entries = CONSTRAINT_CONSTANTS.map((constant, i) => {
    const element = field.variable(f, field.reducedMax);
    field.assign(f, element, field.load(f, everyLane(field, base), i * field.elementBytes, field.reducedMax));
    return [constant, element] as const;
  });
  return Object.fromEntries(entries) as Record<ConstraintConstant, E>;
}

/** (a + first + gamma) (b + second + gamma) (c + third + gamma). */
function columnProduct<E>(
  f: FunctionBuilder,
  field: PrimeField<E>,
  columns: readonly { readonly value: E; readonly place: E }[],
  gamma: E,
): E {
  const factors = columns.map(({ value, place }) => field.reduce(f, field.add(f, field.add(f, value, place), gamma)));
  return factors.reduce((product, factor) => field.mul(f, product, factor));
}

function defineFactors<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const params = {
    numerators: "i32",
    denominators: "i32",
    vectors: "i32",
    count: "i32",
    constants: "i32",
    identity: "i32",
  } as const;
  module.defineNamed({ name: `${name}_permutation_factors`, params }, (f, p) => {
    const fixed = loadConstants(f, field, p.constants);
    const point = field.variable(f, field.reducedMax);
    field.assign(f, point, field.loadBlock(f, p.identity, 0, field.reducedMax));
    const vectors = [0, 1, 2, 3, 4, 5].map((i) => i32.load(p.vectors, 4 * i));
    const blockBytes = field.lanes * field.elementBytes;
    const arrays = [p.numerators, p.denominators, ...vectors];
    forEachBlock(f, { arrays, count: p.count, blockBytes }, (numerator, denominator, ...places) => {
      const [a, b, c, s1, s2, s3] = places.map((at) => field.loadBlock(f, at, 0, field.productMax)) as [
        E,
        E,
        E,
        E,
        E,
        E,
      ];
      const identity = [
        { value: a, place: point },
        { value: b, place: field.mul(f, point, fixed.k1) },
        { value: c, place: field.mul(f, point, fixed.k2) },
      ];
      const permuted = [
        { value: a, place: field.mul(f, s1, fixed.beta) },
        { value: b, place: field.mul(f, s2, fixed.beta) },
        { value: c, place: field.mul(f, s3, fixed.beta) },
      ];
      field.storeBlock(f, numerator, 0, columnProduct(f, field, identity, fixed.gamma));
      field.storeBlock(f, denominator, 0, columnProduct(f, field, permuted, fixed.gamma));
      field.assign(f, point, field.reduce(f, field.mul(f, point, fixed.step)));
    });
  });
}

/** The values of a quotient's vectors at one block of points. */
interface Place<E, Name extends string> {
  readonly values: Readonly<Record<Name, E>>;
  readonly point: E;
  readonly fixed: Constants<E>;
}

function defineQuotient<E, Name extends string>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  { name, vectors }: { readonly name: string; readonly vectors: readonly Name[] },
  valueOf: (f: FunctionBuilder, field: PrimeField<E>, at: Place<E, Name>) => E,
): void {
  const { lanes } = field;
  const blockBytes = lanes * field.elementBytes;
  const params = { target: "i32", vectors: "i32", count: "i32", constants: "i32", identity: "i32" } as const;
  module.defineNamed({ name, params }, (f, p) => {
    const fixed = loadConstants(f, field, p.constants);
    const point = field.variable(f, field.reducedMax);
    field.assign(f, point, field.loadBlock(f, p.identity, 0, field.reducedMax));
    const arrays = vectors.map((_, i) => i32.load(p.vectors, 4 * i));
    // Lane 0 of block i goes to block (count - i) mod count, lane 1 to block count - 1 - i.
    const end = f.let(i32.add(p.target, i32.mul(p.count, i32.const(blockBytes))));
    const first = f.let(p.target);
    const second = f.let(i32.sub(end, i32.const(blockBytes)));
    forEachBlock(f, { arrays, count: p.count, blockBytes }, (...places) => {
      const loaded = places.map((at, i) => [vectors[i], field.loadBlock(f, at, 0, field.productMax)] as const);
      const values = Object.fromEntries(loaded) as Record<Name, E>;
      const value = field.mul(f, valueOf(f, field, { values, point, fixed }), fixed.vanishing);
      for (const lane of lanesOf(field))
        field.storeLane(f, { address: lane === 0 ? first : second, offset: 0, lane }, value);
      f.if(i32.eq(first, p.target), () => f.set(first, end));
      f.set(first, i32.sub(first, i32.const(blockBytes)));
      f.set(second, i32.sub(second, i32.const(blockBytes)));
      field.assign(f, point, field.reduce(f, field.mul(f, point, fixed.step)));
    });
  });
}

/** gate + alpha (identity z - permuted zOmega) + alpha^2 (z - 1) L1. */
function quotientValue<E>(
  f: FunctionBuilder,
  field: PrimeField<E>,
  at: Place<E, (typeof QUOTIENT_VECTORS)[number]>,
): E {
  const { fixed, values } = at;
  const add = (x: E, y: E): E => field.reduce(f, field.add(f, x, y));
  const gate = gateValue(f, field, at);
  const moved = permutationValue(f, field, at);
  const one = field.constant(f, [1n]);
  const start = field.mul(f, field.reduce(f, field.sub(f, values.z, one)), values.firstLagrange);
  return add(add(gate, field.mul(f, moved, fixed.alpha)), field.mul(f, start, fixed.alphaSquared));
}

/** m a b + l a + r b + o c + k, and the public signals. */
function gateValue<E>(
  f: FunctionBuilder,
  field: PrimeField<E>,
  { values }: Place<E, (typeof GATE_VECTORS)[number]>,
): E {
  const { a, b, c, m, l, r, o, k, publicInputs } = values;
  const terms = [field.mul(f, field.mul(f, a, b), m), field.mul(f, a, l), field.mul(f, b, r), field.mul(f, c, o)];
  return [...terms, k, publicInputs].reduce((x, y) => field.reduce(f, field.add(f, x, y)));
}

/** identity z - permuted zOmega. */
function permutationValue<E>(
  f: FunctionBuilder,
  field: PrimeField<E>,
  { values, point, fixed }: Place<E, (typeof PERMUTATION_VECTORS)[number]>,
): E {
  const { a, b, c, z, zOmega, s1, s2, s3 } = values;
  const identity = columnProduct(
    f,
    field,
    [
      { value: a, place: point },
      { value: b, place: field.mul(f, point, fixed.k1) },
      { value: c, place: field.mul(f, point, fixed.k2) },
    ],
    fixed.gamma,
  );
  const permuted = columnProduct(
    f,
    field,
    [
      { value: a, place: field.mul(f, s1, fixed.beta) },
      { value: b, place: field.mul(f, s2, fixed.beta) },
      { value: c, place: field.mul(f, s3, fixed.beta) },
    ],
    fixed.gamma,
  );
  return field.reduce(f, field.sub(f, field.mul(f, identity, z), field.mul(f, permuted, zOmega)));
}
