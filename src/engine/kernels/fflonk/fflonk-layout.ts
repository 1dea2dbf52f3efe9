/**
 * The workspace that the threads of an FFLONK proof share: everything but a thread's own scratch lies in the leader's.
 * Every thread computes the layout from the key's counts.
 */
import { BLINDING_ROWS, EVALUATIONS, Z_BLINDING_COUNT } from "../../fflonk/fflonk-values.js";
import type { Kernels } from "../kernels.js";
import { MSM_HEADER_BYTES, msmScratchBytes, takeMsmLists } from "../msm/msm-lists.js";
import type { MsmLists } from "../msm/msm-lists.js";
import { vectorBytes } from "../ntt/domain.js";
import { COLUMNS } from "../plonk/columns.js";
import { pieceScratchBytes } from "../plonk/sections.js";
import { Arena, align } from "../wasm/arena.js";
import { COMMITMENT_SIZES } from "./fflonk-key.js";

interface Counts {
  readonly domainPower: number;
  readonly wireCount: number;
}

/** Vectors that a thread keeps in its scratch while it computes a quotient on one coset. */
const COSET_SCRATCH_VECTORS = 6;
const SPARE_BYTES = 65_536;

/** Scalars that blind the columns, two rows each, and behind them those of z. */
export const WIRE_BLINDING_COUNT = COLUMNS.length * BLINDING_ROWS;
export const FFLONK_BLINDING_COUNT = WIRE_BLINDING_COUNT + Z_BLINDING_COUNT;

/** Commitments in the order of the proof; they are computed one after the other. */
export const COMMITMENTS = ["c1", "c2", "w1", "w2"] as const;
export type Commitment = (typeof COMMITMENTS)[number];

/** Addresses in the leader's workspace. Everything in it that follows from the witness is secret. */
export interface FflonkLayout {
  /** Canonical integers: the wires' values. */
  readonly scalars: number;
  /** The blinding scalars, canonical integers. */
  readonly blinding: number;
  /** The wires' values as elements, and behind them the scalars that blind the columns. */
  readonly wires: number;
  /** Values on the domain, then coefficients. */
  readonly values: Readonly<Record<"a" | "b" | "c" | "z", number>>;
  readonly coefficients: Readonly<Record<"a" | "b" | "c" | "z" | "publicInputs", number>>;
  /** The parts of a quotient: of the gates' two, then the factors of z, then the permutation's four. */
  readonly quotient: readonly [number, number, number, number];
  /** Elements, lowest coefficient first: C1; C2, and in its place what W' divides. */
  readonly c1: number;
  readonly c2: number;
  /** Elements: C0, C1 and C2 divided by the polynomials that vanish where they are opened; then W in the last. */
  readonly opened: readonly [c0: number, c1: number, c2: number];
  /** Canonical scalars of the sum that is computed. */
  readonly sum: number;
  /**
   * Memory of the sum that each commitment is; they share it, but for its header: the number of a step's tasks follows
   * from that, and must not change when the step is done.
   */
  readonly lists: Readonly<Record<Commitment, MsmLists>>;
  /** Affine points in the order of COMMITMENTS. */
  readonly points: number;
  /** Canonical integers in the order of EVALUATIONS. */
  readonly evaluations: number;
  /** The rest of the workspace: scratch of the thread that owns it. */
  readonly scratch: number;
}

/** Returns the bytes of a workspace, what the threads of a proof share and scratch, and of a helper's scratch alone. */
export function fflonkWorkspaceBytes(
  kernels: Kernels,
  counts: Counts,
): { readonly workspace: number; readonly helper: number } {
  const coset = COSET_SCRATCH_VECTORS * align(vectorBytes(kernels, counts.domainPower));
  const count = COMMITMENT_SIZES.c2 * 2 ** counts.domainPower;
  const most = Math.max(coset + pieceScratchBytes(kernels), msmScratchBytes(kernels, "g1", count));
  const helper = most + SPARE_BYTES;
  return { workspace: layOutFflonk(kernels, counts, 0).scratch + helper, helper };
}

/** Returns the addresses in a workspace that begins at `start`, a multiple of 64. */
export function layOutFflonk(kernels: Kernels, counts: Counts, start: number): FflonkLayout {
  const { bytes, elementBytes } = kernels.fr;
  const size = 2 ** counts.domainPower;
  const arena = new Arena(start, Number.MAX_SAFE_INTEGER);
  const vector = (): number => arena.take(vectorBytes(kernels, counts.domainPower));
  const polynomial = (name: keyof typeof COMMITMENT_SIZES): number =>
    arena.take(COMMITMENT_SIZES[name] * size * elementBytes);
  const shared = takeMsmLists(kernels, "g1", arena, { count: COMMITMENT_SIZES.c2 * size });
  const lists = COMMITMENTS.map((name) => [name, { ...shared, header: arena.take(MSM_HEADER_BYTES) }] as const);
  return {
    scalars: arena.take(counts.wireCount * bytes),
    blinding: arena.take(FFLONK_BLINDING_COUNT * bytes),
    wires: arena.take((counts.wireCount + WIRE_BLINDING_COUNT) * elementBytes),
    values: { a: vector(), b: vector(), c: vector(), z: vector() },
    coefficients: { a: vector(), b: vector(), c: vector(), z: vector(), publicInputs: vector() },
    quotient: [vector(), vector(), vector(), vector()],
    c1: polynomial("c1"),
    c2: polynomial("c2"),
    opened: [polynomial("c0"), polynomial("c1"), polynomial("c2")],
    sum: arena.take(COMMITMENT_SIZES.c2 * size * bytes),
    lists: Object.fromEntries(lists) as Record<Commitment, MsmLists>,
    points: arena.take(COMMITMENTS.length * kernels.g1.pointBytes),
    evaluations: arena.take(EVALUATIONS.length * bytes),
    scratch: arena.take(0),
  };
}
