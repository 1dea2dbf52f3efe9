/** What the parts of an FFLONK proof work with, and the named scalars and points that they hand to each other. */
import { EVALUATIONS } from "../../fflonk/fflonk-values.js";
import type { Evaluation, FflonkEvaluations } from "../../fflonk/fflonk-values.js";
import { openingPoints } from "../../fflonk/opening.js";
import type { OpeningPoints } from "../../fflonk/opening.js";
import { alphaOf, permutationChallenges, xiOf, xiSeedOf, yOf } from "../../fflonk/fflonk-transcript.js";
import type { PermutationChallenges } from "../../fflonk/fflonk-transcript.js";
import type { Kernels } from "../kernels.js";
import { Domain } from "../ntt/domain.js";
import { NamedPoints, NamedScalars } from "../plonk/named-memory.js";
import type { CircuitContext } from "../plonk/resident-circuit.js";
import { ScalarMemory } from "../plonk/scalar-memory.js";
import type { ProofPlace } from "../plonk/team-prover.js";
import type { Arena } from "../wasm/arena.js";
import type { ResidentFflonkKey } from "./fflonk-key.js";
import { COMMITMENTS, FFLONK_BLINDING_COUNT } from "./fflonk-layout.js";
import type { Commitment, FflonkLayout } from "./fflonk-layout.js";

/** What every part of a proof works with. */
export interface FflonkContext extends CircuitContext {
  readonly key: ResidentFflonkKey;
  readonly layout: FflonkLayout;
  readonly memory: FflonkMemory;
  readonly challenges: FflonkChallenges;
}

/** Returns the context of a proof on the calling thread. */
export function fflonkContext(
  { kernels, layout, scratch }: ProofPlace<FflonkLayout>,
  key: ResidentFflonkKey,
): FflonkContext {
  const memory = new FflonkMemory(kernels, layout, scratch);
  const domain = new Domain(kernels, key.domainPower, key.domainTables);
  return { kernels, key, layout, scratch, memory, domain, challenges: new FflonkChallenges(key, memory) };
}

/** Reads and writes what the steps of a proof hand to each other. */
export class FflonkMemory {
  readonly scalars: ScalarMemory;
  readonly evaluations: NamedScalars<Evaluation>;
  readonly points: NamedPoints<Commitment>;
  readonly #kernels: Kernels;
  readonly #layout: FflonkLayout;

  constructor(kernels: Kernels, layout: FflonkLayout, scratch: Arena) {
    this.scalars = new ScalarMemory(kernels, scratch);
    this.#kernels = kernels;
    this.#layout = layout;
    this.evaluations = new NamedScalars(kernels, this.scalars, { names: EVALUATIONS, address: layout.evaluations });
    this.points = new NamedPoints(kernels, this.scalars, { names: COMMITMENTS, address: layout.points });
  }

  /** Returns the first `count` public signals. */
  publicSignals(count: number): bigint[] {
    return this.scalars.readIntegers(this.#layout.scalars + this.#kernels.fr.bytes, count);
  }

  /** Returns the blinding scalars from number `first` on. */
  blinding(first: number): bigint[] {
    return this.scalars.readIntegers(this.#layout.blinding, FFLONK_BLINDING_COUNT).slice(first);
  }

  /** Returns all values of the proof. */
  allEvaluations(): FflonkEvaluations {
    return Object.fromEntries(EVALUATIONS.map((name) => [name, this.evaluations.get(name)])) as Record<
      Evaluation,
      bigint
    >;
  }
}

/**
 * The challenges of one proof, each computed when it is first asked for, from what then stands in the shared memory; so
 * any thread can run any task.
 */
export class FflonkChallenges {
  readonly #key: ResidentFflonkKey;
  readonly #memory: FflonkMemory;
  #permutation: PermutationChallenges | undefined;
  #xiSeed: bigint | undefined;
  #alpha: bigint | undefined;
  #points: OpeningPoints | undefined;

  constructor(key: ResidentFflonkKey, memory: FflonkMemory) {
    this.#key = key;
    this.#memory = memory;
  }

  /** The permutation's challenges, once C1 is committed to. */
  get permutation(): PermutationChallenges {
    const { verifyingKey, publicCount } = this.#key;
    this.#permutation ??= permutationChallenges(
      verifyingKey.c0,
      this.#memory.publicSignals(publicCount),
      this.#memory.points.get("c1"),
    );
    return this.#permutation;
  }

  /** The point of the openings, once C2 is committed to. */
  get xi(): bigint {
    return xiOf(this.#seed);
  }

  /** The challenge that separates the openings, once the values are known. */
  get alpha(): bigint {
    this.#alpha ??= alphaOf(this.#seed, this.#memory.allEvaluations());
    return this.#alpha;
  }

  /** The points of the openings, once W is committed to. */
  get points(): OpeningPoints {
    const { domainPower } = this.#key;
    this.#points ??= openingPoints(domainPower, {
      xiSeed: this.#seed,
      y: yOf(this.alpha, this.#memory.points.get("w1")),
    });
    return this.#points;
  }

  get #seed(): bigint {
    this.#xiSeed ??= xiSeedOf(this.permutation.gamma, this.#memory.points.get("c2"));
    return this.#xiSeed;
  }
}
