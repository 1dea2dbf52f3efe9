/**
 * The kernels of a curve's pairing that exist on four lanes as well, in a module of their own: as wide-module.ts says,
 * each can be called in place of the one of that name on two lanes (pairing/pairing-module.ts), on the same memory.
 */
import { FmaField } from "../field/fma-field.js";
import { WideField } from "../field/wide-field.js";
import { defineInversion } from "../field/inversion.js";
import { defineAffineLines } from "../pairing/affine-lines.js";
import { defineLaneMultiples } from "../pairing/lane-multiples.js";
import { defineLineSteps } from "../pairing/miller-steps.js";
import { scratchPlaces } from "../pairing/pairing-module.js";
import type { PairingPlan } from "../pairing/pairing-plan.js";
import { defineRootPower } from "../pairing/root-power.js";
import { defineTargetProducts } from "../pairing/target-field.js";
import { TwinBlocks } from "../pairing/twin-blocks.js";
import type { TwinBlocksOptions } from "../pairing/twin-blocks.js";
import { ModuleBuilder } from "../wasm/wasm-builder.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";

/** Plain data, as `PairingModule` is. */
export interface WidePairingModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Returns the name of a prepared module. */
export function widePairingModuleName(curve: CurveParameters): string {
  return `wide-pairing-${curve.name}`;
}

/** Generates the module of a curve, whose memory has at most `pagesMax` pages of 64 KiB. */
export function buildWidePairingModule(
  plan: PairingPlan,
  { pagesMax, ...spoiled }: { readonly pagesMax: number } & Pick<TwinBlocksOptions, "twinField">,
): WidePairingModule {
  const { curve, twistB } = plan;
  const base = new FmaField(curve.q);
  const places = scratchPlaces(base, 2 * base.elementBytes);
  const module = new ModuleBuilder(places.numbers);
  const blocks = new TwinBlocks(module, base, {
    nonResidue: Number(plan.nonResidue.c0),
    inversion: defineInversion(module, base, { name: "fq", bytes: curve.fqBytes, isSplat: true }),
    scratch: places.tower,
    ...spoiled,
  });
  defineTargetProducts(module, blocks, { scratch: places.target });
  defineLineSteps(module, blocks, { prime: curve.q, twistB, scratch: places.miller });
  defineAffineLines(module, blocks);
  const wide = new WideField(curve.q, "interleaved");
  const { endomorphismFactor: endomorphism } = curve;
  defineLaneMultiples(module, wide, { name: "g1", threeB: [3n * curve.b], endomorphism });
  defineRootPower(module, wide, "fq");
  return { bytes: module.toBytes(pagesMax) };
}
