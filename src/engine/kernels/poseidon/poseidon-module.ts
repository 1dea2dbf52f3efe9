/**
 * Assembles the WebAssembly module that hashes with Poseidon over the scalar field of one curve, on either field
 * arithmetic: hashes of two and of three elements, two at a time on fused multiply-add. poseidon-kernel.ts calls it.
 */
import { poseidonParameters } from "../../../crypto/hashes/poseidon.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { writeBigIntLE } from "../../field/bytes.js";
import { defineConversions } from "../field/conversion.js";
import type { Address, PrimeField } from "../field/field.js";
import { FmaField } from "../field/fma-field.js";
import { outlinePrime } from "../field/outlined-field.js";
import { IntegerField } from "../field/integer-field.js";
import type { KernelKind } from "../kernel-module.js";
import { ModuleBuilder } from "../wasm/wasm-builder.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";
import { i32 } from "../wasm/wasm-ops.js";
import type { Local } from "../wasm/wasm-ops.js";
import { defineFullRounds, definePartialRounds } from "./rounds.js";
import type { HashShape } from "./rounds.js";
import { defineSinglePair } from "./single-pair.js";
import { sparseRounds } from "./sparse-rounds.js";

/** How many elements a hash takes. */
export type PoseidonInputs = 2 | 3;

/** What the callers of `hash_2` and `hash_3` must know. */
interface PoseidonHash {
  readonly inputs: PoseidonInputs;
  /** The constants of all rounds as canonical little-endian integers, for `fr_import_plain`. */
  readonly constants: Uint8Array<ArrayBuffer>;
  readonly constantCount: number;
}

/** Plain data: prepared modules are kept as files. */
export interface PoseidonModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Bytes of an element outside of the kernels, as a little-endian integer. */
  readonly frBytes: number;
  /** Bytes of an element of the tables of constants. */
  readonly elementBytes: number;
  /** Bytes of the scratch of a hash. */
  readonly scratchBytes: number;
  readonly hashes: readonly PoseidonHash[];
}

/** Pages of 64 KiB: tables of 50 KB, and what `HASHES_AT_ONCE_MAX` takes. */
export const POSEIDON_PAGES = 4;

const INPUTS: readonly PoseidonInputs[] = [2, 3];

/** Returns the name of a prepared module. */
export function poseidonModuleName(curve: CurveParameters, kind: KernelKind): string {
  return `poseidon-${curve.name}-${kind}`;
}

/** Generates the module, in about 0.2 s, most of which the constants take. */
export function buildPoseidonModule(curve: CurveParameters, kind: KernelKind): PoseidonModule {
  const module = new ModuleBuilder();
  return kind === "fma"
    ? assemble(module, curve, new FmaField(curve.r, module))
    : assemble(module, curve, new IntegerField(curve.r));
}

function assemble<E>(module: ModuleBuilder, curve: CurveParameters, field: PrimeField<E>): PoseidonModule {
  defineConversions(module, field, curve.frBytes, "fr");
  // Products as calls make a hash 14 % faster here: the loops of the rounds stay within the processor's decoded code.
  // Conversions multiply integers beyond the prime, which those would refuse.
  const outlined = outlinePrime(field, module, "fr");
  const hashes = INPUTS.map((inputs): PoseidonHash => {
    const { first, partial, second } = sparseRounds(poseidonParameters(inputs, curve.name));
    const constants = [...first, ...partial, ...second].flat();
    const shape = {
      inputs,
      integerBytes: curve.frBytes,
      halfBytes: first.flat().length * field.elementBytes,
      partialBytes: partial.flat().length * field.elementBytes,
    };
    defineHash(module, field, outlined, shape);
    if (inputs === 2 && field.lanes === 2) defineSinglePair(module, field, outlined, shape);
    const bytes = new Uint8Array(constants.length * curve.frBytes);
    for (const [i, constant] of constants.entries()) writeBigIntLE(constant, bytes, i * curve.frBytes, curve.frBytes);
    return { inputs, constants: bytes, constantCount: constants.length };
  });
  return {
    bytes: module.toBytes(POSEIDON_PAGES),
    frBytes: curve.frBytes,
    elementBytes: field.elementBytes,
    scratchBytes: (Math.max(...INPUTS) + 1) * field.elementBytes * field.lanes,
    hashes,
  };
}

/**
 * Defines `hash_<inputs>` (target, source, count, constants, scratch): `count` hashes, at least one, of `inputs`
 * neighbouring canonical integers each; the results are canonical integers. `constants` are those of sparse-rounds.ts
 * as elements, `scratch` is for a state.
 */
function defineHash<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  outlined: PrimeField<E>,
  { inputs, integerBytes, halfBytes, partialBytes }: HashShape,
): void {
  const width = inputs + 1;
  const blockBytes = field.elementBytes * field.lanes;
  const fullRounds = defineFullRounds(module, outlined, width);
  const partialRounds = definePartialRounds(module, outlined, width);
  const params = { target: "i32", source: "i32", count: "i32", constants: "i32", scratch: "i32" } as const;
  module.defineNamed({ name: `hash_${String(inputs)}`, params }, (f, { target, source, count, constants, scratch }) => {
    const last = f.let(i32.sub(count, i32.const(1)));
    const middle = f.let(i32.add(constants, i32.const(halfBytes)));
    const late = f.let(i32.add(middle, i32.const(partialBytes)));
    const end = f.let(i32.add(late, i32.const(halfBytes)));
    f.for(i32.const(0), count, field.lanes, (i) => {
      const indices = lanesUpTo(f, field, i, last);
      field.storeBlock(f, scratch, 0, field.constant(f, [0n]));
      for (let input = 0; input < inputs; input += 1) {
        const places = indices.map((index) =>
          f.let(
            i32.add(
              source,
              i32.mul(i32.add(i32.mul(index, i32.const(inputs)), i32.const(input)), i32.const(integerBytes)),
            ),
          ),
        );
        const element = field.mul(f, field.unpack(f, places, integerBytes), field.rawConstant(f, field.radix ** 2n));
        field.storeBlock(f, scratch, (input + 1) * blockBytes, field.reduce(f, element));
      }
      f.call(fullRounds, [scratch, constants, middle]);
      f.call(partialRounds, [scratch, middle, late]);
      f.call(fullRounds, [scratch, late, end]);
      const result = field.mul(f, field.loadBlock(f, scratch, 0, field.productMax), field.rawConstant(f, 1n));
      const targets = indices.map((index) => f.let(i32.add(target, i32.mul(index, i32.const(integerBytes)))));
      field.pack(f, targets, integerBytes, result);
    });
  });
}

/** The index of each lane. Past the end a lane takes the last one again. */
function lanesUpTo<E>(
  f: FunctionBuilder,
  field: PrimeField<E>,
  first: Local<"i32">,
  last: Address,
): readonly Address[] {
  if (field.lanes === 1) return [first];
  const next = f.let(i32.add(first, i32.const(1)));
  return [first, f.let(i32.select(last, next, i32.gtU(next, last)))];
}
