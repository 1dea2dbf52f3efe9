/**
 * Defines the inversion of many blocks for the cost of one inversion, and three products for each block: P. Montgomery,
 * "Speeding the Pollard and elliptic curve methods of factorization" (Math. Comp. 48, 1987), section 10.3.1. No block
 * may be zero: a zero would make all of them zero. Where two products are computed at once, two chains of products run
 * side by side and are joined for the inversion.
 */
import type { Address } from "../field/field.js";
import type { ScratchBytes } from "../wasm/scratch-bytes.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32, memoryCopy } from "../wasm/wasm-ops.js";

/** target := a b, addresses of blocks. */
interface BlockProductJob {
  readonly target: Address;
  readonly a: Address;
  readonly b: Address;
}

export interface BlockOperations {
  /** Prefix of the function's name. */
  readonly name: string;
  readonly blockBytes: number;
  /** Bytes of the scratch of `invert`. */
  readonly inversionScratchBytes: number;
  /** Products that are computed at once. */
  readonly atOnce: 1 | 2;
  /** Emits products; a target may be an operand of its own and of those before it. */
  products(f: FunctionBuilder, jobs: readonly BlockProductJob[]): void;
  /** Stores 1 as a block. */
  storeOne(f: FunctionBuilder, target: Address): void;
  /** target := 1 / source. */
  invert(
    f: FunctionBuilder,
    addresses: { readonly target: Address; readonly source: Address; readonly scratch: Address },
  ): void;
}

/** The most chains that there are: scratch is the same for one and for two. */
const CHAINS_MAX = 2;

/** Defines (blocks, count, scratch): inverts in place, with the scratch that `blockInversionScratch` says. */
export function defineBlockInversion(module: ModuleBuilder, operations: BlockOperations): FunctionHandle {
  const { name, blockBytes, atOnce } = operations;
  const chains = Array.from({ length: atOnce }, (_, chain) => chain);
  return module.define(
    { name: `${name}_invert_blocks`, params: ["i32", "i32", "i32"], exported: false },
    (f, blocks, count, scratch) => {
      const at = (i: number): Address => f.let(i32.add(scratch, i32.const(i * blockBytes)));
      const [running, inverses] = [chains.map((i) => at(i)), chains.map((i) => at(CHAINS_MAX + i))];
      const joined = at(2 * CHAINS_MAX);
      const rest = at(2 * CHAINS_MAX + 1);
      const partials = f.let(i32.add(rest, i32.const(operations.inversionScratchBytes)));
      const copy = (to: Address, from: Address): void => f.run(memoryCopy(to, from, i32.const(blockBytes)));
      // Of an odd number, two chains take the last block both.
      const last = f.let(i32.mul(i32.sub(count, i32.const(1)), i32.const(blockBytes)));
      const offsetsFrom = (offset: Address): Address[] =>
        chains.map((i) => {
          const own = f.let(i32.add(offset, i32.const(i * blockBytes)));
          return i === 0 ? own : f.let(i32.select(last, own, i32.gtU(own, last)));
        });
      for (const chain of running) operations.storeOne(f, chain);
      const step = atOnce * blockBytes;
      const size = f.let(i32.mul(count, i32.const(blockBytes)));
      f.for(i32.const(0), size, step, (offset) => {
        for (const [i, chain] of running.entries())
          copy(f.let(i32.add(partials, i32.add(offset, i32.const(i * blockBytes)))), chain);
        const places = offsetsFrom(offset).map((own) => f.let(i32.add(blocks, own)));
        operations.products(
          f,
          running.map((chain, i) => ({ target: chain, a: chain, b: of(places, i) })),
        );
      });
      emitJoinedInversion(f, operations, { running, inverses, joined, scratch: rest });
      const offset = f.let(i32.mul(i32.const(step), divided(i32.add(count, i32.const(atOnce - 1)), atOnce)));
      f.while(offset, () => {
        f.set(offset, i32.sub(offset, i32.const(step)));
        const places = offsetsFrom(offset).map((own) => f.let(i32.add(blocks, own)));
        const befores = chains.map((i) => f.let(i32.add(partials, i32.add(offset, i32.const(i * blockBytes)))));
        operations.products(f, [
          ...running.map((chain, i) => ({ target: of(inverses, i), a: chain, b: of(befores, i) })),
          ...running.map((chain, i) => ({ target: chain, a: chain, b: of(places, i) })),
        ]);
        for (const [i, place] of places.entries()) copy(place, of(inverses, i));
      });
    },
  );
}

/** Returns the scratch that the inversion takes, by blocks. */
export function blockInversionScratch({
  blockBytes,
  inversionScratchBytes,
}: Pick<BlockOperations, "blockBytes" | "inversionScratchBytes">): ScratchBytes {
  const base = (2 * CHAINS_MAX + 1) * blockBytes + inversionScratchBytes;
  return { base: base + (CHAINS_MAX - 1) * blockBytes, perStep: blockBytes, itemsPerStep: 1 };
}

interface JoinedChains {
  readonly running: readonly Address[];
  readonly inverses: readonly Address[];
  readonly joined: Address;
  readonly scratch: Address;
}

/** Inverts the ends of all chains: with two, 1 / a = b / (a b) and 1 / b = a / (a b). */
function emitJoinedInversion(
  f: FunctionBuilder,
  operations: BlockOperations,
  { running, inverses, joined, scratch }: JoinedChains,
): void {
  const [first, second] = running;
  if (first === undefined) throw new Error("there is no chain");
  if (second === undefined) {
    operations.invert(f, { target: first, source: first, scratch });
    return;
  }
  operations.products(f, [{ target: joined, a: first, b: second }]);
  operations.invert(f, { target: joined, source: joined, scratch });
  operations.products(f, [
    { target: of(inverses, 0), a: joined, b: second },
    { target: of(inverses, 1), a: joined, b: first },
  ]);
  for (const [i, chain] of running.entries())
    f.run(memoryCopy(chain, of(inverses, i), i32.const(operations.blockBytes)));
}

function divided(value: Address, by: 1 | 2): Address {
  return by === 1 ? value : i32.shrU(value, i32.const(1));
}

function of(items: readonly Address[], i: number): Address {
  const item = items[i];
  if (item === undefined) throw new Error("there is no such chain");
  return item;
}
