/**
 * PLONK proving on the kernels, from a witness in bytes to the proof, with a resident key (plonk-key.ts). It checks
 * neither the witness nor the proof: the caller makes sure that every witness value is below the order of the scalar
 * field, and verifies the proof.
 */
import type { PlonkProof } from "../../plonk/key.js";
import { createTeam } from "../threads/thread-team.js";
import type { Kernels } from "../kernels.js";
import type { ResidentPlonkKey } from "./plonk-key.js";
import { BLINDING_COUNT, layOutPlonk } from "./plonk-layout.js";
import type { PlonkLayout } from "./plonk-layout.js";
import { PlonkMemory } from "./plonk-memory.js";
import { plonkSteps } from "./plonk-steps.js";
import { TeamProver } from "./team-prover.js";
import type { ProofPlace, TeamProof, TeamScheme } from "./team-prover.js";

/** Proves with a resident key on one thread. Opening takes a millisecond; keep it as long as the key. */
export class PlonkProver {
  readonly #key: ResidentPlonkKey;
  readonly #prover: TeamProver;

  constructor(key: ResidentPlonkKey, curve: Kernels["curve"]) {
    this.#key = key;
    this.#prover = new TeamProver(key, curve);
  }

  /**
   * Makes the proof for given blinding scalars, which must be fresh and random.
   * @param witness 32 bytes little-endian per wire of the constraint system, each below the order, wire 0 being one.
   * @param blinding BLINDING_COUNT scalars below the order.
   * @param team memory of a team that helpers may join (`help`), used by this proof alone
   * @throws Error when all workspaces of the key are taken, or a kernel traps; TeamFailedError when a helper was lost.
   */
  prove(
    witness: Uint8Array,
    blinding: readonly bigint[],
    team: SharedArrayBuffer = createTeam(),
  ): TeamProof<PlonkProof> {
    if (witness.length !== this.#prover.witnessBytes) throw new RangeError("the witness has a wrong length");
    if (blinding.length !== BLINDING_COUNT) throw new RangeError("a proof takes another number of blinding scalars");
    return this.#prover.prove(this.#scheme({ witness, blinding }), team);
  }

  /** Helps the proof that leads the team: see `TeamProver`. */
  help(team: SharedArrayBuffer): void {
    this.#prover.help(this.#scheme(), team);
  }

  #scheme(start?: {
    readonly witness: Uint8Array;
    readonly blinding: readonly bigint[];
  }): TeamScheme<PlonkLayout, PlonkProof> {
    const key = this.#key;
    return {
      layOut: (kernels, at) => layOutPlonk(kernels, key, at),
      begin: ({ kernels, layout, scratch }) => {
        if (start === undefined) throw new TypeError("a helper begins no proof");
        kernels.bytes(layout.scalars, start.witness.length).set(start.witness);
        new PlonkMemory(kernels, layout, scratch).scalars.writeIntegers(layout.blinding, start.blinding);
      },
      steps: (place) => plonkSteps(place, key),
      read: (place) => readProof(place, key),
    };
  }
}

function readProof({ kernels, layout, scratch }: ProofPlace<PlonkLayout>, key: ResidentPlonkKey): PlonkProof {
  const { points, evaluations } = new PlonkMemory(kernels, layout, scratch);
  return {
    curve: key.verifyingKey.curve,
    a: points.get("a"),
    b: points.get("b"),
    c: points.get("c"),
    z: points.get("z"),
    t1: points.get("t1"),
    t2: points.get("t2"),
    t3: points.get("t3"),
    wXi: points.get("wXi"),
    wXiOmega: points.get("wXiOmega"),
    evaluations: {
      a: evaluations.get("a"),
      b: evaluations.get("b"),
      c: evaluations.get("c"),
      s1: evaluations.get("s1"),
      s2: evaluations.get("s2"),
      zOmega: evaluations.get("zOmega"),
    },
  };
}
