/** The few single multiples of a contribution, on the kernels alone, so that they run in browsers as well. */
import { WASM_PAGE_BYTES } from "../../circuit/wasm-memory.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import type { G1Point, G2Point } from "../../curves/points.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../../kernels/kernels.js";
import type { Kernels } from "../../kernels/kernels.js";
import { Arena } from "../../kernels/wasm/arena.js";
import type { PointMultiples } from "../phases/phase2.js";

interface Term<Point> {
  readonly point: Point | undefined;
  readonly scalar: bigint;
}

/** Sums of multiples by doubling and adding; below a millisecond each. See `CurveKernels`. */
export class KernelMultiples implements PointMultiples {
  readonly curve: CurveParameters;
  readonly #kernels: Kernels;

  constructor(curve: CurveParameters) {
    this.curve = curve;
    this.#kernels = loadKernels({ pages: 1, curve });
  }

  /** See `CurveKernels`. */
  combineG1(terms: readonly Term<G1Point>[]): G1Point | undefined {
    const sum = this.#combine(
      "g1",
      terms.map(({ point, scalar }) => ({ scalar, point: point === undefined ? undefined : [point.x, point.y] })),
    );
    const [x, y] = sum ?? [];
    return x === undefined || y === undefined ? undefined : { x, y };
  }

  /** See `CurveKernels`. */
  combineG2(terms: readonly Term<G2Point>[]): G2Point | undefined {
    const sum = this.#combine(
      "g2",
      terms.map(({ point, scalar }) => ({
        scalar,
        point: point === undefined ? undefined : [point.x.c0, point.x.c1, point.y.c0, point.y.c1],
      })),
    );
    const [x0, x1, y0, y1] = sum ?? [];
    if (x0 === undefined || x1 === undefined || y0 === undefined || y1 === undefined) return undefined;
    return { x: { c0: x0, c1: x1 }, y: { c0: y0, c1: y1 } };
  }

  #combine(group: "g1" | "g2", terms: readonly Term<readonly bigint[]>[]): bigint[] | undefined {
    const kernels = this.#kernels;
    const arena = new Arena(KERNEL_RESERVED_BYTES, WASM_PAGE_BYTES);
    const { pointBytes, projectiveBytes, affineScratchBytes } = kernels[group];
    const coordinates = group === "g1" ? 2 : 4;
    const affine = arena.take(pointBytes);
    const scratch = arena.take(Math.max(affineScratchBytes, coordinates * kernels.fq.bytes));
    const [base, multiple, sum] = [0, 1, 2].map(() => arena.take(projectiveBytes)) as [number, number, number];
    kernels.call(`${group}_to_projective`, sum, kernels.infinity[group]);
    for (const { point, scalar } of terms) {
      if (point === undefined) continue;
      kernels.writePoint(affine, point, scratch);
      kernels.call(`${group}_to_projective`, base, affine);
      kernels.call(`${group}_to_projective`, multiple, kernels.infinity[group]);
      for (const bit of scalar.toString(2)) {
        kernels.call(`${group}_double_point`, multiple, 1);
        if (bit === "1") kernels.call(`${group}_add_points`, multiple, multiple, base);
      }
      kernels.call(`${group}_add_points`, sum, sum, multiple);
    }
    kernels.call(`${group}_to_affine`, affine, sum, scratch);
    if (kernels.callOne(`${group}_is_marked`, affine) === 1) return undefined;
    kernels.call("fq_export_plain", scratch, affine, coordinates);
    const result = Array.from({ length: coordinates }, (_, i) =>
      kernels.readInteger(scratch + i * kernels.fq.bytes, kernels.fq.bytes),
    );
    kernels.bytes(KERNEL_RESERVED_BYTES, WASM_PAGE_BYTES - KERNEL_RESERVED_BYTES).fill(0);
    return result;
  }
}
