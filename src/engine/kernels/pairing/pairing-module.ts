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
import type { NumberPlaces } from "../wasm/number-pool.js";
import { defineAffineEnd, defineAffineLines } from "./affine-lines.js";
import { FmaTower } from "./fma-tower.js";
import { IntegerTower } from "./integer-tower.js";
import { defineLaneMultiples } from "./lane-multiples.js";
import { MILLER_SCRATCH_BLOCKS, defineMillerSteps } from "./miller-steps.js";
import { OneByOneBlocks } from "./one-by-one-blocks.js";
import { defineRootPower, rootPowerScratchBytes } from "./root-power.js";
import { TARGET_SCRATCH_BLOCKS, defineTargetField } from "./target-field.js";
import type { TowerField } from "./tower-field.js";
import type { PairingPlan } from "./pairing-plan.js";
import { defineTransfers } from "./transfers.js";
import { twinBlocksScratchBytes } from "./twin-blocks.js";

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
/** Of either form: scratch is the same for both. */
const LANES_MAX = 4;
/** Numbers in the code of the module on four lanes: some thirty limbs and powers of two. */
const NUMBERS_MAX = 64;

/** Where the scratch of the kernels lies: the same for both forms, of which only one runs at a time. */
interface ScratchPlaces {
  /** Of the module on four lanes. */
  readonly numbers: NumberPlaces;
  readonly tower: number;
  readonly target: number;
  readonly miller: number;
  /** First byte behind all scratch. */
  readonly end: number;
}

/** Returns the places for a field, with blocks of so many bytes. */
export function scratchPlaces(fq: FmaField | IntegerField, blockBytes: number): ScratchPlaces {
  const numbers = { address: SCRATCH, countMax: NUMBERS_MAX };
  const tower = SCRATCH + 8 * NUMBERS_MAX;
  const target = tower + (fq instanceof FmaField ? twinBlocksScratchBytes(fq) : 0);
  const miller = target + TARGET_SCRATCH_BLOCKS * blockBytes;
  return { numbers, tower, target, miller, end: miller + MILLER_SCRATCH_BLOCKS * blockBytes };
}

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
    const inversion = defineInversion(module, fq, { name: "fq", bytes: curve.fqBytes, isSplat: true });
    const places = scratchPlaces(fq, 2 * fq.elementBytes);
    const tower = new FmaTower(fq, { nonResidue, inversion, scratch: places.tower });
    return assemble(module, { plan, fq, tower, inversion, places, pagesMax: options.pagesMax });
  }
  const fq = new IntegerField(curve.q);
  const inversion = defineInversion(module, fq, { name: "fq", bytes: curve.fqBytes, isSplat: true });
  const quadraticInversion = defineQuadraticInversion(module, new QuadraticField(fq), inversion, "fq2");
  const tower = new IntegerTower(fq, { nonResidue, inversion: quadraticInversion });
  const places = scratchPlaces(fq, tower.blockBytes);
  return assemble(module, { plan, fq, tower, inversion, places, pagesMax: options.pagesMax });
}

interface Parts<E, T> {
  readonly plan: PairingPlan;
  readonly fq: PrimeField<E>;
  readonly tower: TowerField<T>;
  readonly inversion: Inversion;
  readonly places: ScratchPlaces;
  readonly pagesMax: number;
}

function assemble<E, T>(
  module: ModuleBuilder,
  { plan, fq, tower, inversion, places, pagesMax }: Parts<E, T>,
): PairingModule {
  const { curve, nonResidue, twistB, move } = plan;
  const { q: prime } = curve;
  defineConversions(module, fq, curve.fqBytes, "fq");
  const blocks = new OneByOneBlocks(module, tower);
  defineTargetField(module, tower, blocks, { prime, nonResidue, scratch: places.target });
  defineMillerSteps(module, tower, blocks, { prime, nonResidue, twistB, move, scratch: places.miller });
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
    rootScratchBytes: rootPowerScratchBytes({ elementBytes: fq.elementBytes, lanes: LANES_MAX }),
    affineScratchBytes: fq.elementBytes * fq.lanes + inversion.scratchBytes,
    recordBytes: lines.recordBytes,
    lineScratch: lines.scratch,
    pointScratch: transfers.scratch,
    reservedBytes: places.end,
  };
}
