/** Four-lane forms of the kernels for tests that need no speed: right ones, and ones that are wrong in one lane. */
import { BN254 } from "../../src/engine/curves/bn254.js";
import type { CurveParameters } from "../../src/engine/curves/curve-parameters.js";
import { TwinField } from "../../src/engine/kernels/field/twin-field.js";
import { WideField } from "../../src/engine/kernels/field/wide-field.js";
import { hasFusedMultiplyAdd } from "../../src/engine/kernels/wasm/features.js";
import { v128 } from "../../src/engine/kernels/wasm/wasm-ops.js";
import { PAIRING_PAGES } from "../../src/engine/kernels/pairing/pairing-memory.js";
import { pairingPlanOf } from "../../src/engine/kernels/pairing/pairing-plan.js";
import type { TwinBlocksOptions } from "../../src/engine/kernels/pairing/twin-blocks.js";
import { USUAL_PAIRINGS } from "../../src/engine/kernels/wide/form-candidates.js";
import { newWideForms } from "../../src/engine/kernels/wide/wide-form.js";
import type { WideForm, WideForms, WideKind } from "../../src/engine/kernels/wide/wide-form.js";
import { buildWideModule } from "../../src/engine/kernels/wide/wide-module.js";
import type { WideModule } from "../../src/engine/kernels/wide/wide-module.js";
import { buildWidePairingModule } from "../../src/engine/kernels/wide/wide-pairing-module.js";
import type { WidePairingModule } from "../../src/engine/kernels/wide/wide-pairing-module.js";

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

/** Every kernel of a wide pairing module that is tried; `g1_lane_accumulate` stands for three. */
export const WIDE_PAIRING_KERNELS = [
  "gt_mul_line",
  "gt_mul_divided_lines",
  "g2_double_step",
  "g2_add_step",
  "g2_lines_double",
  "g2_lines_add",
  "g1_lane_accumulate",
  "fq_root_powers",
  "gt_mul",
  "gt_square",
  "gt_cyclotomic_square",
] as const;

/** Returns what a server tries of a curve, in that order, where it tries these pairings. */
export function wideKernelsOf(curve: CurveParameters, pairings = USUAL_PAIRINGS): string[] {
  return [...WIDE_KERNELS, ...(pairings.includes(curve) ? WIDE_PAIRING_KERNELS : [])];
}

/** Returns a curve's kernels and pairing on four lanes, as they are on every machine that has fused multiply-add. */
export function soundForms(curve: CurveParameters = BN254): WideForms | undefined {
  if (!hasFusedMultiplyAdd()) return undefined;
  return newWideForms([kernelForm(buildWideModule(curve), curve), pairingForm({ curve })]);
}

/** Writes the second limb of lane 3 over the first limb of it, as a compiler might that takes the wrong register. */
class SpoiledField extends WideField {
  override storeBlock(...[f, address, offset, element]: Parameters<WideField["storeBlock"]>): void {
    super.storeBlock(f, address, offset, element);
    const place = offset + 2 * this.elementBytes + 8;
    f.runOnHalf(1, v128.store64Lane(address, place, 1, element.limbs[1]!.local));
  }
}

/** The same where two jobs of the pairing are done at once. */
class SpoiledTwins extends TwinField {
  override storeTwins(...[f, targets, element]: Parameters<TwinField["storeTwins"]>): void {
    super.storeTwins(f, targets, element);
    f.runOnHalf(1, v128.store64Lane(targets[1], 8, 1, element.limbs[1]!.local));
  }
}

/** Returns a curve's wide module with transforms and products that are wrong in lane 3. */
export function spoiledModule(curve: CurveParameters = BN254): WideModule {
  return buildWideModule(curve, { scalars: new SpoiledField(curve.r, "pairs") });
}

/** Returns a curve's wide pairing module whose jobs in pairs are wrong in lane 3. */
export function spoiledPairing(curve: CurveParameters = BN254): WidePairingModule {
  return widePairing(curve, { twinField: SpoiledTwins });
}

/** Returns forms with spoiled transforms, and a sound pairing. */
export function spoiledForms(): WideForms {
  return newWideForms([kernelForm(spoiledModule()), pairingForm({})]);
}

/** Stores what two lanes have computed at the places of each other. */
class SwappedField extends WideField {
  override store(...[f, addresses, offset, element]: Parameters<WideField["store"]>): void {
    super.store(f, f.halves === 1 ? addresses : [1, 0, 2, 3].map((lane) => addresses[lane]!), offset, element);
  }
}

/** Returns forms whose additions of points, all right points of their curve, stand at wrong places. */
export function swappedForms(): WideForms {
  return newWideForms([kernelForm(buildWideModule(BN254, { base: new SwappedField(BN254.q, "interleaved") }))]);
}

/** Returns forms whose pairing takes these kernels of a module on four lanes; all of the sound one unless given. */
export function pairingForms(options: PairingFormOptions): WideForms {
  return newWideForms([pairingForm(options)]);
}

interface PairingFormOptions {
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly kernels?: readonly string[];
  readonly curve?: CurveParameters;
}

function kernelForm({ bytes }: WideModule, curve: CurveParameters = BN254): WideForm {
  return formOf("kernels", bytes, WIDE_KERNELS, curve);
}

function pairingForm({ bytes, kernels = WIDE_PAIRING_KERNELS, curve = BN254 }: PairingFormOptions): WideForm {
  return formOf("pairing", bytes ?? widePairing(curve).bytes, kernels, curve);
}

function widePairing(curve: CurveParameters, spoiled: Pick<TwinBlocksOptions, "twinField"> = {}): WidePairingModule {
  return buildWidePairingModule(pairingPlanOf(curve), { pagesMax: PAIRING_PAGES, ...spoiled });
}

function formOf(
  kind: WideKind,
  bytes: Uint8Array<ArrayBuffer>,
  kernels: readonly string[],
  curve: CurveParameters,
): WideForm {
  return { curve: curve.name, kind, module: new WebAssembly.Module(bytes), kernels };
}
