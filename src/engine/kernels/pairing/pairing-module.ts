/**
 * Assembles the WebAssembly module of one curve's pairing, on either field arithmetic: the tower, the Miller steps,
 * small multiples in G1 and roots. pairing.ts calls them.
 */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { defineConversions } from "../field/conversion.js";
import { FmaField } from "../field/fma-field.js";
import type { PrimeField } from "../field/field.js";
import { IntegerField } from "../field/integer-field.js";
import { defineInversion, defineQuadraticInversion } from "../field/inversion.js";
import type { Inversion } from "../field/inversion.js";
import type { KernelKind } from "../kernel-module.js";
import { outlinePrime } from "../field/outlined-field.js";
import { defineSinglePoint } from "../point/point-single.js";
import { QuadraticField } from "../field/quadratic-field.js";
import type { ScratchBytes } from "../wasm/scratch-bytes.js";
import { ModuleBuilder } from "../wasm/wasm-builder.js";
import { defineAffineEnd, defineAffineLines } from "./affine-lines.js";
import { FmaTower, fmaTowerScratchBytes } from "./fma-tower.js";
import { IntegerTower } from "./integer-tower.js";
import { defineLaneMultiples } from "./lane-multiples.js";
import { MILLER_SCRATCH_BLOCKS, defineMillerSteps } from "./miller-steps.js";
import { OneByOneBlocks } from "./one-by-one-blocks.js";
import { defineRootPower, rootPowerScratchBytes } from "./root-power.js";
import { TARGET_SCRATCH_BLOCKS, defineTargetField } from "./target-field.js";
import type { TowerField } from "./tower-field.js";
import type { PairingPlan } from "./pairing-plan.js";
import { defineTransfers } from "./transfers.js";

/** Plain data: prepared modules are kept as files. */
export interface PairingModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lanes: 1 | 2 | 4;
  /** Bytes of an element of Fq outside of the kernels, as a little-endian integer. */
  readonly fqBytes: number;
  /** Bytes of an element of Fq, and of a block (Fq2). */
  readonly elementBytes: number;
  readonly blockBytes: number;
  /** Bytes of the scratch of `fq_root_powers`. */
  readonly rootScratchBytes: number;
  /** Bytes of the scratch of `g1_to_affine`. */
  readonly affineScratchBytes: number;
  /** Bytes of the record of a point in `g2_lines_double` and `g2_lines_add`. */
  readonly recordBytes: number;
  /** The scratch of both, by points. */
  readonly lineScratch: ScratchBytes;
  /** The scratch of `g1_divided_line_factors` and `g1_all_to_affine`, by points. */
  readonly pointScratch: ScratchBytes;
  /** First byte that callers may use. */
  readonly reservedBytes: number;
}

/** The memory starts with scratch of the kernels; address 0 stays unused. */
const SCRATCH = 64;

/** Returns the name of a prepared module. */
export function pairingModuleName(curve: CurveParameters, kind: KernelKind): string {
  return `pairing-${curve.name}-${kind}`;
}

/**
 * Generates the module, in about 0.3 s, most of which the bounds of limbs take. Its memory has at most `pagesMax` pages
 * of 64 KiB.
 */
export function buildPairingModule(
  plan: PairingPlan,
  options: { readonly kind: KernelKind; readonly pagesMax: number },
): PairingModule {
  const module = new ModuleBuilder();
  const { curve } = plan;
  const nonResidue = Number(plan.nonResidue.c0);
  if (options.kind === "fma") {
    const fq = new FmaField(curve.q, module);
    const inversion = defineInversion(module, fq, curve.fqBytes, "fq");
    const tower = new FmaTower(fq, { nonResidue, inversion, scratch: SCRATCH });
    return assemble(module, {
      plan,
      fq,
      tower,
      inversion,
      scratch: SCRATCH + fmaTowerScratchBytes(fq),
      pagesMax: options.pagesMax,
    });
  }
  const fq = new IntegerField(curve.q);
  const inversion = defineInversion(module, fq, curve.fqBytes, "fq");
  const quadraticInversion = defineQuadraticInversion(module, new QuadraticField(fq), inversion, "fq2");
  const tower = new IntegerTower(fq, { nonResidue, inversion: quadraticInversion });
  return assemble(module, { plan, fq, tower, inversion, scratch: SCRATCH, pagesMax: options.pagesMax });
}

interface Parts<E, T> {
  readonly plan: PairingPlan;
  readonly fq: PrimeField<E>;
  readonly tower: TowerField<T>;
  readonly inversion: Inversion;
  /** First byte that the tower leaves free. */
  readonly scratch: number;
  readonly pagesMax: number;
}

function assemble<E, T>(
  module: ModuleBuilder,
  { plan, fq, tower, inversion, scratch, pagesMax }: Parts<E, T>,
): PairingModule {
  const { curve, nonResidue, twistB, move } = plan;
  const { q: prime } = curve;
  const millerScratch = scratch + TARGET_SCRATCH_BLOCKS * tower.blockBytes;
  defineConversions(module, fq, curve.fqBytes, "fq");
  const blocks = new OneByOneBlocks(module, tower);
  defineTargetField(module, tower, blocks, { prime, nonResidue, scratch });
  defineMillerSteps(module, tower, blocks, { prime, nonResidue, twistB, move, scratch: millerScratch });
  // Conversions multiply integers beyond the prime, which the outlined products would refuse; sums of points are too
  // long to be inlined.
  const outlined = outlinePrime(fq, module, "fq");
  defineSinglePoint(module, outlined, inversion, { name: "g1", threeB: [3n * curve.b] });
  defineLaneMultiples(module, outlined, { name: "g1", threeB: [3n * curve.b], endomorphism: curve.endomorphismFactor });
  defineRootPower(module, fq, "fq");
  const transfers = defineTransfers(module, fq, inversion);
  const lines = defineAffineLines(module, blocks);
  defineAffineEnd(module, tower);
  return {
    bytes: module.toBytes(pagesMax),
    lanes: fq.lanes,
    fqBytes: curve.fqBytes,
    elementBytes: fq.elementBytes,
    blockBytes: tower.blockBytes,
    rootScratchBytes: rootPowerScratchBytes(fq),
    affineScratchBytes: fq.elementBytes * fq.lanes + inversion.scratchBytes,
    recordBytes: lines.recordBytes,
    lineScratch: lines.scratch,
    pointScratch: transfers.scratch,
    reservedBytes: millerScratch + MILLER_SCRATCH_BLOCKS * tower.blockBytes,
  };
}
