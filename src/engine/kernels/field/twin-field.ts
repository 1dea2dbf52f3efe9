/**
 * A prime field of two lanes in functions of two halves (wasm-builder.ts): each half works on a block of two of its
 * own, at an address of its own. What both have is kept packed: 32 bytes for each limb, those of the second half behind
 * those of the first, which V8 loads and stores as one (wide-field.ts).
 */
import { FmaField } from "./fma-field.js";
import type { ColumnPlaces, FmaElement, FmaFactor } from "./fma-arithmetic.js";
import type { Address, Product } from "./field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";
import type { Half } from "../wasm/wasm-bytes.js";
import { i32, perHalf, v128 } from "../wasm/wasm-ops.js";
import type { Expression, Local, Statement } from "../wasm/wasm-ops.js";

/** An address for each half. */
export type TwinAddresses = readonly [Address, Address];

/** The second of two neighbours is stored first: V8 keeps a store of 128 bits besides when the first one is. */
const STORE_ORDER = [1, 0] as const;

export class TwinField extends FmaField {
  /** Bytes of what both halves have, packed. */
  readonly packedBytes: number;
  /** Bytes of the scratch of the constructor. */
  readonly scratchBytes: number;
  readonly #scratch: number;
  readonly #columns: ColumnPlaces;

  /** @param scratch address of bytes that hold nothing between operations. */
  constructor(prime: bigint, scratch: number) {
    super(prime);
    this.packedBytes = 4 * this.elementBytes;
    const { columnCount } = this.arithmetic;
    this.scratchBytes = this.packedBytes + 32 * columnCount;
    this.#scratch = scratch;
    const at = i32.const(scratch + this.packedBytes);
    this.#columns = {
      inParts: true,
      keep: (f, column, value) => {
        f.run(packedStore(at, 32 * column, value));
        return value;
      },
    };
  }

  /** Loads the block of each half. */
  loadTwins(f: FunctionBuilder, addresses: TwinAddresses, max: bigint): FmaElement {
    return this.fromLocals(
      this.limbIndices().map((j) => f.let(perHalf((half) => v128.load(addresses[half], 16 * j)))),
      max,
    );
  }

  /** Loads the number at each half's address into both lanes of it. */
  splatTwins(f: FunctionBuilder, addresses: TwinAddresses): Local<"v128"> {
    return f.let(perHalf((half) => v128.load64Splat(addresses[half])));
  }

  /**
   * Stores the block of each half. V8 pairs what ends in stores to neighbouring addresses: so both are stored packed
   * first, which nobody reads.
   */
  storeTwins(f: FunctionBuilder, targets: TwinAddresses, element: FmaElement): void {
    this.storePacked(f, i32.const(this.#scratch), 0, element);
    for (const [j, limb] of element.limbs.entries())
      for (const half of [0, 1] as const) f.runOnHalf(half, v128.store(targets[half], limb.local, 16 * j));
  }

  /** Stores what both halves have. */
  storePacked(f: FunctionBuilder, address: Address, offset: number, element: FmaElement): void {
    this.requireNormal(element);
    for (const [j, limb] of element.limbs.entries()) f.run(packedStore(address, offset + 32 * j, limb.local));
  }

  /** What both halves have, as a factor whose limbs are loaded where they are used. */
  packedFactor(address: Address, offset: number, max: bigint): FmaFactor {
    return this.arithmetic.factor(
      this.limbIndices().map((j) => packedLoad(address, offset + 32 * j)),
      max,
    );
  }

  /** As `sumOfProducts` of one. */
  override mul(f: FunctionBuilder, a: FmaElement, b: FmaElement): FmaElement {
    return this.sumOfProducts(f, [{ a, b }]);
  }

  /** Keeps the columns apart in memory: a tree of operations must not become too deep for V8. */
  override sumOfProducts(f: FunctionBuilder, products: readonly Product<FmaFactor>[]): FmaElement {
    return this.arithmetic.sumOfProducts(f, products, this.#columns);
  }
}

function packedLoad(address: Address, offset: number): Expression<"v128"> {
  return perHalf((half) => v128.load(address, offset + 16 * half));
}

function packedStore(address: Address, offset: number, value: Expression<"v128">): Statement {
  return {
    emit: (code) => {
      const before: Half = code.half;
      for (const half of STORE_ORDER) {
        code.half = half;
        v128.store(address, value, offset + 16 * half).emit(code);
      }
      code.half = before;
    },
  };
}
