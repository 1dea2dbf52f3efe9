/** The owner's changes of a prover: its tags, free data and description; and names of provers in place of ids. */
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { notFound } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import { retryOnConflict } from "../../platform/store/commits.js";
import type { Store } from "../../platform/store/store.js";
import type { ProverRepository } from "../repository.js";
import type { UpdateProver } from "./label-schemas.js";

interface LabellingDependencies {
  readonly store: Store;
  readonly repository: ProverRepository;
  readonly clock: Clock;
}

export class Labelling {
  readonly #with: LabellingDependencies;

  constructor(dependencies: LabellingDependencies) {
    this.#with = dependencies;
  }

  /**
   * Returns the id that a path names: itself, or that of the owner's prover with the name and tag.
   * @throws AppError `not_found` when no prover has the tag
   */
  idOf(owner: Subject, reference: string): string {
    const colon = reference.indexOf(":");
    if (colon === -1) return reference;
    const id = this.#with.repository.labels.find(owner, reference.slice(0, colon), reference.slice(colon + 1));
    if (id === undefined) throw notFound("prover");
    return id;
  }

  /**
   * Changes what is given; tags of a provisioned prover move here at once.
   * @throws AppError `not_found`, `invalid_request`, `prover_not_provisioned`, `conflict` when it keeps changing
   */
  async update(owner: Subject, id: string, change: UpdateProver): Promise<void> {
    const { store, repository, clock } = this.#with;
    await retryOnConflict(async () => {
      const record = repository.find(owner, id);
      if (record === undefined) throw notFound("prover");
      await store.commit(repository.labels.change(record, change, isoTimestamp(clock.nowMs())));
    });
  }
}
