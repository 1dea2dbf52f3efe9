/**
 * Sharing: grants that owners make and end, and what others see of the provers that they may use. What a grant allows
 * is asked where it is used (prover-access.ts), at each request and again in its commit.
 */
import { formatSubject, type Subject, type SubjectKind } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, invalidMember, notFound } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/commits.js";
import { StoreConflict, type Store, type StoreCommit } from "../../platform/store/store.js";
import type { Page } from "../../platform/store/tables.js";
import type { Listed, ProverRepository, StoredProver } from "../repository.js";
import type { ProverVault } from "../vault-port.js";
import type { Grantee, StoredGrant } from "./grants.js";
import type { ProofRemovals } from "../proofs/proof-removals.js";
import type { Places } from "./places.js";
import type { ProverAccess } from "./prover-access.js";
import type { ProofStores } from "../stores/proof-stores.js";
import type { CreateProverGrant, ProverGrant, SharedProver } from "./sharing-schemas.js";

interface SharedProversDependencies {
  readonly store: Store;
  readonly repository: ProverRepository;
  readonly access: ProverAccess;
  readonly places: Places;
  readonly stores: Pick<ProofStores, "wakeRemovals">;
  readonly proofRemovals: Pick<ProofRemovals, "prepareDeletion" | "wake">;
  readonly vault: Pick<ProverVault, "forget">;
  readonly clock: Clock;
}

/** More would be an organization; and they go in one commit with the prover. */
const GRANTS_MAX = 100;
/** A proof that is stored at the same time makes a deletion conflict; a few tries are enough. */
const LEAVE_TRIES_MAX = 8;
const KINDS = ["user", "application", "organization"] as const satisfies readonly SubjectKind[];

export class SharedProvers {
  readonly #with: SharedProversDependencies;

  constructor(dependencies: SharedProversDependencies) {
    this.#with = dependencies;
  }

  /** Lists one page of the grants of an own prover, oldest first. */
  listGrants(owner: Subject, id: string, page: Page): Listed<ProverGrant> {
    this.#requireOwn(owner, id);
    const { rows, total } = this.#with.repository.grants.listOfProver(owner, id, page);
    return { body: rows.map(grantOnWire), total };
  }

  /**
   * Makes a grant, or changes the one that the grantee has.
   * @param keep returns what else is kept in the grant's commit
   * @throws AppError `not_found`, `invalid_request`, `grant_limit_reached`
   */
  async grant(
    owner: Subject,
    id: string,
    request: CreateProverGrant,
    keep?: (grant: ProverGrant) => StoreCommit,
  ): Promise<ProverGrant> {
    const { store, repository, clock } = this.#with;
    const grantee = granteeOf(request);
    const may = request.may ?? (grantee === "anyone" ? "verify" : "prove");
    if (grantee === "anyone" && may === "prove")
      throw invalidMember("may", "may: anyone may verify only; name the subjects that may prove");
    if (grantee !== "anyone" && formatSubject(grantee) === formatSubject(owner))
      throw invalidMember(`${grantee.kind}_id`, `${grantee.kind}_id: the owner needs no grant`);
    return await retryOnConflict(async () => {
      const prover = repository.find(owner, id);
      if (prover === undefined) throw notFound("prover");
      const current = repository.grants.find(grantee, id);
      if (current === undefined && repository.grants.ofProver(owner, id).length >= GRANTS_MAX)
        throw new AppError("grant_limit_reached", { message: `a prover has at most ${String(GRANTS_MAX)} grants` });
      const created = { id: newId(), created_at: isoTimestamp(clock.nowMs()), owner, prover_id: id, grantee };
      const grant: StoredGrant = { ...(current?.value ?? created), may };
      const made = grantOnWire(grant);
      const kept = keep?.(made) ?? {};
      await store.commit(mergeCommits(repository.grants.put(current, grant), repository.labels.touch(prover), kept));
      return made;
    });
  }

  /** Ends a grant. @throws AppError `not_found` */
  async revoke(owner: Subject, id: string, grantId: string): Promise<void> {
    const { store, repository } = this.#with;
    await retryOnConflict(async () => {
      this.#requireOwn(owner, id);
      const grant = repository.grants.ofProver(owner, id).find(({ value }) => value.id === grantId);
      if (grant === undefined) throw notFound("grant");
      await store.commit(repository.grants.deletion(grant));
    });
  }

  /** Lists one page of the provers with a grant to the subject, in the order of the grants. */
  list(caller: Subject, page: Page): Listed<SharedProver> {
    const { repository } = this.#with;
    const { rows, total } = repository.grants.listOfGrantee(caller, page);
    const provers = rows.flatMap(({ owner, prover_id }) => repository.find(owner, prover_id)?.value ?? []);
    return { body: provers.map((prover) => this.#onWire(caller, prover)), total };
  }

  /** Returns another's prover that the caller may use. @throws AppError `not_found`, for own provers too */
  get(caller: Subject, id: string): SharedProver {
    const { prover, isOwner } = this.#with.access.require(caller, id, "verify");
    if (isOwner) throw notFound("prover");
    return this.#onWire(caller, prover);
  }

  /**
   * Deletes the grant to the caller, and all that it has made with the prover; many records go behind the answer.
   * @throws AppError `not_found` when there is neither, `prover_busy` when its store keeps changing
   */
  async leave(caller: Subject, id: string): Promise<void> {
    const { store, stores, repository, places, vault, proofRemovals } = this.#with;
    for (let tries = 0; tries < LEAVE_TRIES_MAX; tries += 1) {
      const grant = repository.grants.find(caller, id);
      const place = places.find(caller, id);
      if (grant === undefined && place === undefined) throw notFound("prover");
      try {
        await store.commit(
          mergeCommits(
            grant === undefined ? {} : repository.grants.deletion(grant),
            place === undefined
              ? {}
              : mergeCommits(places.deletion(caller, id, place), proofRemovals.prepareDeletion(caller, id)),
          ),
        );
      } catch (error) {
        if (error instanceof StoreConflict) continue;
        throw error;
      }
      if (place !== undefined) {
        await vault.forget(place.value.vault_id);
        stores.wakeRemovals();
        proofRemovals.wake();
      }
      return;
    }
    throw new AppError("prover_busy", { message: "the prover is in use; try again" });
  }

  /**
   * Leaves all provers of others, for a subject that is being deleted. Safe to repeat. Grants that are made meanwhile
   * stay, so that their owners cannot make it endless.
   */
  async leaveAll(subject: Subject): Promise<void> {
    const { places, repository } = this.#with;
    for (const id of new Set([...places.proversOf(subject), ...repository.grants.proversOf(subject)])) {
      try {
        await this.leave(subject, id);
      } catch (error) {
        // Its owner has revoked the grant, or deleted the prover, in between.
        if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      }
    }
  }

  #requireOwn(owner: Subject, id: string): void {
    if (this.#with.repository.find(owner, id) === undefined) throw notFound("prover");
  }

  #onWire(caller: Subject, { build, ...prover }: StoredProver): SharedProver {
    const { id, created_at, name, identifier, provider, proving_scheme, curve, status, trusted_setup, setup } = prover;
    return {
      ...{ id, created_at, name, identifier, provider, proving_scheme, curve, status, trusted_setup },
      description: this.#with.repository.labels.onWire({ ...prover, build }).description,
      setup: setup ?? null,
      nullifier: prover.nullifier ?? null,
      may: this.#with.access.rights(caller, id),
      shared_by: formatSubject(build.owner),
    };
  }
}

/** @throws AppError `invalid_request` unless exactly one is named */
function granteeOf(request: CreateProverGrant): Grantee {
  const named = KINDS.flatMap((kind): Grantee[] => {
    const id = request[`${kind}_id`];
    return typeof id === "string" ? [{ kind, id }] : [];
  });
  const [grantee, second] = request.anyone === true ? [...named, "anyone" as const] : named;
  if (grantee === undefined || second !== undefined)
    throw invalidMember("user_id", "give one of user_id, application_id, organization_id and anyone");
  return grantee;
}

function grantOnWire({ id, created_at, prover_id, grantee, may }: StoredGrant): ProverGrant {
  const idOf = (kind: SubjectKind): string | null =>
    grantee !== "anyone" && grantee.kind === kind ? grantee.id : null;
  return {
    ...{ id, created_at, prover_id },
    user_id: idOf("user"),
    application_id: idOf("application"),
    organization_id: idOf("organization"),
    anyone: grantee === "anyone",
    may,
  };
}
