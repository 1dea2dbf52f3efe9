/**
 * The workspace that the threads of a PLONK proof share: everything but a thread's own scratch lies in the leader's.
 * Every thread computes the layout from the key's counts.
 */
import type { Kernels } from "../kernels.js";
import { MSM_HEADER_BYTES, msmScratchBytes, takeMsmLists } from "../msm/msm-lists.js";
import type { MsmLists } from "../msm/msm-lists.js";
import { vectorBytes } from "../ntt/domain.js";
import { Arena, align } from "../wasm/arena.js";
import { BLINDING_POINTS } from "./plonk-key.js";
import { COSET_COUNT, EXTRA_POWERS } from "./resident-circuit.js";
import { pieceScratchBytes } from "./sections.js";

interface Counts {
  readonly domainPower: number;
  readonly wireCount: number;
}

/** Vectors that a thread keeps in its scratch while it computes the quotient on one coset. */
export const COSET_SCRATCH_VECTORS = 6;

/** Scalars that blind the polynomials, in the order of their memory. */
export const BLINDING_COUNTS = { a: 2, b: 2, c: 2, z: 3, t: 2 } as const;
export const BLINDING_COUNT = Object.values(BLINDING_COUNTS).reduce((sum, count) => sum + count, 0);

/** Commitments in the order of the proof. */
export const COMMITMENTS = ["a", "b", "c", "z", "t1", "t2", "t3", "wXi", "wXiOmega"] as const;
export type Commitment = (typeof COMMITMENTS)[number];

/** Sums that are computed at the same time, and which of their lists a commitment takes. */
const SUMS_TOGETHER = 3;
const SHARED_LISTS: Readonly<Record<Commitment, number>> = {
  ...{ a: 0, b: 1, c: 2, z: 0 },
  ...{ t1: 0, t2: 1, t3: 2, wXi: 0, wXiOmega: 1 },
};

export const CHALLENGES = ["beta", "gamma", "alpha", "xi", "v"] as const;
export type Challenge = (typeof CHALLENGES)[number];

export const EVALUATIONS = ["a", "b", "c", "s1", "s2", "zOmega"] as const;
export type Evaluation = (typeof EVALUATIONS)[number];

/** Addresses in the leader's workspace. Everything in it that follows from the witness is secret. */
export interface PlonkLayout {
  /** Canonical integers: the wires' values, then the scalars of BLINDING_POINTS for a, b and c. */
  readonly scalars: number;
  /** The blinding scalars, canonical integers in the order of BLINDING_COUNTS. */
  readonly blinding: number;
  /** The wires' values as elements. */
  readonly wires: number;
  /** Values on the domain, then coefficients. */
  readonly values: Readonly<Record<"a" | "b" | "c" | "z", number>>;
  readonly coefficients: Readonly<Record<"a" | "b" | "c" | "z" | "publicInputs", number>>;
  /** The quotient's four parts; before, the factors of z. */
  readonly quotient: readonly [number, number, number, number];
  /** Coefficients of the quotient's parts beyond the domain, canonical integers: EXTRA_POWERS for each of three. */
  readonly tails: number;
  /** Powers of xi, and of xi times the domain's root: in the place of values that are no longer used. */
  readonly powers: { readonly xi: number; readonly xiOmega: number };
  /** Canonical scalars of up to three sums over the setup's powers. */
  readonly sums: readonly [number, number, number];
  /**
   * Memory of the sum that each commitment is. Those that are never computed together share it, but for its header:
   * the number of a step's tasks follows from that, and must not change when the step is done.
   */
  readonly lists: Readonly<Record<Commitment, MsmLists>>;
  /** Affine points in the order of COMMITMENTS. */
  readonly points: number;
  /** Canonical integers in the order of CHALLENGES and of EVALUATIONS. */
  readonly challenges: number;
  readonly evaluations: number;
  /** The rest of the workspace: scratch of the thread that owns it. */
  readonly scratch: number;
}

/** Returns the bytes of a workspace, what the threads of a proof share and scratch, and of a helper's scratch alone. */
export function plonkWorkspaceBytes(
  kernels: Kernels,
  counts: Counts,
): { readonly workspace: number; readonly helper: number } {
  const size = 2 ** counts.domainPower + EXTRA_POWERS;
  const coset = COSET_SCRATCH_VECTORS * align(vectorBytes(kernels, counts.domainPower));
  const opening = align(vectorBytes(kernels, counts.domainPower)) + align(size * kernels.fr.elementBytes);
  const most = Math.max(coset + pieceScratchBytes(kernels), opening, msmScratchBytes(kernels, "g1", size));
  const helper = most + 65_536;
  return { workspace: layOutPlonk(kernels, counts, 0).scratch + helper, helper };
}

/** Returns the addresses in a workspace that begins at `start`, a multiple of 64. */
export function layOutPlonk(kernels: Kernels, counts: Counts, start: number): PlonkLayout {
  const { bytes, elementBytes } = kernels.fr;
  const size = 2 ** counts.domainPower + EXTRA_POWERS;
  const arena = new Arena(start, Number.MAX_SAFE_INTEGER);
  const vector = (): number => arena.take(vectorBytes(kernels, counts.domainPower));
  const sum = (): number => arena.take(size * bytes);
  const values = { a: vector(), b: vector(), c: vector(), z: vector() };
  const shared = Array.from({ length: SUMS_TOGETHER }, () => takeMsmLists(kernels, "g1", arena, { count: size }));
  const lists = COMMITMENTS.map((name, i) => {
    const [first] = shared;
    const own = shared[SHARED_LISTS[name]] ?? first;
    if (own === undefined) throw new RangeError(`there are no lists for commitment ${i}`);
    return [name, { ...own, header: arena.take(MSM_HEADER_BYTES) }] as const;
  });
  return {
    scalars: arena.take((counts.wireCount + 3 * BLINDING_POINTS) * bytes),
    blinding: arena.take(BLINDING_COUNT * bytes),
    wires: arena.take(counts.wireCount * elementBytes),
    values,
    coefficients: { a: vector(), b: vector(), c: vector(), z: vector(), publicInputs: vector() },
    quotient: [vector(), vector(), vector(), vector()],
    tails: arena.take((COSET_COUNT - 1) * EXTRA_POWERS * bytes),
    powers: { xi: values.a, xiOmega: values.b },
    sums: [sum(), sum(), sum()],
    lists: Object.fromEntries(lists) as Record<Commitment, MsmLists>,
    points: arena.take(COMMITMENTS.length * kernels.g1.pointBytes),
    challenges: arena.take(CHALLENGES.length * bytes),
    evaluations: arena.take(EVALUATIONS.length * bytes),
    scratch: arena.take(0),
  };
}
