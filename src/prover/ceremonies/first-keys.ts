/**
 * The beginning of a ceremony, a step of its prover's provisioning: the key before any contribution, from a published
 * powers-of-tau file. Anybody can make it again, and it is not safe before the first contribution.
 */
import { assert } from "../../platform/errors.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Events } from "../../platform/events/events.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { StoreCommit } from "../../platform/store/store.js";
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import type { CeremonyCompute, FirstKey } from "../compute/ceremony-compute.js";
import type { ComputeOptions, StepFailure } from "../compute/compute.js";
import { ceremonyEvent } from "../prover-events.js";
import { PUBLISHED, type ReferenceStrings } from "../provisioning/reference-strings.js";
import type { StoredProver } from "../repository.js";
import type { CeremonyRecords, StoredCeremony } from "./ceremony-records.js";
import { settleTurns } from "./turns.js";

interface FirstKeysDependencies {
  readonly records: CeremonyRecords;
  readonly artifacts: Pick<Artifacts, "read">;
  readonly strings: Pick<ReferenceStrings, "phase1Files" | "ensurePhase1" | "find">;
  readonly compute: Pick<CeremonyCompute, "makeFirstKey">;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
}

/** With the strings that are there, with one that was taken from the folder, and once more if it was deleted. */
const TRIES_MAX = 3;

export class FirstKeys {
  readonly #with: FirstKeysDependencies;

  constructor(dependencies: FirstKeysDependencies) {
    this.#with = dependencies;
  }

  /** Makes the key of a prover whose circuit is compiled. */
  async make(
    prover: StoredProver,
    curve: CurveName,
    options: ComputeOptions,
  ): Promise<{ readonly ok: true; readonly value: FirstKey } | StepFailure> {
    const { compute, strings, artifacts } = this.#with;
    const circuit = prover.build.artifacts["circuit.r1cs"];
    assert(circuit !== undefined, "a ceremony begins with a compiled circuit");
    const r1cs = await artifacts.read(circuit.sha256);
    const phase1 = prover.build.phase1 ?? PUBLISHED;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const files = await strings.phase1Files(curve, phase1);
      const made = await compute.makeFirstKey({ r1cs, strings: files }, options);
      if (!("referencePower" in made)) return made;
      const failure = await strings.ensurePhase1(curve, { phase1, power: made.referencePower }, options);
      if (failure !== undefined) return failure;
    }
    throw new Error("no powers-of-tau file is large enough, though one was found");
  }

  /** Prepares the opening of the ceremony; it conflicts when the ceremony changes meanwhile. */
  opening(
    { id, build: { owner } }: StoredProver,
    curve: CurveName,
    made: { readonly key: StoredCeremony["initial"]; readonly first: FirstKey },
  ): StoreCommit {
    const record = this.#with.records.find({ owner, id });
    const string = this.#with.strings.find(curve, made.first.referenceString);
    assert(record !== undefined && string !== undefined && made.key !== null, "a ceremony goes with its prover");
    const { sha256, bytes } = made.key;
    const nowMs = this.#with.clock.nowMs();
    const next: StoredCeremony = {
      ...record.value,
      ...{ state: "open", updated_at: isoTimestamp(nowMs), circuit_hash: made.first.circuitHash },
      phase1: { sha256: string.sha256, power: string.power },
      initial: { sha256, bytes },
      head: { index: 0, sha256, bytes },
    };
    return mergeCommits(
      this.#with.records.update(record, settleTurns(next, nowMs)),
      this.#with.events.commitOf([ceremonyEvent(owner, id, "opened")]),
    );
  }
}
