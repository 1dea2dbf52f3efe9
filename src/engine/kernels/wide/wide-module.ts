/**
 * The kernels of a curve that exist on four lanes as well, in a module of their own. Each has the name, the parameters
 * and the results in memory of the one on two lanes (kernel-module.ts), so that either may be called at any time on the
 * same memory.
 *
 * V8 of Node 24 and later makes 256-bit instructions of the two halves of a vector while the flag of wide-form.ts is
 * on. No function here takes or gives vectors: with the flag on, Node 26 ends the process over a function that stores
 * two such neighbours.
 */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { FmaField } from "../field/fma-field.js";
import { defineFoldedInversion, defineJointInversion, defineQuadraticInversion } from "../field/inversion.js";
import { QuadraticField } from "../field/quadratic-field.js";
import { HalfBlockField, WideField } from "../field/wide-field.js";
import { defineButterflies } from "../ntt/ntt.js";
import { definePointBatch } from "../point/point-batch.js";
import { MEMORY_PAGES_MAX } from "../wasm/features.js";
import { ModuleBuilder } from "../wasm/wasm-builder.js";
import type { ScratchBytes } from "../wasm/scratch-bytes.js";

/** Plain data, as `KernelModule` is. */
export interface WideModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Scratch of `g1_add_batch` and `g2_add_batch`: within what the kernels on two lanes give (kernel-module.ts). */
  readonly batchScratch: { readonly g1: ScratchBytes; readonly g2: ScratchBytes };
}

/** Returns the name of a prepared module. */
export function wideModuleName(curve: CurveParameters): string {
  return `wide-${curve.name}`;
}

/** The fields of the additions and of the transforms. */
interface WideFields {
  readonly base: WideField;
  readonly scalars: WideField;
}

/**
 * Generates the module of a curve.
 * @param fields in place of the sound ones: for tests
 */
export function buildWideModule(curve: CurveParameters, fields: Partial<WideFields> = {}): WideModule {
  const { base = new WideField(curve.q, "interleaved"), scalars = new WideField(curve.r, "pairs") } = fields;
  const module = new ModuleBuilder();
  const [wide, half, narrow] = [base, new HalfBlockField(curve.q), new FmaField(curve.q)];
  const inversion = defineJointInversion(module, narrow, { name: "fq", bytes: curve.fqBytes });
  const g1 = definePointBatch(module, wide, defineFoldedInversion(module, { half, narrow }, inversion, "fq"), "g1");
  const [wide2, half2, narrow2] = [new QuadraticField(wide), new QuadraticField(half), new QuadraticField(narrow)];
  const inversion2 = defineQuadraticInversion(module, narrow2, inversion, "fq2");
  const folded2 = defineFoldedInversion(module, { half: half2, narrow: narrow2 }, inversion2, "fq2");
  const g2 = definePointBatch(module, wide2, folded2, "g2");
  defineButterflies(module, scalars, "fr", new FmaField(curve.r));
  return { bytes: module.toBytes(MEMORY_PAGES_MAX), batchScratch: { g1: g1.scratch, g2: g2.scratch } };
}
