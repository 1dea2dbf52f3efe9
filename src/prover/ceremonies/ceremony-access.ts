/**
 * Who may see a ceremony and act in it: its owner by an access token, which the routes check, and contributors by the
 * token that joining gave. Tokens are looked up by their hash within the one ceremony that the path names.
 */
import { AppError, notFound } from "../../platform/errors.js";
import { opaqueTokenHash } from "../../platform/auth/opaque-token.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { StoreRecord } from "../../platform/store/store.js";
import type { ProverRepository, StoredProver } from "../repository.js";
import type { CeremonyRecords, StoredCeremony, StoredParticipant } from "./ceremony-records.js";

interface CeremonyAccessDependencies {
  readonly records: CeremonyRecords;
  readonly repository: Pick<ProverRepository, "find">;
}

/** A ceremony, its prover, and who asks for it. */
export interface SeenCeremony {
  readonly record: StoreRecord<StoredCeremony>;
  readonly prover: StoreRecord<StoredProver>;
  readonly participant: StoreRecord<StoredParticipant> | undefined;
}

export class CeremonyAccess {
  readonly #with: CeremonyAccessDependencies;

  constructor(dependencies: CeremonyAccessDependencies) {
    this.#with = dependencies;
  }

  /**
   * Finds the ceremony of an own prover.
   * @throws AppError `not_found`
   */
  requireOwn(owner: Subject, id: string): Omit<SeenCeremony, "participant"> {
    const prover = this.#with.repository.find(owner, id);
    if (prover === undefined) throw notFound("prover");
    const record = this.#with.records.find({ owner, id });
    if (record === undefined) throw notFound("ceremony");
    return { record, prover };
  }

  /**
   * Finds a ceremony that is open to all, or in which the bearer takes part.
   * @throws AppError `not_found`
   */
  requireSeen(id: string, bearer: string | undefined): SeenCeremony {
    const record = this.#with.records.findById(id);
    const prover = record === undefined ? undefined : this.#with.repository.find(record.value.owner, id);
    if (record === undefined || prover === undefined) throw notFound("ceremony");
    const hash = bearer === undefined ? undefined : opaqueTokenHash("ceremony_participant", bearer);
    const participant = hash === undefined ? undefined : this.#with.records.findByToken(record.value, hash);
    if (participant === undefined && !record.value.open) throw notFound("ceremony");
    return { record, prover, participant };
  }

  /**
   * Finds a ceremony for one who takes part in it.
   * @throws AppError `not_found`, `unauthorized` where it is open to all and the bearer takes no part
   */
  requireParticipant(
    id: string,
    bearer: string | undefined,
  ): SeenCeremony & { readonly participant: StoreRecord<StoredParticipant> } {
    const { participant, ...seen } = this.requireSeen(id, bearer);
    if (participant === undefined)
      throw new AppError("unauthorized", { message: "the token is no participant's of this ceremony" });
    return { ...seen, participant };
  }
}
