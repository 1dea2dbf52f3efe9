/**
 * Creates contracts: registers one that has an address, deploys one from an artifact, or plans the compile of one from
 * source. Whatever is wrong with a request is found before anything is stored.
 */
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { saidOwner, type RequireTenant } from "../../platform/auth/said-owner.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import { checksumAddress, isChecksummed } from "../../crypto/ethereum/address.js";
import type { References } from "../../platform/references.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import { signerOf } from "../accounts/signers.js";
import { artifactOf, sourceOf, type Artifact } from "./builds/artifact.js";
import type { ContractBuilds } from "./builds/builds.js";
import type { BuildPlan } from "./contract-records.js";
import { typeByAbi } from "./builds/detection.js";
import { contractOnWire, NO_ADDRESS, type ContractRepository } from "./contract-repository.js";
import type { StoredContract } from "./contract-records.js";
import type { Contract, ContractParamsInput, CreateContract } from "./contract-schemas.js";
import type { Deployments } from "./deployments.js";
import { signingOf } from "./signing-input.js";

interface ContractCreationDependencies {
  readonly store: Store;
  readonly repository: ContractRepository;
  readonly references: References;
  readonly deployments: Deployments;
  readonly builds: ContractBuilds;
  readonly requireTenant: RequireTenant;
  readonly clock: Clock;
}

/** Returns what is stored in one commit with a contract. */
type Alongside = (stored: StoredContract) => StoreCommit;

export interface CreatedContract {
  readonly contract: Contract;
  /** True when its source is still to be compiled. */
  readonly isBeingCompiled: boolean;
}

/** Contracts of one owner. A list sorted by last use with a filter reads all of them. */
export const CONTRACTS_MAX = 10_000;
/** Sources of one owner that wait for the compiler or are being compiled. */
const BUILDS_MAX = 20;
const BUILD_RETRY_SEC = 10;
const NAME_LENGTH_MAX = 200;
const UNNAMED = "contract";

export class ContractCreation {
  readonly #dependencies: ContractCreationDependencies;

  constructor(dependencies: ContractCreationDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Registers a contract, deploys it, or plans its compile, in one commit with what `keep` returns of it.
   * @throws AppError `abi_invalid`, `bytecode_invalid`, `libraries_unlinked`, `argument_invalid`, `source_invalid`,
   * `contract_limit_reached`, `too_many_requests`, and what networks and submissions throw; then nothing is stored
   */
  async create(
    principal: Principal,
    request: CreateContract,
    keep?: (made: CreatedContract) => StoreCommit,
  ): Promise<CreatedContract> {
    const params = request.params ?? {};
    const address = addressOf(request.address);
    const hasSigner = signerOf(params) !== undefined;
    const source = sourceOf(params);
    const artifact = artifactOf(params);
    const isDeployed = address === NO_ADDRESS && hasSigner && (request.contract_id ?? null) === null;
    const owner = this.#ownerOf(principal, request, { isDeployed });
    const draft = this.#draft(owner, request, { address, artifact });
    const made = (stored: StoredContract): CreatedContract => ({
      contract: { ...contractOnWire(stored), params: request.params ?? null },
      isBeingCompiled: source !== undefined,
    });
    const alongside: Alongside = (stored) => keep?.(made(stored)) ?? {};
    if (source === undefined)
      return made(
        isDeployed
          ? await this.#deploy(draft, artifact, params, alongside)
          : await this.#register(draft, artifact, alongside),
      );
    const plan: BuildPlan = {
      source,
      libraries: params.libraries ?? {},
      argv: params.argv ?? [],
      signing: isDeployed ? signingOf(params) : {},
    };
    return made(await this.#build(draft, plan, alongside));
  }

  /** Works as `create` for a contract that is on its chain. Throws `contract_address_missing`. */
  async createPublic(
    principal: Principal,
    request: CreateContract,
    keep?: (made: CreatedContract) => StoreCommit,
  ): Promise<CreatedContract> {
    if (addressOf(request.address) === NO_ADDRESS)
      throw invalidMember("address", "contract address not provided", "contract_address_missing");
    return await this.create(principal, request, keep);
  }

  /** Returns the owner of the new contract, once it may have one and everything that the request names exists. */
  #ownerOf(principal: Principal, request: CreateContract, { isDeployed }: { readonly isDeployed: boolean }): Subject {
    const { references, repository, requireTenant } = this.#dependencies;
    const permissions = isDeployed ? (["create", "vault_use"] as const) : (["create"] as const);
    const owner = saidOwner(principal, request, { permissions, requireTenant });
    references.require(owner, request, ["network_id", "contract_id"]);
    if (repository.count(owner) >= CONTRACTS_MAX)
      throw new AppError("contract_limit_reached", {
        message: `an owner has at most ${String(CONTRACTS_MAX)} contracts; delete some first`,
      });
    return owner;
  }

  async #register(draft: StoredContract, artifact: Artifact, alongside: Alongside): Promise<StoredContract> {
    const { deployments, store } = this.#dependencies;
    const described = draft.address === NO_ADDRESS ? {} : await deployments.describe(draft);
    const contract: StoredContract = {
      ...draft,
      status: artifact.bytecode !== undefined && draft.address === NO_ADDRESS ? "compiled" : "registered",
      ...described,
    };
    await store.commit(mergeCommits(this.#insertion(contract, artifact), alongside(contract)));
    return contract;
  }

  async #deploy(
    draft: StoredContract,
    artifact: Artifact,
    params: ContractParamsInput,
    alongside: Alongside,
  ): Promise<StoredContract> {
    const { abi = [], bytecode } = artifact;
    if (bytecode === undefined)
      throw invalidMember(
        "params.compiled_artifact.bytecode",
        "to deploy a contract, params.compiled_artifact.bytecode or params.raw_source is needed",
        "bytecode_invalid",
      );
    let contract = draft;
    await this.#dependencies.deployments.submit({
      owner: draft.owner,
      networkId: draft.network_id,
      contractId: draft.id,
      abi,
      bytecode,
      argv: params.argv ?? [],
      argvPath: "params.argv",
      signing: params,
      alongside: (submitted) => {
        contract = this.#dependencies.deployments.underWay(draft, submitted);
        return mergeCommits(this.#insertion(contract, artifact), alongside(contract));
      },
    });
    return contract;
  }

  async #build(draft: StoredContract, plan: BuildPlan, alongside: Alongside): Promise<StoredContract> {
    const { repository, builds, store } = this.#dependencies;
    if (repository.countBuilds(draft.owner) >= BUILDS_MAX)
      throw new AppError("too_many_requests", {
        message: `${String(BUILDS_MAX)} sources are being compiled already`,
        retryAfterSec: BUILD_RETRY_SEC,
      });
    const contract: StoredContract = { ...draft, status: "compiling" };
    await store.commit(
      mergeCommits(repository.insertion(contract), builds.prepare(contract, plan), alongside(contract)),
    );
    builds.wake();
    return contract;
  }

  #insertion(contract: StoredContract, { abi, bytecode, params, name }: Artifact): StoreCommit {
    const { repository } = this.#dependencies;
    const hasParams = bytecode !== undefined || params.source !== null;
    return mergeCommits(
      repository.insertion(contract),
      ...(abi === undefined ? [] : [repository.putAbi(contract, abi)]),
      ...(hasParams ? [repository.putParams(contract, { name: name ?? contract.name, ...params })] : []),
    );
  }

  #draft(
    owner: Subject,
    request: CreateContract,
    { address, artifact }: { readonly address: string; readonly artifact: Artifact },
  ): StoredContract {
    const now = isoTimestamp(this.#dependencies.clock.nowMs());
    const type = request.type ?? (artifact.abi === undefined ? undefined : typeByAbi(artifact.abi)) ?? null;
    return {
      id: newId(),
      created_at: now,
      updated_at: now,
      owner,
      network_id: request.network_id,
      contract_id: request.contract_id ?? null,
      transaction_id: null,
      name: (request.name ?? artifact.name ?? (address === NO_ADDRESS ? UNNAMED : address)).slice(0, NAME_LENGTH_MAX),
      address,
      type,
      status: "registered",
      errors: [],
      token: null,
      accessed_at: null,
    };
  }
}

/** Returns an address with its checksum, or `0x` where none is given. Throws `invalid_request` for a wrong checksum. */
export function addressOf(given: string | null | undefined): string {
  if (given === undefined || given === null || given === "" || given === NO_ADDRESS) return NO_ADDRESS;
  if (isChecksummed(given)) return checksumAddress(Buffer.from(given.slice(2), "hex"));
  throw invalidMember("address", "the address has a wrong checksum (EIP-55)");
}
