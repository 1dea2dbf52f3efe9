/**
 * A prime field of four lanes: the arithmetic of FmaField in functions of two halves (wasm-builder.ts), one for the
 * lanes 0 and 1 and one for 2 and 3. What differs is memory, written so that V8 can make one 256-bit instruction of the
 * two halves of a statement: it starts at two stores of 16 bytes each that are neighbours, and works back from there.
 *
 * In a function of one half the field has two lanes, both of which hold the one lane that is loaded and stored.
 */
import { FmaField, HIGH_LANES, LOW_LANES } from "./fma-field.js";
import type { FmaElement } from "./fma-arithmetic.js";
import type { Address, LanePlace } from "./field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";
import type { Half } from "../wasm/wasm-bytes.js";
import { i32, i64, i64x2, onHalf, perHalf, v128 } from "../wasm/wasm-ops.js";
import type { Local } from "../wasm/wasm-ops.js";

const HALVES = [0, 1] as const;

/**
 * How a block of four elements lies in memory: `interleaved`, 32 bytes for each limb of all four; or as `pairs`, two
 * neighbouring blocks of two, as the kernels of two lanes have them.
 */
type WideBlocks = "interleaved" | "pairs";

export class WideField extends FmaField {
  override readonly lanes = 4;
  readonly #limbBytes: number;
  readonly #halfBytes: number;

  constructor(prime: bigint, blocks: WideBlocks) {
    super(prime);
    this.#limbBytes = blocks === "interleaved" ? 32 : 16;
    this.#halfBytes = blocks === "interleaved" ? 16 : 2 * this.elementBytes;
  }

  /**
   * Loads two neighbouring limbs at a time and sorts them out, which V8 pairs; it does not pair loads into a lane on
   * all versions.
   */
  override load(f: FunctionBuilder, addresses: readonly Address[], offset: number, max: bigint): FmaElement {
    if (addresses.every((address) => address === addresses[0]))
      return super.load(f, addresses.slice(0, 2), offset, max);
    const limbs: Local<"v128">[] = [];
    for (let j = 0; j < this.limbCount; j += 2) {
      // The last of an odd number comes with the one before it: nothing is read behind the element.
      const from = Math.min(j, this.limbCount - 2);
      const [even, odd] = [0, 1].map((lane) =>
        f.let(perHalf((half) => v128.load(laneOf(addresses, half, lane), offset + 8 * from))),
      ) as [Local<"v128">, Local<"v128">];
      if (from === j) limbs.push(f.let(v128.shuffle(even, odd, LOW_LANES)));
      limbs.push(f.let(v128.shuffle(even, odd, HIGH_LANES)));
    }
    return this.arithmetic.stored(limbs, max);
  }

  /** Stores two neighbouring limbs of a lane at a time. */
  override store(f: FunctionBuilder, addresses: readonly Address[], offset: number, element: FmaElement): void {
    if (f.halves === 1) {
      super.store(f, addresses.slice(0, 2), offset, element);
      return;
    }
    this.requireNormal(element);
    for (let j = 0; j < this.limbCount; j += 2) {
      const [limb, next] = [element.limbs[j]?.local, element.limbs[j + 1]?.local];
      if (limb === undefined) throw new Error("no limb");
      for (const half of HALVES)
        for (const [lane, picked] of [LOW_LANES, HIGH_LANES].entries()) {
          const address = laneOf(addresses, half, lane);
          const at = offset + 8 * j;
          f.runOnHalf(
            half,
            next === undefined
              ? v128.store64Lane(address, at, lane, limb)
              : v128.store(address, v128.shuffle(limb, next, picked), at),
          );
        }
    }
  }

  /** Loads 16 bytes for each limb and half. */
  override loadBlock(f: FunctionBuilder, address: Address, offset: number, max: bigint): FmaElement {
    requireTwoHalves(f);
    return this.arithmetic.stored(
      this.limbIndices().map((j) =>
        f.let(perHalf((half) => v128.load(address, offset + this.#limbBytes * j + this.#halfBytes * half))),
      ),
      max,
    );
  }

  /** Stores the higher of two neighbours first: V8 keeps a store of 128 bits besides when the lower one comes first. */
  override storeBlock(f: FunctionBuilder, address: Address, offset: number, element: FmaElement): void {
    requireTwoHalves(f);
    this.requireNormal(element);
    if (this.#halfBytes === 16) {
      for (const [j, limb] of element.limbs.entries())
        for (const half of [1, 0] as const)
          f.runOnHalf(half, v128.store(address, limb.local, offset + this.#limbBytes * j + 16 * half));
      return;
    }
    this.#storePairOfBlocks(f, address, offset, element);
  }

  /** Loads the lane into every lane, also in a function of one half. */
  override loadLane(f: FunctionBuilder, place: LanePlace, max: bigint): FmaElement {
    return this.arithmetic.stored(
      this.limbIndices().map((j) => f.let(v128.load64Splat(place.address, this.#laneOffset(place, j)))),
      max,
    );
  }

  /** Stores the lane's limbs, 8 bytes each; in a function of one half, whose lanes hold the same element. */
  override storeLane(f: FunctionBuilder, place: LanePlace, element: FmaElement): void {
    this.requireNormal(element);
    for (const [j, limb] of element.limbs.entries())
      f.run(v128.store64Lane(place.address, this.#laneOffset(place, j), place.lane & 1, limb.local));
  }

  /** Flips the sign bits half by half. */
  override applySigns(f: FunctionBuilder, a: FmaElement, signs: readonly Address[]): FmaElement {
    const bit = (half: Half, lane: number) => i64.extendU(laneOf(signs, half, lane));
    const bits = perHalf((half) => i64x2.replaceLane(1, i64x2.splat(bit(half, 0)), bit(half, 1)));
    const mask = f.let(i64x2.shl(bits, 63));
    return { ...a, limbs: a.limbs.map((limb) => ({ local: f.let(v128.xor(limb.local, mask)), max: limb.max })) };
  }

  /** Looks at both halves together, at 128 bits. */
  override mayBeZero(f: FunctionBuilder, a: FmaElement): Address {
    if (f.halves === 1) return super.mayBeZero(f, a);
    const isFar = this.isFarFromZero(a);
    return f.let(i32.eqz(i64x2.allTrue(v128.and(onHalf(0, isFar), onHalf(1, isFar)))));
  }

  /**
   * The first block gets both halves of each limb, which is what V8 pairs, and with the next limb loses the half that
   * is not its own; then the second block gets that half. An address of its own for each limb keeps V8 from taking two
   * limbs of a block for neighbours.
   */
  #storePairOfBlocks(f: FunctionBuilder, address: Address, offset: number, element: FmaElement): void {
    for (const [j, limb] of element.limbs.entries()) {
      const at = f.let(i32.add(address, i32.const(offset + 16 * j)));
      for (const half of [1, 0] as const) f.runOnHalf(half, v128.store(at, limb.local, 16 * half));
    }
    for (const [j, limb] of element.limbs.entries()) {
      const at = f.let(i32.add(address, i32.const(offset + this.#halfBytes + 16 * j)));
      f.runOnHalf(1, v128.store(at, limb.local));
    }
  }

  #laneOffset({ offset, lane }: LanePlace, limb: number): number {
    return offset + this.#limbBytes * limb + this.#halfBytes * (lane >> 1) + 8 * (lane & 1);
  }
}

/** A field of two lanes whose blocks are a half of interleaved blocks of four: the address is that of the half. */
export class HalfBlockField extends FmaField {
  /** Bytes of both halves. */
  override get blockBytes(): number {
    return 4 * this.elementBytes;
  }

  /** Loads 16 of every 32 bytes. */
  override loadBlock(f: FunctionBuilder, address: Address, offset: number, max: bigint): FmaElement {
    return this.arithmetic.stored(
      this.limbIndices().map((j) => f.let(v128.load(address, offset + 32 * j))),
      max,
    );
  }

  /** Stores 16 of every 32 bytes. */
  override storeBlock(f: FunctionBuilder, address: Address, offset: number, element: FmaElement): void {
    this.requireNormal(element);
    for (const [j, limb] of element.limbs.entries()) f.run(v128.store(address, limb.local, offset + 32 * j));
  }
}

function laneOf(items: readonly Address[], half: Half, lane: number): Address {
  const item = items[2 * half + lane];
  if (item === undefined) throw new Error("four lanes expected");
  return item;
}

function requireTwoHalves(f: FunctionBuilder): void {
  if (f.halves !== 2) throw new Error("a function of one half handles no block of four");
}
