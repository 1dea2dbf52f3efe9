/**
 * The thread that leads or helps proofs with a resident key of PLONK or FFLONK, whatever the proof is made of. Every
 * proof is made by a team (threads/thread-team.ts): by its leader alone, or with helpers that have opened the same key
 * on their own threads.
 */
import { openKernels } from "../kernels.js";
import type { Kernels } from "../kernels.js";
import { ThreadTeam, createTeam } from "../threads/thread-team.js";
import type { TeamStep } from "../threads/thread-team.js";
import { takeHelperPlace, takeWorkspace } from "../threads/workspaces.js";
import type { Workspace } from "../threads/workspaces.js";
import { Arena } from "../wasm/arena.js";
import type { ResidentCircuit } from "./resident-circuit.js";

/** What a scheme says of its proofs. `Layout` are the addresses in the leader's workspace. */
export interface TeamScheme<Layout extends { readonly scratch: number }, Proof> {
  layOut(kernels: Kernels, start: number): Layout;
  /** Writes what a proof starts from. */
  begin(place: ProofPlace<Layout>): void;
  steps(place: ProofPlace<Layout>): TeamStep[];
  /** Reads the proof when all steps are done. */
  read(place: ProofPlace<Layout>): Proof;
}

/** Where a thread works on a proof: the leader's layout, and scratch of its own. */
export interface ProofPlace<Layout> {
  readonly kernels: Kernels;
  readonly layout: Layout;
  readonly scratch: Arena;
}

export interface TeamProof<Proof> {
  readonly proof: Proof;
  /** Milliseconds that the calling thread spent on each step, without those of helpers; for the bench. */
  readonly timings: ReadonlyMap<string, number>;
}

/** Opens a key on one thread. Opening takes a millisecond; keep it as long as the key. */
export class TeamProver {
  readonly #key: ResidentCircuit;
  readonly #kernels: Kernels;

  constructor(key: ResidentCircuit, curve: Kernels["curve"]) {
    this.#key = key;
    this.#kernels = openKernels(key.memory, { preferred: key.kind, curve, isChecked: true });
    if (this.#kernels.kind !== key.kind)
      throw new Error("this thread cannot run the kernels that the key was built for");
  }

  /** Bytes of a witness. */
  get witnessBytes(): number {
    return this.#key.systemWireCount * this.#kernels.fr.bytes;
  }

  /**
   * Leads a proof.
   * @param team memory of a team that helpers may join (`help`), used by this proof alone
   * @throws Error when all workspaces of the key are taken, or a kernel traps; TeamFailedError when a helper was lost.
   */
  prove<Layout extends { readonly scratch: number }, Proof>(
    scheme: TeamScheme<Layout, Proof>,
    team: SharedArrayBuffer,
  ): TeamProof<Proof> {
    const kernels = this.#kernels;
    const workspace = takeWorkspace(this.#key);
    if (workspace === undefined) throw new Error("every workspace of the proving key is taken");
    const layout = scheme.layOut(kernels, workspace.start);
    const place = (): ProofPlace<Layout> => ({ kernels, layout, scratch: new Arena(layout.scratch, workspace.end) });
    let own = new ThreadTeam(team);
    try {
      scheme.begin(place());
      // A team that was led before, by a thread that died, may still have helpers in that other workspace.
      if (!own.open(workspace.index)) {
        own = new ThreadTeam(createTeam());
        own.open(workspace.index);
      }
      const timings = new Map<string, number>();
      own.lead(scheme.steps(place()), (name, ms) => timings.set(name, (timings.get(name) ?? 0) + ms));
      return { proof: scheme.read(place()), timings };
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
  help<Layout extends { readonly scratch: number }, Proof>(
    scheme: TeamScheme<Layout, Proof>,
    team: SharedArrayBuffer,
  ): void {
    const key = this.#key;
    const kernels = this.#kernels;
    const member = new ThreadTeam(team);
    const joined = member.join();
    if (joined === undefined) return;
    try {
      const own = takeHelperPlace(key, (start) => scheme.layOut(kernels, start).scratch);
      if (own === undefined) return;
      try {
        const shared = key.workspaces[joined.place];
        if (shared === undefined) throw new RangeError("the team works in a workspace that the key does not have");
        const scratch = new Arena(own.start, own.end);
        member.help(scheme.steps({ kernels, layout: scheme.layOut(kernels, shared.start), scratch }));
      } finally {
        wipe(kernels, own);
        own.release();
      }
    } finally {
      member.leave();
    }
  }
}

function wipe(kernels: Kernels, { start, end }: Workspace): void {
  kernels.bytes(start, end - start).fill(0);
}
