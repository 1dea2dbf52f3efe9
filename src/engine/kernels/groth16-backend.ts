/**
 * Groth16 proving on the kernels, from a witness in bytes to the proof's three points, with a resident key (resident-key.ts). Groth 2016,
 * eprint 2016/260, section 3.2. It checks neither the witness nor the proof: the caller makes sure that every witness value is below the
 * order of the scalar field, and verifies what comes out.
 */
import { Arena } from "./arena.js";
import { Domain, vectorBytes } from "./domain.js";
import { loadKernels } from "./kernels.js";
import { Msm } from "./msm.js";
import { EXTRA_SCALARS, EXTRA_SCALAR_COUNT } from "./resident-key.js";
import type { Kernels } from "./kernels.js";
import type { PointSection, ResidentKey } from "./resident-key.js";

/** Canonical affine coordinates: x, y in G1; x.c0, x.c1, y.c0, y.c1 in G2. Undefined is infinity. */
export interface ProofCoordinates {
  readonly a: readonly bigint[] | undefined;
  readonly b: readonly bigint[] | undefined;
  readonly c: readonly bigint[] | undefined;
}

/** Milliseconds of each step, for the bench. */
export interface ProveTimings {
  readonly quotientMs: number;
  readonly aMs: number;
  readonly b1Ms: number;
  readonly b2Ms: number;
  readonly cMs: number;
  readonly hMs: number;
}

export interface KernelProof {
  readonly proof: ProofCoordinates;
  readonly timings: ProveTimings;
}

/** One thread's view of a resident key. Opening costs a millisecond; keep it as long as the key. */
export class ResidentProver {
  private readonly key: ResidentKey;
  private readonly kernels: Kernels;

  constructor(key: ResidentKey) {
    this.key = key;
    this.kernels = loadKernels({ memory: key.memory, isPrepared: true, preferred: key.kind });
    if (this.kernels.kind !== key.kind) throw new Error("this thread cannot run the kernels that the key was built for");
  }

  /**
   * Makes the proof for given blinding factors, which must be fresh and random.
   * @param witness 32 bytes little-endian per wire, each below the order, wire 0 being one.
   * @throws Error when all workspaces of the key are taken, or a kernel traps.
   */
  prove(witness: Uint8Array, blinding: { readonly r: bigint; readonly s: bigint }): KernelProof {
    const { kernels, key } = this;
    if (witness.length !== key.wireCount * kernels.fr.bytes) throw new RangeError("the witness has a wrong length");
    const slot = this.claimWorkspace();
    const { start, end } = slot;
    const held = (key.wireCount + EXTRA_SCALAR_COUNT) * kernels.fr.bytes;
    const arena = new Arena(start, end);
    const scalars = arena.take(held);
    try {
      kernels.bytes(scalars, witness.length).set(witness);
      return this.proveIn(arena, scalars, blinding);
    } finally {
      // The witness and the blinding factors are secret; what is derived from them is overwritten by the next proof at the latest.
      kernels.bytes(scalars, held).fill(0);
      slot.release();
    }
  }

  private proveIn(arena: Arena, scalars: number, blinding: { readonly r: bigint; readonly s: bigint }): KernelProof {
    const { kernels, key } = this;
    const { bytes } = kernels.fr;
    for (const [name, value] of [["one", 1n], ["r", blinding.r], ["s", blinding.s]] as const) {
      kernels.writeInteger(scalars + (key.wireCount + EXTRA_SCALARS[name]) * bytes, value, bytes);
    }
    const clock = new StepClock();
    const quotient = arena.take(2 ** key.domainPower * bytes);
    this.writeQuotient(arena, scalars, quotient);
    const quotientMs = clock.lap();
    const g1 = new Msm(kernels, "g1", arena);
    const g2 = new Msm(kernels, "g2", arena);
    const { pointBytes } = kernels.g1;
    // a || b1 || delta, then what they sum up to, as the points of a last small multiplication.
    const points = arena.take(3 * pointBytes);
    const b = arena.take(kernels.g2.pointBytes);
    const parts = arena.take(3 * pointBytes);
    g1.run(inputOf(key.a, scalars), points);
    const aMs = clock.lap();
    g1.run(inputOf(key.b1, scalars), points + pointBytes);
    const b1Ms = clock.lap();
    g2.run(inputOf(key.b2, scalars), b);
    const b2Ms = clock.lap();
    g1.run(inputOf(key.c, scalars), parts);
    const cMs = clock.lap();
    g1.run(inputOf(key.h, quotient), parts + pointBytes);
    const hMs = clock.lap();
    kernels.bytes(points + 2 * pointBytes, pointBytes).set(kernels.bytes(key.deltaG1, pointBytes));
    this.addBlinding(arena, g1, points, parts + 2 * pointBytes, blinding);
    const c = this.sumOfThree(arena, parts);
    const proof = { a: this.coordinates(arena, "g1", points), b: this.coordinates(arena, "g2", b), c: this.coordinates(arena, "g1", c) };
    return { proof, timings: { quotientMs, aMs, b1Ms, b2Ms, cMs, hMs } };
  }

  /** Scalars of the H points: A * B - C on the coset, in the order in which the key keeps those points. */
  private writeQuotient(arena: Arena, scalars: number, target: number): void {
    const { kernels, key } = this;
    arena.scoped(() => {
      const elements = arena.take(key.wireCount * kernels.fr.elementBytes);
      kernels.call("fr_import_raw", elements, scalars, key.wireCount);
      const [a, b, c] = [0, 0, 0].map(() => arena.take(vectorBytes(kernels, key.domainPower))) as [number, number, number];
      const size = 2 ** key.domainPower;
      kernels.call("fr_sum_rows", a, key.rowsA.rows, size, key.rowsA.terms, key.coefficients, elements);
      kernels.call("fr_sum_rows", b, key.rowsB.rows, size, key.rowsB.terms, key.coefficients, elements);
      const blocks = size / kernels.fr.lanes;
      kernels.call("fr_mul_blocks", c, a, b, blocks);
      const domain = new Domain(kernels, key.domainPower, key.domainTables);
      for (const vector of [a, b, c]) {
        domain.forward(vector);
        kernels.call("fr_mul_blocks", vector, vector, key.cosetScale, blocks);
        domain.backward(vector);
      }
      kernels.call("fr_join", target, a, b, c, blocks);
    });
  }

  /** target := s a + r b1 - r s delta. */
  private addBlinding(arena: Arena, g1: Msm, points: number, target: number, blinding: { readonly r: bigint; readonly s: bigint }): void {
    const { kernels } = this;
    const { bytes } = kernels.fr;
    const order = kernels.curve.fr;
    const { r, s } = blinding;
    arena.scoped(() => {
      const scalars = arena.take(3 * bytes);
      for (const [i, value] of [s, r, (order - ((r * s) % order)) % order].entries()) kernels.writeInteger(scalars + i * bytes, value, bytes);
      g1.run({ points, scalars, indices: 0, count: 3 }, target);
      kernels.bytes(scalars, 3 * bytes).fill(0);
    });
  }

  /** Adds three neighbouring affine points of G1; the sum replaces the first. */
  private sumOfThree(arena: Arena, points: number): number {
    const { kernels } = this;
    arena.scoped(() => {
      const sum = arena.take(kernels.g1.projectiveBytes);
      const term = arena.take(kernels.g1.projectiveBytes);
      kernels.call("g1_to_projective", sum, points);
      for (const i of [1, 2]) {
        kernels.call("g1_to_projective", term, points + i * kernels.g1.pointBytes);
        kernels.call("g1_add_points", sum, sum, term);
      }
      kernels.call("g1_to_affine", points, sum, arena.take(kernels.g1.affineScratchBytes));
    });
    return points;
  }

  private coordinates(arena: Arena, group: "g1" | "g2", point: number): readonly bigint[] | undefined {
    const { kernels } = this;
    if (kernels.callOne(`${group}_is_marked`, point) === 1) return undefined;
    const { bytes } = kernels.fq;
    const count = group === "g1" ? 2 : 4;
    return arena.scoped(() => {
      const target = arena.take(count * bytes);
      kernels.call("fq_export_plain", target, point, count);
      return Array.from({ length: count }, (_, i) => kernels.readInteger(target + i * bytes, bytes));
    });
  }

  /** Takes a free workspace of the key, so that threads that share it never meet in one. */
  private claimWorkspace(): { start: number; end: number; release: () => void } {
    const { key, kernels } = this;
    const flags = new Int32Array(kernels.memory.buffer, key.workspaceFlags, key.workspaces.length);
    for (const [i, { start, end }] of key.workspaces.entries()) {
      if (Atomics.compareExchange(flags, i, 0, 1) === 0) {
        const release = (): void => {
          Atomics.store(flags, i, 0);
        };
        return { start, end, release };
      }
    }
    throw new Error("every workspace of the proving key is taken");
  }
}

class StepClock {
  private at = performance.now();

  lap(): number {
    const before = this.at;
    this.at = performance.now();
    return this.at - before;
  }
}

function inputOf(section: PointSection, scalars: number): { points: number; scalars: number; indices: number; count: number } {
  return { ...section, scalars };
}
