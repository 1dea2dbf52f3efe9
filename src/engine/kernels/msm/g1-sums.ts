/** Sums of scalar_i * point_i in G1 over points in the form of snarkjs' files, in a memory of their own. */
import type { AnyCurve } from "../../curves/curve-parameters.js";
import type { G1Point } from "../../curves/points.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels.js";
import type { Kernels } from "../kernels.js";
import { Arena } from "../wasm/arena.js";
import { msmWorkspaceBytes } from "./msm-lists.js";
import { Msm } from "./msm.js";

/** Points of one pass: more would take more memory and little less time. */
const PASS_POINTS = 1 << 15;
const PAGE_BYTES = 65_536;

export class G1Sums {
  readonly #kernels: Kernels;
  readonly #arena: Arena;
  readonly #passPoints: number;

  /** @param pointCountMax of the largest sum */
  constructor(curve: AnyCurve, pointCountMax: number) {
    this.#passPoints = Math.min(PASS_POINTS, pointCountMax);
    const sizing = loadKernels({ pages: 1, curve });
    const points = this.#passPoints * (sizing.g1.pointBytes + 2 * sizing.fq.bytes + sizing.fr.bytes);
    const bytes = KERNEL_RESERVED_BYTES + points + msmWorkspaceBytes(sizing, "g1", this.#passPoints) + PAGE_BYTES;
    const pages = Math.ceil(bytes / PAGE_BYTES);
    this.#kernels = loadKernels({ pages, curve });
    this.#arena = new Arena(KERNEL_RESERVED_BYTES, pages * PAGE_BYTES);
  }

  /**
   * Returns the sums of runs of the points, whose total is the sum; an infinite one is left out.
   * @param points affine, Montgomery form, little-endian, none infinite
   * @param scalars little-endian, below the order
   */
  partsOf(points: Uint8Array, scalars: Uint8Array): G1Point[] {
    const { fq, fr } = this.#kernels;
    const count = scalars.length / fr.bytes;
    if (points.length !== count * 2 * fq.bytes) throw new RangeError("points and scalars differ in number");
    const parts: G1Point[] = [];
    for (let from = 0; from < count; from += this.#passPoints) {
      const to = Math.min(count, from + this.#passPoints);
      const part = this.#pass(
        points.subarray(from * 2 * fq.bytes, to * 2 * fq.bytes),
        scalars.subarray(from * fr.bytes, to * fr.bytes),
      );
      if (part !== undefined) parts.push(part);
    }
    return parts;
  }

  #pass(points: Uint8Array, scalars: Uint8Array): G1Point | undefined {
    const kernels = this.#kernels;
    const count = scalars.length / kernels.fr.bytes;
    return this.#arena.scoped(() => {
      const target = this.#arena.take(count * kernels.g1.pointBytes);
      this.#arena.scoped(() => {
        const raw = this.#arena.take(points.length);
        kernels.bytes(raw, points.length).set(points);
        kernels.call("fq_import_foreign", target, raw, 2 * count);
      });
      const integers = this.#arena.take(scalars.length);
      kernels.bytes(integers, scalars.length).set(scalars);
      const sum = this.#arena.take(kernels.g1.pointBytes);
      new Msm(kernels, "g1", this.#arena).run({ points: target, scalars: integers, indices: 0, count }, sum);
      if (kernels.callOne("g1_is_marked", sum) === 1) return undefined;
      const plain = this.#arena.take(2 * kernels.fq.bytes);
      kernels.call("fq_export_plain", plain, sum, 2);
      const { bytes } = kernels.fq;
      return { x: kernels.readInteger(plain, bytes), y: kernels.readInteger(plain + bytes, bytes) };
    });
  }
}
