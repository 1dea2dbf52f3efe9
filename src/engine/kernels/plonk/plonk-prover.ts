/**
 * PLONK proving on the kernels, from a witness in bytes to the proof, with a resident key (plonk-key.ts). It checks
 * neither the witness nor the proof: the caller makes sure that every witness value is below the order of the scalar
 * field, and verifies the proof.
 *
 * Every proof is made by a team (thread-team.ts): by its leader alone, or with helpers that have opened the same key on
 * their own threads.
 */
import type { PlonkProof } from "../../plonk/key.js";
import { ThreadTeam, createTeam } from "../threads/thread-team.js";
import { openKernels } from "../kernels.js";
import type { Kernels } from "../kernels.js";
import { takeWorkspace } from "../threads/workspaces.js";
import type { Workspace } from "../threads/workspaces.js";
import { Arena } from "../wasm/arena.js";
import type { ResidentPlonkKey } from "./plonk-key.js";
import { BLINDING_COUNT, layOutPlonk } from "./plonk-layout.js";
import type { PlonkLayout } from "./plonk-layout.js";
import { PlonkMemory } from "./plonk-memory.js";
import { plonkSteps } from "./plonk-steps.js";

export interface KernelPlonkProof {
  readonly proof: PlonkProof;
  /** Milliseconds that the calling thread spent on each step, without those of helpers; for the bench. */
  readonly timings: ReadonlyMap<string, number>;
}

/** Proves with a resident key on one thread. Opening takes a millisecond; keep it as long as the key. */
export class PlonkProver {
  readonly #key: ResidentPlonkKey;
  readonly #kernels: Kernels;

  constructor(key: ResidentPlonkKey, curve: Kernels["curve"]) {
    this.#key = key;
    this.#kernels = openKernels(key.memory, { preferred: key.kind, curve });
    if (this.#kernels.kind !== key.kind)
      throw new Error("this thread cannot run the kernels that the key was built for");
  }

  /**
   * Makes the proof for given blinding scalars, which must be fresh and random.
   * @param witness 32 bytes little-endian per wire of the constraint system, each below the order, wire 0 being one.
   * @param blinding BLINDING_COUNT scalars below the order.
   * @param team memory of a team that helpers may join (`help`), used by this proof alone
   * @throws Error when all workspaces of the key are taken, or a kernel traps; TeamFailedError when a helper was lost.
   */
  prove(witness: Uint8Array, blinding: readonly bigint[], team: SharedArrayBuffer = createTeam()): KernelPlonkProof {
    const kernels = this.#kernels;
    const key = this.#key;
    if (witness.length !== key.systemWireCount * kernels.fr.bytes)
      throw new RangeError("the witness has a wrong length");
    if (blinding.length !== BLINDING_COUNT) throw new RangeError("a proof takes another number of blinding scalars");
    const workspace = takeWorkspace(key);
    if (workspace === undefined) throw new Error("every workspace of the proving key is taken");
    const layout = layOutPlonk(kernels, key, workspace.start);
    const memory = new PlonkMemory(kernels, layout, new Arena(layout.scratch, workspace.end));
    let own = new ThreadTeam(team);
    try {
      kernels.bytes(layout.scalars, witness.length).set(witness);
      memory.scalars.writeIntegers(layout.blinding, blinding);
      // A team that was led before, by a thread that died, may still have helpers in that other workspace.
      if (!own.open(workspace.index)) {
        own = new ThreadTeam(createTeam());
        own.open(workspace.index);
      }
      return this.#lead(own, layout, new Arena(layout.scratch, workspace.end));
    } finally {
      const isOurs = own.disband();
      // The wires' values stand in many places: in vectors, in digits of sums and in scratch.
      wipe(kernels, workspace);
      // A workspace that a lost thread may still write to is never used again.
      if (isOurs) workspace.release();
    }
  }

  /**
   * Helps the proof that leads the team until it is done or helpers are dismissed. Returns at once when the team is
   * over or no workspace is free. A task that throws fails the team.
   */
  help(team: SharedArrayBuffer): void {
    const key = this.#key;
    const member = new ThreadTeam(team);
    const joined = member.join();
    if (joined === undefined) return;
    try {
      const own = takeWorkspace(key);
      if (own === undefined) return;
      try {
        const shared = key.workspaces[joined.place];
        if (shared === undefined) throw new RangeError("the team works in a workspace that the key does not have");
        const scratch = new Arena(layOutPlonk(this.#kernels, key, own.start).scratch, own.end);
        member.help(plonkSteps(this.#kernels, key, layOutPlonk(this.#kernels, key, shared.start), scratch));
      } finally {
        wipe(this.#kernels, own);
        own.release();
      }
    } finally {
      member.leave();
    }
  }

  #lead(team: ThreadTeam, layout: PlonkLayout, scratch: Arena): KernelPlonkProof {
    const timings = new Map<string, number>();
    team.lead(plonkSteps(this.#kernels, this.#key, layout, scratch), (name, ms) =>
      timings.set(name, (timings.get(name) ?? 0) + ms),
    );
    const memory = new PlonkMemory(this.#kernels, layout, scratch);
    const proof = {
      curve: this.#key.verifyingKey.curve,
      a: memory.point("a"),
      b: memory.point("b"),
      c: memory.point("c"),
      z: memory.point("z"),
      t1: memory.point("t1"),
      t2: memory.point("t2"),
      t3: memory.point("t3"),
      wXi: memory.point("wXi"),
      wXiOmega: memory.point("wXiOmega"),
      evaluations: {
        a: memory.evaluation("a"),
        b: memory.evaluation("b"),
        c: memory.evaluation("c"),
        s1: memory.evaluation("s1"),
        s2: memory.evaluation("s2"),
        zOmega: memory.evaluation("zOmega"),
      },
    };
    return { proof, timings };
  }
}

function wipe(kernels: Kernels, { start, end }: Workspace): void {
  kernels.bytes(start, end - start).fill(0);
}
