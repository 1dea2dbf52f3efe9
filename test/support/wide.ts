/** Four-lane forms of the kernels for tests that need no speed: right ones, and ones that are wrong in one lane. */
import { BN254 } from "../../src/engine/curves/bn254.js";
import type { CurveParameters } from "../../src/engine/curves/curve-parameters.js";
import { WideField } from "../../src/engine/kernels/field/wide-field.js";
import { hasFusedMultiplyAdd } from "../../src/engine/kernels/wasm/features.js";
import { v128 } from "../../src/engine/kernels/wasm/wasm-ops.js";
import { newWideForms } from "../../src/engine/kernels/wide/wide-form.js";
import type { WideForms } from "../../src/engine/kernels/wide/wide-form.js";
import { buildWideModule } from "../../src/engine/kernels/wide/wide-module.js";
import type { WideModule } from "../../src/engine/kernels/wide/wide-module.js";

/** Every kernel of the wide module. */
export const WIDE_KERNELS = [
  "g1_add_batch",
  "g2_add_batch",
  "fr_dif_layer",
  "fr_dif_run",
  "fr_dit_layer",
  "fr_dit_run",
  "fr_pair_layer",
  "fr_mul_blocks",
] as const;

/** Returns a curve's kernels on four lanes, as they are on every machine that has fused multiply-add. */
export function soundForms(curve: CurveParameters = BN254): WideForms | undefined {
  if (!hasFusedMultiplyAdd()) return undefined;
  return formsOf(buildWideModule(curve), curve);
}

/** Writes the second limb of lane 3 over the first limb of it, as a compiler might that takes the wrong register. */
class SpoiledField extends WideField {
  override storeBlock(...[f, address, offset, element]: Parameters<WideField["storeBlock"]>): void {
    super.storeBlock(f, address, offset, element);
    const place = offset + 2 * this.elementBytes + 8;
    f.runOnHalf(1, v128.store64Lane(address, place, 1, element.limbs[1]!.local));
  }
}

/** Returns a curve's wide module with transforms and products that are wrong in lane 3. */
export function spoiledModule(curve: CurveParameters = BN254): WideModule {
  return buildWideModule(curve, { scalars: new SpoiledField(curve.r, "pairs") });
}

/** Returns forms with that module. */
export function spoiledForms(): WideForms {
  return formsOf(spoiledModule());
}

/** Stores what two lanes have computed at the places of each other. */
class SwappedField extends WideField {
  override store(...[f, addresses, offset, element]: Parameters<WideField["store"]>): void {
    super.store(f, f.halves === 1 ? addresses : [1, 0, 2, 3].map((lane) => addresses[lane]!), offset, element);
  }
}

/** Returns forms whose additions of points, all right points of their curve, stand at wrong places. */
export function swappedForms(): WideForms {
  return formsOf(buildWideModule(BN254, { base: new SwappedField(BN254.q, "interleaved") }));
}

function formsOf({ bytes }: WideModule, curve: CurveParameters = BN254): WideForms {
  return newWideForms([{ curve: curve.name, module: new WebAssembly.Module(bytes), kernels: WIDE_KERNELS }]);
}
