/**
 * Defines the inversion of many blocks for the cost of one inversion, and three products for each block: P. Montgomery,
 * "Speeding the Pollard and elliptic curve methods of factorization" (Math. Comp. 48, 1987), section 10.3.1. No block
 * may be zero: a zero would make all of them zero. Several chains of products run side by side, since a product waits
 * for the one before it, and are joined for the inversion.
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

/** Chains of products for each that is computed at once: while one waits, the other goes on. */
const CHAINS_FOR_EACH = 2;
/** Scratch is the same whether or not two products are computed at once: four chains, their inverses, and products. */
const CHAINS_MAX = 2 * CHAINS_FOR_EACH;
const CHAIN_BLOCKS = 3 * CHAINS_MAX - 1;

/** Defines (blocks, count, scratch): inverts in place, with the scratch that `blockInversionScratch` says. */
export function defineBlockInversion(module: ModuleBuilder, operations: BlockOperations): FunctionHandle {
  const { name, blockBytes, atOnce } = operations;
  const chains = Array.from({ length: CHAINS_FOR_EACH * atOnce }, (_, chain) => chain);
  return module.define(
    { name: `${name}_invert_blocks`, params: ["i32", "i32", "i32"], exported: false },
    (f, blocks, count, scratch) => {
      const at = (i: number): Address => f.let(i32.add(scratch, i32.const(i * blockBytes)));
      const [running, inverses] = [chains.map((i) => at(i)), chains.map((i) => at(CHAINS_MAX + i))];
      const joined = chains.slice(1).map((_, i) => at(2 * CHAINS_MAX + i));
      const rest = at(CHAIN_BLOCKS);
      const partials = f.let(i32.add(rest, i32.const(operations.inversionScratchBytes)));
      const copy = (to: Address, from: Address): void => f.run(memoryCopy(to, from, i32.const(blockBytes)));
      // Past the end, the last block is taken once more, by several chains at once.
      const last = f.let(i32.mul(i32.sub(count, i32.const(1)), i32.const(blockBytes)));
      const placesFrom = (offset: Address): Address[] =>
        chains.map((i) => {
          const own = f.let(i32.add(offset, i32.const(i * blockBytes)));
          return f.let(i32.add(blocks, i32.select(last, own, i32.gtU(own, last))));
        });
      const partialsFrom = (offset: Address): Address[] =>
        chains.map((i) => f.let(i32.add(partials, i32.add(offset, i32.const(i * blockBytes)))));
      for (const chain of running) operations.storeOne(f, chain);
      const step = chains.length * blockBytes;
      const size = f.let(i32.mul(count, i32.const(blockBytes)));
      const offset = f.let(i32.const(0));
      f.while(i32.ltU(offset, size), () => {
        for (const [i, partial] of partialsFrom(offset).entries()) copy(partial, of(running, i));
        const places = placesFrom(offset);
        operations.products(
          f,
          running.map((chain, i) => ({ target: chain, a: chain, b: of(places, i) })),
        );
        f.set(offset, i32.add(offset, i32.const(step)));
      });
      emitJoinedInversion(f, operations, { chains: running, inverses, joined, scratch: rest });
      for (const [i, chain] of running.entries()) copy(chain, of(inverses, i));
      f.while(offset, () => {
        f.set(offset, i32.sub(offset, i32.const(step)));
        const [places, befores] = [placesFrom(offset), partialsFrom(offset)];
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
  const base = CHAIN_BLOCKS * blockBytes + inversionScratchBytes;
  return { base: base + (CHAINS_MAX - 1) * blockBytes, perStep: blockBytes, itemsPerStep: 1 };
}

interface JoinedChains {
  /** A power of two of them. */
  readonly chains: readonly Address[];
  /** One for each chain. */
  readonly inverses: readonly Address[];
  /** Room for products, one less than there are chains. */
  readonly joined: readonly Address[];
  readonly scratch: Address;
}

/** Emits the inverse of each chain's end, with one inversion: 1 / a = b / (a b) and 1 / b = a / (a b). */
function emitJoinedInversion(
  f: FunctionBuilder,
  operations: BlockOperations,
  { chains, inverses, joined, scratch }: JoinedChains,
): void {
  const half = chains.length / 2;
  if (half < 1) {
    operations.invert(f, { target: of(inverses, 0), source: of(chains, 0), scratch });
    return;
  }
  const [products, deeper] = [joined.slice(0, half), joined.slice(half)];
  operations.products(
    f,
    products.map((target, i) => ({ target, a: of(chains, i), b: of(chains, half + i) })),
  );
  emitJoinedInversion(f, operations, { chains: products, inverses: inverses.slice(0, half), joined: deeper, scratch });
  for (const [i, product] of products.entries())
    f.run(memoryCopy(product, of(inverses, i), i32.const(operations.blockBytes)));
  operations.products(
    f,
    inverses.map((target, i) => ({ target, a: of(products, i % half), b: of(chains, (i + half) % (2 * half)) })),
  );
}

function of(items: readonly Address[], i: number): Address {
  const item = items[i];
  if (item === undefined) throw new Error("there is no such chain");
  return item;
}
