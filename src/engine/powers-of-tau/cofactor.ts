/** Brings points of BN254's twist into the subgroup of order r. */
import { BN254 } from "../curves/bn254.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { G2Point } from "../curves/points.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels/kernels.js";
import type { Kernels } from "../kernels/kernels.js";
import { Arena } from "../kernels/wasm/arena.js";
import { WASM_PAGE_BYTES } from "../circuit/wasm-memory.js";

/** This thread's kernels on a memory for a few points; module state because many points pass one after the other. */
let small: Kernels | undefined;

/**
 * Returns cofactor * point, by doubling and adding; below a millisecond. The point is on the twist.
 * @throws RangeError for another curve than BN254, the only one whose powers are taken
 */
export function clearCofactorG2(curve: CurveParameters, point: G2Point): G2Point {
  if (curve.name !== BN254.name) throw new RangeError(`the cofactor of ${curve.name} is not cleared here`);
  small ??= loadKernels({ pages: 1, curve: BN254 });
  const kernels = small;
  const arena = new Arena(KERNEL_RESERVED_BYTES, WASM_PAGE_BYTES);
  const { pointBytes, projectiveBytes, affineScratchBytes } = kernels.g2;
  const affine = arena.take(pointBytes);
  const scratch = arena.take(Math.max(affineScratchBytes, 4 * kernels.fq.bytes));
  const [base, sum] = [arena.take(projectiveBytes), arena.take(projectiveBytes)];
  kernels.writePoint(affine, [point.x.c0, point.x.c1, point.y.c0, point.y.c1], scratch);
  kernels.call("g2_to_projective", base, affine);
  kernels.call("g2_to_projective", sum, affine);
  // The order of BN254's twist over r is 2q - r.
  for (const bit of (2n * curve.q - curve.r).toString(2).slice(1)) {
    kernels.call("g2_double_point", sum, 1);
    if (bit === "1") kernels.call("g2_add_points", sum, sum, base);
  }
  kernels.call("g2_to_affine", affine, sum, scratch);
  kernels.call("fq_export_plain", scratch, affine, 4);
  const { bytes } = kernels.fq;
  const [x0 = 0n, x1 = 0n, y0 = 0n, y1 = 0n] = [0, 1, 2, 3].map((i) => kernels.readInteger(scratch + i * bytes, bytes));
  return { x: { c0: x0, c1: x1 }, y: { c0: y0, c1: y1 } };
}
