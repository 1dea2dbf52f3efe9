/**
 * Puts the kernels of one curve together into a WebAssembly module, on either field arithmetic. Which routines exist is
 * decided here; what they do is in the files that emit them.
 */
import { defineBuckets } from "./msm/buckets.js";
import { defineConversions } from "./field/conversion.js";
import { FmaField } from "./field/fma-field.js";
import { IntegerField } from "./field/integer-field.js";
import { defineFoldedInversion, defineJointInversion, defineQuadraticInversion } from "./field/inversion.js";
import type { Inversion } from "./field/inversion.js";
import { defineTransforms } from "./ntt/ntt.js";
import { outlinePrime, outlineProducts } from "./field/outlined-field.js";
import { entriesPerStep, foldedScratch, wideShape } from "./point/batch-layout.js";
import { definePointBatch } from "./point/point-batch.js";
import { definePointMultiples } from "./point/point-multiples.js";
import type { PointMultiples, PointMultiplesOptions } from "./point/point-multiples.js";
import { defineSinglePoint } from "./point/point-single.js";
import { definePointSurvey } from "./point/point-survey.js";
import { HalfBlockField, WideField } from "./field/wide-field.js";
import { QuadraticField } from "./field/quadratic-field.js";
import { defineQuotient } from "./ntt/quotient.js";
import { defineConstraints } from "./plonk/constraints.js";
import { defineCosets } from "./plonk/cosets.js";
import { defineVectors } from "./plonk/vectors.js";
import { ModuleBuilder } from "./wasm/wasm-builder.js";
import { MEMORY_PAGES_MAX } from "./wasm/features.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { Field, PrimeField } from "./field/field.js";
import type { PointBatch } from "./point/point-batch.js";
import type { ScratchBytes } from "./wasm/scratch-bytes.js";
import type { QuadraticElement } from "./field/quadratic-field.js";

/** Field arithmetic of the kernels: on fused multiply-add, or on 64-bit integers. */
export type KernelKind = "fma" | "integer";

/** What callers must know about the layout of values of one field in memory. */
export interface FieldLayout {
  readonly prime: bigint;
  /** Bytes of an element at rest. */
  readonly elementBytes: number;
  readonly lanes: 1 | 2 | 4;
  readonly radix: bigint;
  /** Bytes of an element outside of the kernels, as a little-endian integer. */
  readonly bytes: number;
}

/** Sizes of the points of one group; see point/point-batch.ts and point/point-single.ts. */
export interface GroupLayout {
  /** Bytes of an affine point. */
  readonly pointBytes: number;
  readonly projectiveBytes: number;
  /** Additions of `_add_batch` come in multiples of this, and on two lanes in multiples of the second. */
  readonly entriesPerStep: number;
  readonly narrowEntriesPerStep: number;
  /** Bytes of the scratch of `_to_affine`. */
  readonly affineScratchBytes: number;
  /** The scratch of `_add_batch`, by entries. */
  readonly batchScratch: ScratchBytes;
}

/** Plain data: prepared modules are kept as files. */
export interface KernelModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly fr: FieldLayout;
  readonly fq: FieldLayout;
  readonly g1: GroupLayout;
  readonly g2: GroupLayout;
  /** Of rows of points of G1. */
  readonly rows: PointMultiples;
}

/** Returns the name of a prepared module. */
export function kernelModuleName(curve: CurveParameters, kind: KernelKind): string {
  return `kernels-${curve.name}-${kind}`;
}

/** Generates the module of a curve, in about 0.15 s; the caller compiles and keeps it. */
export function buildKernelModule(curve: CurveParameters, kind: KernelKind): KernelModule {
  const module = new ModuleBuilder();
  if (kind === "integer") {
    const fields = { inlineFq: new IntegerField(curve.q), inlineFr: new IntegerField(curve.r) };
    return assemble(module, curve, {
      ...fields,
      defineRows: (_narrow, inversion) => definePointMultiples(module, fields.inlineFq, inversion, rowsOf(curve)),
    });
  }
  return assemble(module, curve, {
    inlineFq: new FmaField(curve.q, module),
    inlineFr: new FmaField(curve.r),
    // Two vectors at a time, without V8's flag (wide/): while one waits for its product, the other goes on.
    defineRows: (narrow, inversion) => {
      const folded = defineFoldedInversion(module, { half: new HalfBlockField(curve.q), narrow }, inversion, "fq");
      return definePointMultiples(module, new WideField(curve.q, "interleaved"), folded, rowsOf(curve));
    },
  });
}

function rowsOf({ b, endomorphismFactor }: CurveParameters): PointMultiplesOptions {
  return { name: "g1", b, endomorphismFactor };
}

interface ModuleFields<E> {
  readonly inlineFq: PrimeField<E>;
  readonly inlineFr: PrimeField<E>;
  /** Defines the kernels of rows of points, given the base field with outlined products and its inversion. */
  readonly defineRows: (narrow: PrimeField<E>, inversion: Inversion) => PointMultiples;
}

function assemble<E>(
  module: ModuleBuilder,
  curve: CurveParameters,
  { inlineFq, inlineFr, defineRows }: ModuleFields<E>,
): KernelModule {
  // Conversions multiply integers beyond the prime, which the outlined products would refuse.
  defineConversions(module, inlineFq, curve.fqBytes, "fq");
  defineConversions(module, inlineFr, curve.frBytes, "fr");
  const fq = outlinePrime(inlineFq, module, "fq");
  const inlineFq2 = new QuadraticField(inlineFq);
  const bounds = { operandMax: inlineFq2.operandMax, resultMax: inlineFq2.reducedMax };
  const fq2 = outlineProducts<QuadraticElement<E>, QuadraticField<E>>(inlineFq2, module, "fq2", bounds);
  const fqInversion = defineJointInversion(module, fq, { name: "fq", bytes: curve.fqBytes });
  const fq2Inversion = defineQuadraticInversion(module, fq2, fqInversion, "fq2");
  const g1 = definePointBatch(module, fq, fqInversion, "g1");
  const g2 = definePointBatch(module, fq2, fq2Inversion, "g2");
  defineSinglePoint(module, fq, fqInversion, { name: "g1", threeB: [3n * curve.b] });
  defineSinglePoint(module, fq2, fq2Inversion, { name: "g2", threeB: [3n * curve.twistB.c0, 3n * curve.twistB.c1] });
  const rows = defineRows(fq, fqInversion);
  definePointSurvey(module, fq, { name: "g1", b: [curve.b] });
  definePointSurvey(module, fq2, { name: "g2", b: [curve.twistB.c0, curve.twistB.c1] });
  defineTransforms(module, inlineFr, "fr");
  defineQuotient(module, inlineFr, curve.frBytes, "fr");
  const outlinedFr = outlinePrime(inlineFr, module, "fr");
  defineVectors(module, outlinedFr, curve.frBytes, "fr");
  defineConstraints(module, outlinedFr, "fr");
  defineCosets(module, outlinedFr, "fr");
  defineBuckets(module, curve.r, curve.frBytes);
  return {
    bytes: module.toBytes(MEMORY_PAGES_MAX),
    fr: fieldLayout(inlineFr, curve.frBytes),
    fq: fieldLayout(fq, curve.fqBytes),
    g1: groupLayout(g1, fq, fqInversion),
    g2: groupLayout(g2, fq2, fq2Inversion),
    rows,
  };
}

function fieldLayout<E>(field: PrimeField<E>, bytes: number): FieldLayout {
  return { prime: field.prime, elementBytes: field.elementBytes, lanes: field.lanes, radix: field.radix, bytes };
}

function groupLayout<E>(batch: PointBatch, field: Field<E>, inversion: Inversion): GroupLayout {
  return {
    pointBytes: batch.pointBytes,
    projectiveBytes: 3 * field.elementBytes,
    entriesPerStep: field.lanes === 2 ? entriesPerStep(wideShape(field)) : batch.entriesPerStep,
    narrowEntriesPerStep: batch.entriesPerStep,
    affineScratchBytes: field.elementBytes * field.lanes + inversion.scratchBytes,
    // Threads lay out the memory that they share each by itself: the room is the same whether or not one takes the
    // four-lane form.
    batchScratch: field.lanes === 2 ? scratchForBoth(batch.scratch, foldedScratch(field, inversion)) : batch.scratch,
  };
}

function scratchForBoth(two: ScratchBytes, four: ScratchBytes): ScratchBytes {
  const steps = four.itemsPerStep / two.itemsPerStep;
  return {
    base: Math.max(two.base, four.base),
    perStep: Math.max(steps * two.perStep, four.perStep),
    itemsPerStep: four.itemsPerStep,
  };
}
