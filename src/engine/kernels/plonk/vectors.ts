/**
 * Emits operations on vectors of scalars that PLONK and FFLONK need beside the transforms (ntt/ntt.ts): gathers,
 * products that run along a vector, inner products, and division of a polynomial by a power of X minus a number.
 */
import { everyLane, lanesOf } from "../field/field.js";
import type { Address, PrimeField } from "../field/field.js";
import { forEachBlock } from "../ntt/ntt.js";
import type { FunctionBuilder, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32 } from "../wasm/wasm-ops.js";
import type { Local } from "../wasm/wasm-ops.js";

/** Bytes of one addition: left wire u32 || right wire u32 || index of each one's factor u32. */
export const ADDITION_BYTES = 16;

/**
 * Defines, with addresses of blocks and elements at rest (field.ts), sizes in blocks unless said otherwise, and all
 * values in Montgomery form:
 * - `_gather_elements` (target, map, count, elements): element i of the blocks at `target` := elements[map[i]];
 * - `_add_wires` (target, additions, count, factors, wires): `count` elements at `target`, each the sum of two wires
 *   times their factors, one after the other, so that an addition may use the result of an earlier one;
 * - `_export_blocks` (target, source, count): canonical little-endian integers;
 * - `_order_elements` (target, source, order, count, stride): `count` elements, `stride` bytes apart, the i-th from
 *   place order[i] of the blocks;
 * - `_add_scaled` (target, source, count, factor): target += source * factor;
 * - `_add_scaled_elements`: the same for an array of `count` elements, at least one;
 * - `_inner_product` (target, a, b, count): one element;
 * - `_prefix_products` (target, source, count, total): place i := product of the places before it; total := all;
 * - `_suffix_products` (target, source, count): place i := product of place i and those behind it;
 * - `_rotate_blocks` (target, source, count): place i := place i - 1, and place 0 the last one;
 * - `_divide_linear` (data, count, stride, root, rest): the polynomial of `count` elements, `stride` bytes apart and
 *   lowest first, is replaced by its quotient by X - root (one coefficient less, the highest 0); rest := the remainder;
 * - `_divide_power` (data, count, degree, root): the polynomial of `count` neighbouring elements, lowest first, is
 *   replaced by its remainder by X^degree - root, of `degree` elements, and behind it the quotient; degree > 1.
 *
 * Stored elements are within productMax, factors reduced.
 */
export function defineVectors<E>(module: ModuleBuilder, field: PrimeField<E>, bytes: number, name: string): void {
  defineGathers(module, field, name);
  defineAddWires(module, field, name);
  defineExport(module, field, bytes, name);
  defineSums(module, field, name);
  defineRunningProducts(module, field, name);
  defineRotation(module, field, name);
  defineDivision(module, field, name);
}

function defineGathers<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const { lanes, elementBytes } = field;
  const gather = { target: "i32", map: "i32", count: "i32", elements: "i32" } as const;
  module.defineNamed({ name: `${name}_gather_elements`, params: gather }, (f, { target, map, count, elements }) => {
    const at = f.let(map);
    forEachBlock(f, { arrays: [target], count, blockBytes: lanes * elementBytes }, (to) => {
      const addresses = lanesOf(field).map((lane) =>
        f.let(i32.add(elements, i32.mul(i32.load(at, 4 * lane), i32.const(elementBytes)))),
      );
      field.storeBlock(f, to, 0, field.load(f, addresses, 0, field.productMax));
      f.set(at, i32.add(at, i32.const(4 * lanes)));
    });
  });
  const order = { target: "i32", source: "i32", order: "i32", count: "i32", stride: "i32" } as const;
  module.defineNamed(
    { name: `${name}_order_elements`, params: order },
    (f, { target, source, order: places, count, stride }) => {
      const [to, at] = [f.let(target), f.let(places)];
      f.for(i32.const(0), count, 1, () => {
        const place = f.let(i32.load(at));
        const address = f.let(
          i32.add(source, i32.mul(i32.shrU(place, i32.const(lanes - 1)), i32.const(lanes * elementBytes))),
        );
        for (const lane of lanesOf(field)) {
          f.if(i32.eq(i32.and(place, i32.const(lanes - 1)), i32.const(lane)), () => {
            field.store(f, [to], 0, field.loadLane(f, { address, offset: 0, lane }, field.productMax));
          });
        }
        f.set(at, i32.add(at, i32.const(4)));
        f.set(to, i32.add(to, stride));
      });
    },
  );
}

function defineAddWires<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const { lanes, elementBytes } = field;
  const params = { target: "i32", additions: "i32", count: "i32", factors: "i32", wires: "i32" } as const;
  module.defineNamed({ name: `${name}_add_wires`, params }, (f, { target, additions, count, factors, wires }) => {
    const [to, at] = [f.let(target), f.let(additions)];
    const place = (base: Address, offset: number): Local<"i32"> =>
      f.let(i32.add(base, i32.mul(i32.load(at, offset), i32.const(elementBytes))));
    f.for(i32.const(0), count, 1, () => {
      const [left, right] = [place(wires, 0), place(wires, 4)];
      const [leftFactor, rightFactor] = [place(factors, 8), place(factors, 12)];
      const product = (wire: readonly Address[], factor: readonly Address[]): E =>
        field.mul(f, field.load(f, wire, 0, field.productMax), field.load(f, factor, 0, field.reducedMax));
      const sum =
        lanes === 2
          ? field.sumOfLanes(f, product([left, right], [leftFactor, rightFactor]))
          : field.add(f, product([left], [leftFactor]), product([right], [rightFactor]));
      field.store(f, [to], 0, field.reduce(f, sum));
      f.set(at, i32.add(at, i32.const(ADDITION_BYTES)));
      f.set(to, i32.add(to, i32.const(elementBytes)));
    });
  });
}

function defineExport<E>(module: ModuleBuilder, field: PrimeField<E>, bytes: number, name: string): void {
  const { lanes, elementBytes } = field;
  const params = { target: "i32", source: "i32", count: "i32" } as const;
  module.defineNamed({ name: `${name}_export_blocks`, params }, (f, { target, source, count }) => {
    const out = f.let(target);
    const one = field.rawConstant(f, 1n);
    forEachBlock(f, { arrays: [source], count, blockBytes: lanes * elementBytes }, (from) => {
      const value = field.mul(f, field.loadBlock(f, from, 0, field.productMax), one);
      const targets = lanesOf(field).map((lane) => f.let(i32.add(out, i32.const(lane * bytes))));
      field.pack(f, targets, bytes, value);
      f.set(out, i32.add(out, i32.const(lanes * bytes)));
    });
  });
}

function defineSums<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const blockBytes = field.lanes * field.elementBytes;
  const scaled = { target: "i32", source: "i32", count: "i32", factor: "i32" } as const;
  module.defineNamed({ name: `${name}_add_scaled`, params: scaled }, (f, { target, source, count, factor }) => {
    const scale = field.variable(f, field.reducedMax);
    field.assign(f, scale, field.load(f, everyLane(field, factor), 0, field.reducedMax));
    forEachBlock(f, { arrays: [target, source], count, blockBytes }, (to, from) => {
      const product = field.mul(f, field.loadBlock(f, from, 0, field.productMax), scale);
      field.storeBlock(f, to, 0, field.reduce(f, field.add(f, field.loadBlock(f, to, 0, field.productMax), product)));
    });
  });
  defineElementSums(module, field, name);
  const inner = { target: "i32", a: "i32", b: "i32", count: "i32" } as const;
  module.defineNamed({ name: `${name}_inner_product`, params: inner }, (f, { target, a, b, count }) => {
    const sum = field.variable(f, field.reducedMax);
    field.assign(f, sum, field.constant(f, [0n]));
    forEachBlock(f, { arrays: [a, b], count, blockBytes }, (left, right) => {
      const product = field.mul(
        f,
        field.loadBlock(f, left, 0, field.productMax),
        field.loadBlock(f, right, 0, field.productMax),
      );
      field.assign(f, sum, field.reduce(f, field.add(f, sum, product)));
    });
    const total = field.lanes === 2 ? field.reduce(f, field.sumOfLanes(f, sum)) : sum;
    field.store(f, [target], 0, total);
  });
}

function defineElementSums<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const { elementBytes } = field;
  const params = { target: "i32", source: "i32", count: "i32", factor: "i32" } as const;
  module.defineNamed({ name: `${name}_add_scaled_elements`, params }, (f, { target, source, count, factor }) => {
    const scale = field.variable(f, field.reducedMax);
    field.assign(f, scale, field.load(f, everyLane(field, factor), 0, field.reducedMax));
    const last = f.let(i32.mul(i32.sub(count, i32.const(1)), i32.const(elementBytes)));
    const offset = f.let(i32.const(0));
    f.for(i32.const(0), count, field.lanes, () => {
      // Past the end both lanes do the last element.
      const next = f.let(i32.add(offset, i32.const(elementBytes)));
      const second = f.let(i32.select(last, next, i32.gtU(next, last)));
      const offsets = field.lanes === 2 ? [offset, second] : [offset];
      const places = (base: Address): Address[] => offsets.map((each) => f.let(i32.add(base, each)));
      const [to, from] = [places(target), places(source)];
      const product = field.mul(f, field.load(f, from, 0, field.productMax), scale);
      const sum = field.add(f, field.load(f, to, 0, field.productMax), product);
      field.store(f, to, 0, field.reduce(f, sum));
      f.set(offset, i32.add(offset, i32.const(field.lanes * elementBytes)));
    });
  });
}

function defineRunningProducts<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const blockBytes = field.lanes * field.elementBytes;
  const prefix = { target: "i32", source: "i32", count: "i32", total: "i32" } as const;
  module.defineNamed({ name: `${name}_prefix_products`, params: prefix }, (f, { target, source, count, total }) => {
    const product = field.variable(f, field.productMax);
    field.assign(f, product, field.constant(f, [1n]));
    forEachBlock(f, { arrays: [target, source], count, blockBytes }, (to, from) => {
      for (const lane of lanesOf(field)) {
        field.storeLane(f, { address: to, offset: 0, lane }, product);
        const factor = field.loadLane(f, { address: from, offset: 0, lane }, field.productMax);
        field.assign(f, product, field.mul(f, product, factor));
      }
    });
    field.store(f, [total], 0, field.reduce(f, product));
  });
  const suffix = { target: "i32", source: "i32", count: "i32" } as const;
  module.defineNamed({ name: `${name}_suffix_products`, params: suffix }, (f, { target, source, count }) => {
    const product = field.variable(f, field.productMax);
    field.assign(f, product, field.constant(f, [1n]));
    const from = f.let(i32.add(source, i32.mul(count, i32.const(blockBytes))));
    const to = f.let(i32.add(target, i32.mul(count, i32.const(blockBytes))));
    f.while(i32.gtU(from, source), () => {
      f.set(from, i32.sub(from, i32.const(blockBytes)));
      f.set(to, i32.sub(to, i32.const(blockBytes)));
      for (const lane of [...lanesOf(field)].reverse()) {
        const factor = field.loadLane(f, { address: from, offset: 0, lane }, field.productMax);
        field.assign(f, product, field.mul(f, product, factor));
        field.storeLane(f, { address: to, offset: 0, lane }, product);
      }
    });
  });
}

function defineRotation<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const blockBytes = field.lanes * field.elementBytes;
  const lastLane = field.lanes === 2 ? 1 : 0;
  const params = { target: "i32", source: "i32", count: "i32" } as const;
  module.defineNamed({ name: `${name}_rotate_blocks`, params }, (f, { target, source, count }) => {
    const end = f.let(i32.add(source, i32.mul(i32.sub(count, i32.const(1)), i32.const(blockBytes))));
    const before = field.variable(f, field.productMax);
    field.assign(f, before, field.loadLane(f, { address: end, offset: 0, lane: lastLane }, field.productMax));
    forEachBlock(f, { arrays: [target, source], count, blockBytes }, (to, from) => {
      for (const lane of lanesOf(field)) {
        field.storeLane(f, { address: to, offset: 0, lane }, before);
        field.assign(f, before, field.loadLane(f, { address: from, offset: 0, lane }, field.productMax));
      }
    });
  });
}

function defineDivision<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  definePowerDivision(module, field, name);
  const params = { data: "i32", count: "i32", stride: "i32", root: "i32", rest: "i32" } as const;
  module.defineNamed({ name: `${name}_divide_linear`, params }, (f, { data, count, stride, root, rest }) => {
    const factor = field.variable(f, field.reducedMax);
    field.assign(f, factor, field.load(f, everyLane(field, root), 0, field.reducedMax));
    const carry = field.variable(f, field.reducedMax);
    field.assign(f, carry, field.constant(f, [0n]));
    const at = f.let(i32.add(data, i32.mul(count, stride)));
    f.while(i32.gtU(at, data), () => {
      f.set(at, i32.sub(at, stride));
      const coefficient = field.load(f, everyLane(field, at), 0, field.productMax);
      const next = field.reduce(f, field.add(f, coefficient, field.mul(f, carry, factor)));
      field.store(f, [at], 0, carry);
      field.assign(f, carry, next);
    });
    field.store(f, [rest], 0, carry);
  });
}

/** Neighbouring coefficients do not depend on each other, so that the lanes take two at a time. */
function definePowerDivision<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const { elementBytes } = field;
  const params = { data: "i32", count: "i32", degree: "i32", root: "i32" } as const;
  module.defineNamed({ name: `${name}_divide_power`, params }, (f: FunctionBuilder, { data, count, degree, root }) => {
    const factor = field.variable(f, field.reducedMax);
    field.assign(f, factor, field.load(f, everyLane(field, root), 0, field.reducedMax));
    const distance = f.let(i32.mul(degree, i32.const(elementBytes)));
    const at = f.let(i32.add(data, i32.mul(i32.sub(count, degree), i32.const(elementBytes))));
    f.while(i32.gtU(at, data), () => {
      f.set(at, i32.sub(at, i32.const(elementBytes)));
      // At the lowest coefficient both lanes do the same.
      const below = f.let(i32.select(i32.sub(at, i32.const(elementBytes)), data, i32.gtU(at, data)));
      const places = field.lanes === 2 ? [at, below] : [at];
      const above = places.map((place) => f.let(i32.add(place, distance)));
      const product = field.mul(f, field.load(f, above, 0, field.productMax), factor);
      const sum = field.add(f, field.load(f, places, 0, field.productMax), product);
      field.store(f, places, 0, field.reduce(f, sum));
      if (field.lanes === 2) f.set(at, below);
    });
  });
}
