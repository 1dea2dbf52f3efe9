/**
 * FFLONK proving on the kernels, from a witness in bytes to the proof, with a resident key (fflonk-key.ts). It checks
 * neither the witness nor the proof: the caller makes sure that every witness value is below the order of the scalar
 * field, and verifies the proof.
 */
import { BN254 } from "../../curves/bn254.js";
import type { FflonkProof } from "../../fflonk/fflonk-values.js";
import { denominatorProduct } from "../../fflonk/opening.js";
import { inverse } from "../../field/prime-field.js";
import { createTeam } from "../threads/thread-team.js";
import { TeamProver } from "../plonk/team-prover.js";
import type { ProofPlace, TeamProof, TeamScheme } from "../plonk/team-prover.js";
import { FflonkMemory, fflonkContext } from "./fflonk-context.js";
import type { ResidentFflonkKey } from "./fflonk-key.js";
import { FFLONK_BLINDING_COUNT, layOutFflonk } from "./fflonk-layout.js";
import type { FflonkLayout } from "./fflonk-layout.js";
import { fflonkSteps } from "./fflonk-steps.js";

/** Proves with a resident key on one thread. Opening takes a millisecond; keep it as long as the key. */
export class FflonkProver {
  readonly #key: ResidentFflonkKey;
  readonly #prover: TeamProver;

  constructor(key: ResidentFflonkKey) {
    this.#key = key;
    this.#prover = new TeamProver(key, BN254);
  }

  /**
   * Makes the proof for given blinding scalars, which must be fresh and random.
   * @param witness 32 bytes little-endian per wire of the constraint system, each below the order, wire 0 being one.
   * @param blinding FFLONK_BLINDING_COUNT scalars below the order.
   * @param team memory of a team that helpers may join (`help`), used by this proof alone
   * @throws Error when all workspaces of the key are taken, or a kernel traps; TeamFailedError when a helper was lost.
   */
  prove(
    witness: Uint8Array,
    blinding: readonly bigint[],
    team: SharedArrayBuffer = createTeam(),
  ): TeamProof<FflonkProof> {
    if (witness.length !== this.#prover.witnessBytes) throw new RangeError("the witness has a wrong length");
    if (blinding.length !== FFLONK_BLINDING_COUNT)
      throw new RangeError("a proof takes another number of blinding scalars");
    return this.#prover.prove(this.#scheme({ witness, blinding }), team);
  }

  /** Helps the proof that leads the team: see `TeamProver`. */
  help(team: SharedArrayBuffer): void {
    this.#prover.help(this.#scheme(), team);
  }

  #scheme(start?: {
    readonly witness: Uint8Array;
    readonly blinding: readonly bigint[];
  }): TeamScheme<FflonkLayout, FflonkProof> {
    const key = this.#key;
    return {
      layOut: (kernels, at) => layOutFflonk(kernels, key, at),
      begin: ({ kernels, layout, scratch }) => {
        if (start === undefined) throw new TypeError("a helper begins no proof");
        kernels.bytes(layout.scalars, start.witness.length).set(start.witness);
        new FflonkMemory(kernels, layout, scratch).scalars.writeIntegers(layout.blinding, start.blinding);
      },
      steps: (place) => fflonkSteps(place, key),
      read: (place) => readProof(place, key),
    };
  }
}

function readProof(place: ProofPlace<FflonkLayout>, key: ResidentFflonkKey): FflonkProof {
  const { memory, challenges } = fflonkContext(place, key);
  const { points } = memory;
  return {
    curve: key.verifyingKey.curve,
    c1: points.get("c1"),
    c2: points.get("c2"),
    w1: points.get("w1"),
    w2: points.get("w2"),
    evaluations: memory.allEvaluations(),
    inverse: inverse(denominatorProduct(key, challenges.points), BN254.r),
  };
}
