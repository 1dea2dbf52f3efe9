/**
 * Defines the inversion of many blocks for the cost of one inversion, and three products for each block: P. Montgomery,
 * "Speeding the Pollard and elliptic curve methods of factorization" (Math. Comp. 48, 1987), section 10.3.1. No block
 * may be zero: a zero would make all of them zero.
 */
import type { Address } from "../field/field.js";
import type { ScratchBytes } from "../wasm/scratch-bytes.js";
import type { FunctionBuilder, FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import { i32, memoryCopy } from "../wasm/wasm-ops.js";

export interface BlockOperations {
  /** Prefix of the function's name. */
  readonly name: string;
  readonly blockBytes: number;
  /** Bytes of the scratch of `invert`. */
  readonly inversionScratchBytes: number;
  /** (target, a, b): target := a b, addresses of blocks; all may be the same. */
  readonly product: FunctionHandle;
  /** Stores 1 as a block. */
  storeOne(f: FunctionBuilder, target: Address): void;
  /** target := 1 / source. */
  invert(
    f: FunctionBuilder,
    addresses: { readonly target: Address; readonly source: Address; readonly scratch: Address },
  ): void;
}

/** Defines (blocks, count, scratch): inverts in place, with the scratch that `blockInversionScratch` says. */
export function defineBlockInversion(module: ModuleBuilder, operations: BlockOperations): FunctionHandle {
  const { name, blockBytes, product } = operations;
  return module.define(
    { name: `${name}_invert_blocks`, params: ["i32", "i32", "i32"], exported: false },
    (f, blocks, count, scratch) => {
      const inverse = f.let(i32.add(scratch, i32.const(blockBytes)));
      const partials = f.let(i32.add(scratch, i32.const(2 * blockBytes + operations.inversionScratchBytes)));
      const size = f.let(i32.mul(count, i32.const(blockBytes)));
      operations.storeOne(f, scratch);
      f.for(i32.const(0), size, blockBytes, (offset) => {
        f.run(memoryCopy(i32.add(partials, offset), scratch, i32.const(blockBytes)));
        f.call(product, [scratch, scratch, i32.add(blocks, offset)]);
      });
      operations.invert(f, {
        target: scratch,
        source: scratch,
        scratch: f.let(i32.add(scratch, i32.const(2 * blockBytes))),
      });
      const offset = f.let(size);
      f.while(offset, () => {
        f.set(offset, i32.sub(offset, i32.const(blockBytes)));
        const block = f.let(i32.add(blocks, offset));
        f.call(product, [inverse, scratch, i32.add(partials, offset)]);
        f.call(product, [scratch, scratch, block]);
        f.run(memoryCopy(block, inverse, i32.const(blockBytes)));
      });
    },
  );
}

/** Returns the scratch that the inversion takes, by blocks. */
export function blockInversionScratch({
  blockBytes,
  inversionScratchBytes,
}: Pick<BlockOperations, "blockBytes" | "inversionScratchBytes">): ScratchBytes {
  return { base: 2 * blockBytes + inversionScratchBytes, perStep: blockBytes, itemsPerStep: 1 };
}
