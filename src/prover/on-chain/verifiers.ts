/**
 * Verifiers on chain for their owner: deployed, listed, read, checked again and forgotten. The work is done by jobs.
 */
import type { CreatedContract } from "../../chain/contracts/contract-creation.js";
import type { ContractPort } from "../../chain/contracts/contract-port.js";
import type { CreateContract } from "../../chain/contracts/contract-schemas.js";
import { PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, invalidMember, notFound } from "../../platform/errors.js";
import { missingReference } from "../../platform/references.js";
import type { Store, StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import { requireProvisioned } from "../built-prover.js";
import type { Catalog } from "../catalog.js";
import type { Provisioning } from "../provisioning/provisioning.js";
import type { StatusWatch } from "../provisioning/status-watch.js";
import type { OfferedSystem } from "../providers/provider.js";
import type { Listed, ProverRepository, StoredProver } from "../repository.js";
import type { KnownAnswers } from "./known-answers.js";
import { REGISTRY_NAME, registrySource } from "./registry-calls.js";
import { VERIFIER_SETTINGS } from "./verifier-deployments.js";
import type { VerifierQueue } from "./verifier-queue.js";
import {
  isOpen,
  verifierOnWire,
  type StoredPlan,
  type StoredVerifier,
  type VerifierRecords,
} from "./verifier-records.js";
import { VERIFIER_WAIT_SEC_MAX } from "./verifier-routes.js";
import type {
  CheckVerifier,
  CreateVerifier,
  CreateVerifierRegistry,
  KnownAnswer,
  Verifier,
  VerifierPlan,
  VerifierRegistryContract,
} from "./verifier-schemas.js";

interface VerifiersDependencies {
  readonly store: Pick<Store, "commit">;
  readonly records: VerifierRecords;
  readonly repository: Pick<ProverRepository, "find">;
  readonly catalog: Catalog;
  readonly queue: VerifierQueue;
  readonly knownAnswers: KnownAnswers;
  /** The chain area, which is built later than the prover registry. */
  readonly chain: () => ContractPort;
  readonly provisioning: Pick<Provisioning, "release">;
  readonly watch: StatusWatch;
  readonly clock: Clock;
}

/** How long a request waits for the end of the work. */
interface Wait {
  readonly waitSec: number;
  readonly signal: AbortSignal;
}

/** What a request keeps: called with the verifier as its commit leaves it, for each try. */
interface Keeping {
  readonly keep?: ((verifier: Verifier) => StoreCommit) | undefined;
}

/** Verifiers of one prover, on all networks. */
const VERIFIERS_MAX = 64;
/** Of one owner on which jobs work. */
const OPEN_PER_OWNER_MAX = 16;
const OPEN_RETRY_SEC = 10;

export class Verifiers {
  readonly #with: VerifiersDependencies;

  constructor(dependencies: VerifiersDependencies) {
    this.#with = dependencies;
  }

  /** Returns one page of the verifiers of an own prover, oldest first. Throws `not_found`. */
  list(owner: Subject, proverId: string, page: Page): Listed<Verifier> {
    this.#prover(owner, proverId);
    const { rows, total } = this.#with.records.ofProver(owner, proverId, page);
    return { body: rows.map(verifierOnWire), total };
  }

  /** @throws AppError `not_found` */
  get(owner: Subject, proverId: string, id: string): Verifier {
    return verifierOnWire(this.#find(owner, proverId, id).value);
  }

  /**
   * Checks what a prover is to be created with.
   * @throws AppError `forbidden` without the permissions to spend, and as `create`
   */
  plan(principal: Principal, plans: readonly VerifierPlan[], system: OfferedSystem): StoredPlan[] {
    if (plans.length === 0) return [];
    if (!holdsAll(principal.permissions, PERMISSIONS.create | PERMISSIONS.vault_use))
      throw new AppError("forbidden", { message: "verifiers: deploying a contract needs the permission vault_use" });
    requireContract(system);
    return plans.map((plan) => this.#planned(principal.subject, plan));
  }

  /**
   * Queues the deployment of a verifier, in one commit with what `keep` returns.
   * @throws AppError `not_found`, `prover_not_provisioned`, `prover_unsupported`, `contract_not_deployed`,
   *   `verifier_limit_reached`, `too_many_requests`, `invalid_request`, and as `KnownAnswers.given`
   */
  async create(owner: Subject, proverId: string, request: CreateVerifier, wait: Wait & Keeping): Promise<Verifier> {
    const { catalog, queue, records, store, knownAnswers } = this.#with;
    const { value: prover } = this.#provisioned(owner, proverId);
    requireContract(catalog.systemOf(prover));
    const plan = this.#planned(owner, request);
    this.#requireRoom(owner, proverId);
    const { proof_id, proof, public_signals } = request;
    const given: CheckVerifier = {
      ...(proof_id === undefined ? {} : { proof_id }),
      ...(proof === undefined ? {} : { proof }),
      ...(public_signals === undefined ? {} : { public_signals }),
    };
    const known = await knownAnswers.given(prover, given, wait.signal);
    const verifier: StoredVerifier = { ...queue.newVerifier(prover, plan), known_answer: known };
    await retryOnConflict(async () => {
      const { key, version } = this.#provisioned(owner, proverId);
      // Nothing is deployed for a prover that was deleted meanwhile.
      const checks = { checks: [{ key, version }] };
      const kept = wait.keep?.(verifierOnWire(verifier)) ?? {};
      await store.commit(mergeCommits(records.insertion(verifier), queue.prepare(verifier), checks, kept));
    });
    return await this.#begun(verifier, wait);
  }

  /**
   * Queues the checks of a verifier once more, of one that was not seen to be deployed from there on; in one commit
   * with what `keep` returns.
   * @throws AppError `not_found`, `verifier_busy`, `verifier_not_deployed`, and as `KnownAnswers.given`
   */
  async check(
    owner: Subject,
    { proverId, id }: { readonly proverId: string; readonly id: string },
    request: CheckVerifier,
    wait: Wait & Keeping,
  ): Promise<Verifier> {
    const { queue, records, store, knownAnswers } = this.#with;
    requireIdle(this.#find(owner, proverId, id).value);
    const { value: prover } = this.#provisioned(owner, proverId);
    const known = await knownAnswers.given(prover, request, wait.signal);
    const begun = await retryOnConflict(async () => {
      const record = this.#find(owner, proverId, id);
      const next = this.#again(requireIdle(record.value), known);
      const kept = wait.keep?.(verifierOnWire(next)) ?? {};
      await store.commit(mergeCommits(records.update(record, next), queue.prepare(next), kept));
      return next;
    });
    return await this.#begun(begun, wait);
  }

  /** Deletes the record, and the job that works on it. What was sent to the chain stays there. */
  async delete(owner: Subject, proverId: string, id: string): Promise<void> {
    const { store, records, queue, provisioning } = this.#with;
    await retryOnConflict(async () => {
      const record = this.#find(owner, proverId, id);
      const released = provisioning.release({ owner, proverId, verifierId: id, problem: undefined });
      await store.commit(mergeCommits(records.deletion(record), released));
    });
    await queue.cancel({ owner, prover_id: proverId, id });
    this.#with.watch.notify(proverId);
  }

  /** Ends the jobs of a prover that was deleted with its verifiers. */
  async cancel(verifiers: readonly StoredVerifier[]): Promise<void> {
    for (const verifier of verifiers) await this.#with.queue.cancel(verifier);
  }

  /** Returns the verifiers of a prover, for `cancel`. */
  ofProver(owner: Subject, proverId: string): StoredVerifier[] {
    return this.#with.records.ofProver(owner, proverId).rows;
  }

  /**
   * Deploys a registry, which is the owner's contract as any other; its record is one commit with what `keep` returns.
   * Throws as `ContractPort.create` does.
   */
  async createRegistry(
    principal: Principal,
    request: CreateVerifierRegistry,
    keep?: (made: VerifierRegistryContract) => StoreCommit,
  ): Promise<VerifierRegistryContract> {
    const { network_id: networkId, ...signer } = request;
    this.#with.chain().require(principal.subject, { networkId, signing: signer });
    const { evmVersion, optimizerRuns, viaIr } = VERIFIER_SETTINGS;
    const contract: CreateContract = {
      network_id: networkId,
      name: REGISTRY_NAME,
      address: null,
      params: {
        ...signer,
        raw_source: { [`${REGISTRY_NAME}.sol`]: registrySource() },
        contract_name: REGISTRY_NAME,
        settings: { evm_version: evmVersion, optimizer_runs: optimizerRuns, via_ir: viaIr },
      },
    };
    return registryOf(await this.#with.chain().create(principal, contract, (made) => keep?.(registryOf(made)) ?? {}));
  }

  /** A check begins where it is known how far the deployment is. */
  #again(verifier: StoredVerifier, known: KnownAnswer | null): StoredVerifier {
    if (verifier.transaction_id === null)
      throw new AppError("verifier_not_deployed", {
        message: "nothing was sent to the chain for this verifier: delete it and deploy another",
      });
    const { registry, status } = verifier;
    const again = registry?.status === "failed" ? { ...registry, transaction_id: null, status: "waiting" } : registry;
    const afterMs = Date.parse(verifier.updated_at) + 1;
    return {
      ...verifier,
      updated_at: isoTimestamp(Math.max(this.#with.clock.nowMs(), afterMs)),
      status: verifier.address === null ? "deploying" : "checking",
      known_answer: known ?? verifier.known_answer,
      registry: again as StoredVerifier["registry"],
      ...(status === "ready" || status === "unproven" ? { usable_as: status } : {}),
      errors: [],
    };
  }

  /** Waits for the end of the work. Of a verifier that is deleted meanwhile it returns what was queued. */
  async #begun(queued: StoredVerifier, { waitSec, signal }: Wait): Promise<Verifier> {
    const { queue, watch, records } = this.#with;
    const { owner, prover_id, id } = queued;
    queue.wake();
    const isDone = (): boolean => {
      const found = records.find(owner, prover_id, id);
      return found === undefined || !isOpen(found.value.status);
    };
    const waitMs = Math.min(waitSec, VERIFIER_WAIT_SEC_MAX) * 1000;
    await watch.waitUntil(id, isDone, { waitMs, signal });
    return verifierOnWire(records.find(owner, prover_id, id)?.value ?? queued);
  }

  #planned(owner: Subject, plan: VerifierPlan): StoredPlan {
    const { network_id: networkId, registry_contract_id: registry = null } = plan;
    const signer = {
      ...(plan.account_id === undefined ? {} : { account_id: plan.account_id }),
      ...(plan.wallet_id === undefined ? {} : { wallet_id: plan.wallet_id }),
      ...(plan.hd_derivation_path === undefined ? {} : { hd_derivation_path: plan.hd_derivation_path }),
    };
    const followed = this.#with.chain().require(owner, { networkId, signing: signer });
    const { confirmations = followed } = plan;
    if (confirmations > followed)
      throw invalidMember(
        "confirmations",
        `transactions of this network are followed for ${String(followed)} blocks: set \`config.confirmations\` of the network for more`,
      );
    if (registry !== null) this.#requireRegistry(owner, networkId, registry);
    return { network_id: networkId, signer, confirmations, registry_contract_id: registry };
  }

  #requireRegistry(owner: Subject, networkId: string, id: string): void {
    const member = "registry_contract_id";
    try {
      const { networkId: its, address } = this.#with.chain().contract(owner, id);
      if (its !== networkId) throw invalidMember(member, "the registry is on another network");
      if (address === null) throw invalidMember(member, "the registry is not deployed yet", "contract_not_deployed");
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") throw missingReference(member, "contract", error);
      throw error;
    }
  }

  #requireRoom(owner: Subject, proverId: string): void {
    const { records } = this.#with;
    if (records.ofProver(owner, proverId, { page: 1, rpp: 1 }).total >= VERIFIERS_MAX)
      throw new AppError("verifier_limit_reached", {
        message: `a prover has at most ${String(VERIFIERS_MAX)} verifiers; delete the records of some first`,
      });
    if (records.countOpen(owner) >= OPEN_PER_OWNER_MAX)
      throw new AppError("too_many_requests", {
        message: `${String(OPEN_PER_OWNER_MAX)} verifiers are being deployed or checked already`,
        retryAfterSec: OPEN_RETRY_SEC,
      });
  }

  #provisioned(owner: Subject, proverId: string): StoreRecord<StoredProver> {
    const record = this.#prover(owner, proverId);
    requireProvisioned(record.value);
    return record;
  }

  #prover(owner: Subject, proverId: string): StoreRecord<StoredProver> {
    const record = this.#with.repository.find(owner, proverId);
    if (record === undefined) throw notFound("prover");
    return record;
  }

  #find(owner: Subject, proverId: string, id: string): StoreRecord<StoredVerifier> {
    this.#prover(owner, proverId);
    const record = this.#with.records.find(owner, proverId, id);
    if (record === undefined) throw notFound("verifier");
    return record;
  }
}

function registryOf({ contract }: CreatedContract): VerifierRegistryContract {
  const { id, network_id, name, status } = contract;
  return { contract_id: id, network_id, name, status };
}

function requireContract({ forms, proving_scheme, curve }: OfferedSystem): void {
  if (forms.includes("solidity")) return;
  throw new AppError("prover_unsupported", {
    message: `there is no contract for proofs of ${proving_scheme} over ${curve}: the EVM's precompiles that it would take are those of BN254`,
  });
}

function requireIdle(verifier: StoredVerifier): StoredVerifier {
  if (!isOpen(verifier.status)) return verifier;
  throw new AppError("verifier_busy", { message: `the verifier is ${verifier.status} already` });
}
