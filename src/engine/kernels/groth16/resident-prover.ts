/**
 * Groth16 proving on the kernels, from a witness in bytes to the proof's three points, with a resident key
 * (resident-key.ts). J. Groth, "On the size of pairing-based non-interactive arguments" (eprint 2016/260), section 3.2.
 * It checks neither the witness nor the proof: the caller makes sure that every witness value is below the order of the
 * scalar field, and verifies the proof.
 *
 * Every proof is made by a team (thread-team.ts): by its leader alone, or with helpers that have opened the same key on
 * their own threads.
 */
import { Arena } from "../wasm/arena.js";
import { curveNamed } from "../../curves/curves.js";
import type { CurveName } from "../../curves/curve-parameters.js";
import { openKernels } from "../kernels.js";
import { Msm } from "../msm/msm.js";
import { layOut, proofSteps } from "./proof-steps.js";
import { EXTRA_SCALARS, EXTRA_SCALAR_COUNT } from "./resident-key.js";
import { ThreadTeam, createTeam } from "../threads/thread-team.js";
import type { Kernels } from "../kernels.js";
import { takeHelperPlace, takeWorkspace } from "../threads/workspaces.js";
import type { ProofLayout } from "./proof-steps.js";
import type { ResidentKey } from "./resident-key.js";

/** Canonical affine coordinates: x, y in G1; x.c0, x.c1, y.c0, y.c1 in G2. Undefined is infinity. */
interface ProofCoordinates {
  readonly a: readonly bigint[] | undefined;
  readonly b: readonly bigint[] | undefined;
  readonly c: readonly bigint[] | undefined;
}

/** Milliseconds that the calling thread spent on each step, without those of helpers; for the bench. */
interface ProveTimings {
  readonly quotientMs: number;
  readonly aMs: number;
  readonly b1Ms: number;
  readonly b2Ms: number;
  readonly cMs: number;
  readonly hMs: number;
}

interface KernelProof {
  readonly proof: ProofCoordinates;
  readonly timings: ProveTimings;
}

/** The random scalars of a proof, below the order. */
export interface Blinding {
  readonly r: bigint;
  readonly s: bigint;
}

/** Proves with a resident key on one thread. Opening takes a millisecond; keep it as long as the key. */
export class ResidentProver {
  /** The key's curve. */
  readonly curve: CurveName;
  readonly #key: ResidentKey;
  readonly #kernels: Kernels;

  constructor(key: ResidentKey) {
    this.curve = key.curve;
    this.#key = key;
    this.#kernels = openKernels(key.memory, { curve: curveNamed(key.curve), preferred: key.kind, isChecked: true });
    if (this.#kernels.kind !== key.kind)
      throw new Error("this thread cannot run the kernels that the key was built for");
  }

  /**
   * Makes the proof for given blinding factors, which must be fresh and random.
   * @param witness 32 bytes little-endian per wire, each below the order, wire 0 being one.
   * @param team memory of a team that helpers may join (`help`), used by this proof alone
   * @throws Error when all workspaces of the key are taken, or a kernel traps; TeamFailedError when a helper was lost.
   */
  prove(witness: Uint8Array, blinding: Blinding, team: SharedArrayBuffer = createTeam()): KernelProof {
    const kernels = this.#kernels;
    const key = this.#key;
    if (witness.length !== key.wireCount * kernels.fr.bytes) throw new RangeError("the witness has a wrong length");
    const workspace = takeWorkspace(key);
    if (workspace === undefined) throw new Error("every workspace of the proving key is taken");
    const layout = layOut(kernels, key, workspace.start);
    const held = (key.wireCount + EXTRA_SCALAR_COUNT) * kernels.fr.bytes;
    let own = new ThreadTeam(team);
    try {
      this.#writeScalars(layout, witness, blinding);
      // Opened only when everything is written that helpers read. A team that was led before, by a thread that died,
      // may still have helpers in that other workspace.
      if (!own.open(workspace.index)) {
        own = new ThreadTeam(createTeam());
        own.open(workspace.index);
      }
      return this.#lead(own, layout, new Arena(layout.scratch, workspace.end), blinding);
    } finally {
      const isOurs = own.disband();
      // The witness and the blinding factors are secret. What is derived from them stays until the next proof
      // overwrites it.
      kernels.bytes(layout.scalars, held).fill(0);
      // A workspace that a lost thread may still write to is never used again; its owner drops it with its key
      // (prover/compute).
      if (isOurs) workspace.release();
    }
  }

  /**
   * Helps the proof that leads the team until it is done or helpers are dismissed. Returns at once when the team is
   * over or no workspace is free. A task that throws fails the team.
   */
  help(team: SharedArrayBuffer): void {
    const kernels = this.#kernels;
    const key = this.#key;
    const member = new ThreadTeam(team);
    const joined = member.join();
    if (joined === undefined) return;
    try {
      // Taken only when the leader has its own: a helper that held one while it waits could take the last one from the
      // proof that it was sent to.
      const own = takeHelperPlace(key, (start) => layOut(kernels, key, start).scratch);
      if (own === undefined) return;
      try {
        const shared = key.workspaces[joined.place];
        if (shared === undefined) throw new RangeError("the team works in a workspace that the key does not have");
        const scratch = new Arena(own.start, own.end);
        member.help(proofSteps(kernels, key, layOut(kernels, key, shared.start), scratch));
      } finally {
        own.release();
      }
    } finally {
      member.leave();
    }
  }

  #writeScalars(layout: ProofLayout, witness: Uint8Array, blinding: Blinding): void {
    const kernels = this.#kernels;
    const key = this.#key;
    const { bytes } = kernels.fr;
    kernels.bytes(layout.scalars, witness.length).set(witness);
    for (const [name, value] of [
      ["one", 1n],
      ["r", blinding.r],
      ["s", blinding.s],
    ] as const) {
      kernels.writeInteger(layout.scalars + (key.wireCount + EXTRA_SCALARS[name]) * bytes, value, bytes);
    }
  }

  #lead(team: ThreadTeam, layout: ProofLayout, scratch: Arena, blinding: Blinding): KernelProof {
    const kernels = this.#kernels;
    const key = this.#key;
    const spent = new Map<string, number>();
    team.lead(proofSteps(kernels, key, layout, scratch), (name, ms) => spent.set(name, (spent.get(name) ?? 0) + ms));
    const [g1, g2] = [new Msm(kernels, "g1", scratch), new Msm(kernels, "g2", scratch)];
    const { pointBytes } = kernels.g1;
    // a || b1 || delta, then what they sum up to, as the points of a last small multiplication.
    const points = scratch.take(3 * pointBytes),
      b = scratch.take(kernels.g2.pointBytes),
      parts = scratch.take(3 * pointBytes);
    g1.finish(layout.lists.a, points);
    g1.finish(layout.lists.b1, points + pointBytes);
    g2.finish(layout.lists.b2, b);
    g1.finish(layout.lists.c, parts);
    g1.finish(layout.lists.h, parts + pointBytes);
    kernels.bytes(points + 2 * pointBytes, pointBytes).set(kernels.bytes(key.deltaG1, pointBytes));
    this.#addBlinding(scratch, g1, { points, target: parts + 2 * pointBytes }, blinding);
    const c = this.#sumOfThree(scratch, parts);
    const proof = {
      a: this.#coordinates(scratch, "g1", points),
      b: this.#coordinates(scratch, "g2", b),
      c: this.#coordinates(scratch, "g1", c),
    };
    return { proof, timings: timingsOf(spent) };
  }

  /** target := s a + r b1 - r s delta, where a, b1 and delta are neighbours at `points`. */
  #addBlinding(
    arena: Arena,
    g1: Msm,
    { points, target }: { readonly points: number; readonly target: number },
    { r, s }: Blinding,
  ): void {
    const kernels = this.#kernels;
    const { bytes } = kernels.fr;
    const order = kernels.curve.r;
    arena.scoped(() => {
      const scalars = arena.take(3 * bytes);
      for (const [i, value] of [s, r, (order - ((r * s) % order)) % order].entries())
        kernels.writeInteger(scalars + i * bytes, value, bytes);
      g1.run({ points, scalars, indices: 0, count: 3 }, target);
      kernels.bytes(scalars, 3 * bytes).fill(0);
    });
  }

  /** Adds three neighbouring affine points of G1. The sum replaces the first, whose address is returned. */
  #sumOfThree(arena: Arena, points: number): number {
    const kernels = this.#kernels;
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

  #coordinates(arena: Arena, group: "g1" | "g2", point: number): readonly bigint[] | undefined {
    const kernels = this.#kernels;
    if (kernels.callOne(`${group}_is_marked`, point) === 1) return undefined;
    const { bytes } = kernels.fq;
    const count = group === "g1" ? 2 : 4;
    return arena.scoped(() => {
      const target = arena.take(count * bytes);
      kernels.call("fq_export_plain", target, point, count);
      return Array.from({ length: count }, (_, i) => kernels.readInteger(target + i * bytes, bytes));
    });
  }
}

function timingsOf(spent: ReadonlyMap<string, number>): ProveTimings {
  const sum = (...names: readonly string[]): number => names.reduce((total, name) => total + (spent.get(name) ?? 0), 0);
  return {
    quotientMs: sum("import", "rows", "transforms", "join"),
    aMs: sum("a"),
    b1Ms: sum("b1"),
    b2Ms: sum("b2"),
    cMs: sum("c"),
    hMs: sum("h"),
  };
}
