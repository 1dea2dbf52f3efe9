/**
 * Emits one hash of two elements on both lanes, for paths in trees, where each hash waits for the one before: element 0
 * of the state stands in both lanes, elements 1 and 2 share a block. A partial round has five products this way, where
 * the rounds of two hashes at once have seven.
 */
import { everyLane } from "../field/field.js";
import type { Address, PrimeField } from "../field/field.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32 } from "../wasm/wasm-ops.js";
import { fifthPower } from "./rounds.js";
import type { HashShape } from "./rounds.js";

const WIDTH = 3;

/** Defines `hash_2_alone` (target, source, constants, scratch): as `hash_2` for one hash, over a field of two lanes. */
export function defineSinglePair<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  outlined: PrimeField<E>,
  { integerBytes, halfBytes, partialBytes }: HashShape,
): void {
  const blockBytes = field.elementBytes * field.lanes;
  const fullRounds = defineFullRounds(module, outlined);
  const partialRounds = definePartialRounds(module, outlined);
  const params = { target: "i32", source: "i32", constants: "i32", scratch: "i32" } as const;
  module.defineNamed({ name: "hash_2_alone", params }, (f, { target, source, constants, scratch }) => {
    const middle = f.let(i32.add(constants, i32.const(halfBytes)));
    const late = f.let(i32.add(middle, i32.const(partialBytes)));
    const end = f.let(i32.add(late, i32.const(halfBytes)));
    field.storeBlock(f, scratch, 0, field.constant(f, [0n]));
    const places = [source, f.let(i32.add(source, i32.const(integerBytes)))];
    const inputs = field.mul(f, field.unpack(f, places, integerBytes), field.rawConstant(f, field.radix ** 2n));
    field.storeBlock(f, scratch, blockBytes, field.reduce(f, inputs));
    f.call(fullRounds, [scratch, constants, middle]);
    f.call(partialRounds, [scratch, middle, late]);
    f.call(fullRounds, [scratch, late, end]);
    const result = field.mul(f, field.loadBlock(f, scratch, 0, field.productMax), field.rawConstant(f, 1n));
    field.pack(f, [target, target], integerBytes, result);
  });
}

/** Constants from `at` on: one for both lanes, or two of them side by side. */
function constantsAt<E>(f: FunctionBuilder, field: PrimeField<E>, at: Address) {
  const { elementBytes, reducedMax } = field;
  return {
    both: (place: number): E => field.load(f, everyLane(field, at), place * elementBytes, reducedMax),
    pair: (first: number, second: number): E =>
      field.load(
        f,
        [at, f.let(i32.add(at, i32.const((second - first) * elementBytes)))],
        first * elementBytes,
        reducedMax,
      ),
  };
}

/** Defines (state, constants, end): rounds with an S-box for each element, until the constants end. */
function defineFullRounds<E>(module: ModuleBuilder, field: PrimeField<E>): FunctionHandle {
  const { elementBytes } = field;
  const blockBytes = elementBytes * field.lanes;
  return module.define(
    { name: "full_rounds_alone", params: ["i32", "i32", "i32"], exported: false },
    (f, state, constants, end) => {
      const at = f.let(constants);
      const { both, pair } = constantsAt(f, field, at);
      const entry = (row: number, column: number): number => WIDTH + WIDTH * row + column;
      const [head, others] = loadState(f, field, state);
      f.while(i32.ltU(at, end), () => {
        const first = fifthPower(f, field, field.normalize(f, field.add(f, head, both(0))));
        const rest = fifthPower(f, field, field.normalize(f, field.add(f, others, pair(1, 2))));
        const [second, third] = field.transpose(f, rest, rest);
        const column = (index: number): E => pair(entry(1, index), entry(2, index));
        const below = field.sumOfProducts(f, [
          { a: first, b: column(0) },
          { a: second, b: column(1) },
          { a: third, b: column(2) },
        ]);
        const across = field.sumOfLanes(f, field.mul(f, rest, pair(entry(0, 1), entry(0, 2))));
        const top = field.add(f, field.mul(f, first, both(entry(0, 0))), across);
        field.assign(f, head, field.reduce(f, top));
        field.assign(f, others, field.reduce(f, below));
        f.set(at, i32.add(at, i32.const((WIDTH + WIDTH * WIDTH) * elementBytes)));
      });
      field.storeBlock(f, state, 0, head);
      field.storeBlock(f, state, blockBytes, others);
    },
  );
}

/** Defines (state, constants, end): rounds with an S-box for element 0 alone, in the sparse form. */
function definePartialRounds<E>(module: ModuleBuilder, field: PrimeField<E>): FunctionHandle {
  const { elementBytes } = field;
  const blockBytes = elementBytes * field.lanes;
  return module.define(
    { name: "partial_rounds_alone", params: ["i32", "i32", "i32"], exported: false },
    (f, state, constants, end) => {
      const at = f.let(constants);
      const { both, pair } = constantsAt(f, field, at);
      const [head, others] = loadState(f, field, state);
      field.assign(f, head, field.reduce(f, field.add(f, head, both(0))));
      f.set(at, i32.add(at, i32.const(elementBytes)));
      f.while(i32.ltU(at, end), () => {
        const power = fifthPower(f, field, head);
        const across = field.sumOfLanes(f, field.mul(f, others, pair(0, 1)));
        field.assign(f, head, field.reduce(f, field.add(f, field.add(f, across, both(4)), power)));
        field.assign(f, others, field.reduce(f, field.add(f, others, field.mul(f, power, pair(2, 3)))));
        f.set(at, i32.add(at, i32.const((2 * WIDTH - 1) * elementBytes)));
      });
      field.storeBlock(f, state, 0, head);
      field.storeBlock(f, state, blockBytes, others);
    },
  );
}

/** Element 0 in both lanes, and elements 1 and 2 side by side. */
function loadState<E>(f: FunctionBuilder, field: PrimeField<E>, state: Address): readonly [E, E] {
  const [head, others] = [field.variable(f, field.reducedMax), field.variable(f, field.reducedMax)];
  field.assign(f, head, field.loadBlock(f, state, 0, field.reducedMax));
  field.assign(f, others, field.loadBlock(f, state, field.elementBytes * field.lanes, field.reducedMax));
  return [head, others];
}
