/**
 * Contracts: registered with an address, deployed from an artifact, or compiled from source and deployed; listed, read,
 * changed and forgotten, for one owner at a time. What is not stored was refused before anything was.
 */
import { holdsAll, permissionBits, type PermissionName } from "../../platform/auth/permissions.js";
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import { checksumAddress, isChecksummed } from "../../crypto/ethereum/address.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import type { Networks } from "../networks/network-port.js";
import { signerOf } from "../accounts/signers.js";
import { readAbi } from "./abi/abi.js";
import type { ContractAccesses } from "./access-times.js";
import { artifactOf, sourceOf, type Artifact } from "./builds/artifact.js";
import type { BuildPlan, ContractBuilds } from "./builds/builds.js";
import type { ContractAbis } from "./abi/contract-abis.js";
import type {
  Contract,
  ContractFilters,
  ContractParamsInput,
  CreateContract,
  UpdateContract,
} from "./contract-schemas.js";
import type { Deployments } from "./deployments.js";
import type { ContractDescriptions } from "./builds/descriptions.js";
import { typeByAbi } from "./builds/detection.js";
import type { RequireApplication } from "./contract-ports.js";
import { contractOnWire, NO_ADDRESS, type ContractRepository, type StoredContract } from "./contract-repository.js";
import { signingOf } from "./signing-input.js";

export interface ContractServiceDependencies {
  readonly store: Store;
  readonly repository: ContractRepository;
  readonly abis: ContractAbis;
  readonly accesses: ContractAccesses;
  readonly networks: Networks;
  readonly deployments: Deployments;
  readonly descriptions: ContractDescriptions;
  readonly builds: ContractBuilds;
  readonly requireApplication: RequireApplication;
  readonly clock: Clock;
}

/** A contract that was made, and whether something is still to be done before it is what was asked for. */
export interface CreatedContract {
  readonly contract: Contract;
  readonly isBeingCompiled: boolean;
}

/** Contracts of one owner; a list by use reads all of them. */
export const CONTRACTS_MAX = 10_000;
/** Sources of one owner that wait for the compiler or are in it. */
export const BUILDS_MAX = 20;
const BUILD_RETRY_SEC = 10;
const NAME_LENGTH_MAX = 200;
const UNNAMED = "contract";

export class ContractService {
  readonly #with: ContractServiceDependencies;

  constructor(dependencies: ContractServiceDependencies) {
    this.#with = dependencies;
  }

  /** One page. `application_id` lets whoever may read an application see its contracts. */
  async list(
    principal: Principal,
    filters: ContractFilters & Page,
  ): Promise<{ readonly body: Contract[]; readonly total: number }> {
    const { repository, accesses, descriptions } = this.#with;
    const owner = this.ownerFor(principal, filters.application_id, ["read"]);
    const wantsTokens = !(filters.filter_tokens ?? filters.type === undefined);
    const order = filters.sort === "recent" ? "recent" : "created";
    if (order === "recent") await accesses.flush();
    const { rows, total } = repository.list(
      owner,
      { order, tokens: wantsTokens ? "all" : "none", networkId: filters.network_id, type: filters.type },
      filters,
    );
    for (const row of rows) descriptions.use(row);
    return { body: rows.map((row) => this.#onWire(row)), total };
  }

  /** By id or address, with everything that is kept of it. */
  get(owner: Subject, idOrAddress: string): Contract {
    const { repository, abis, accesses, descriptions } = this.#with;
    const { value } = repository.require(owner, idOrAddress);
    accesses.note(value);
    descriptions.use(value);
    const params = repository.params(owner, value.id) ?? {
      name: value.name,
      bytecode: null,
      fingerprint: null,
      deps: {},
      opcodes: null,
      source: null,
    };
    return { ...this.#onWire(value), params: { ...params, abi: abis.of(value) } };
  }

  /**
   * Registers, deploys, or plans a compile. Throws `abi_invalid`, `bytecode_invalid`, `libraries_unlinked`,
   * `argument_invalid`, `source_invalid`, `contract_limit_reached`, and what networks and submissions throw; then
   * nothing is stored.
   */
  async create(principal: Principal, request: CreateContract): Promise<CreatedContract> {
    const params = request.params ?? {};
    const address = addressOf(request.address);
    const signer = signerOf(params);
    const source = sourceOf(params);
    const artifact = artifactOf(params);
    const deploys = address === NO_ADDRESS && signer !== undefined && (request.contract_id ?? null) === null;
    const owner = this.ownerFor(
      principal,
      request.application_id ?? undefined,
      deploys ? ["create", "vault_use"] : ["create"],
    );
    if (typeof request.organization_id === "string" && request.organization_id !== owner.id)
      throw new AppError("forbidden", { message: "a contract of an organization needs a token of the organization" });
    this.#with.networks.find(owner, request.network_id);
    if (typeof request.contract_id === "string") this.#with.repository.require(owner, request.contract_id);
    if (this.#with.repository.count(owner) >= CONTRACTS_MAX)
      throw new AppError("contract_limit_reached", {
        message: `at most ${String(CONTRACTS_MAX)} contracts are kept for one owner`,
      });
    const draft = this.#draft(owner, request, { address, artifact });
    const created =
      source !== undefined
        ? await this.#build(draft, {
            source,
            libraries: params.libraries ?? {},
            argv: params.argv ?? [],
            signing: deploys ? signingOf(params) : {},
          })
        : deploys
          ? await this.#deploy(draft, artifact, params)
          : await this.#register(draft, artifact);
    return {
      contract: { ...this.#onWire(created), params: request.params ?? null },
      isBeingCompiled: source !== undefined,
    };
  }

  /** As `create`, for a contract that stands on its chain. Throws `contract_address_missing`. */
  async createPublic(principal: Principal, request: CreateContract): Promise<CreatedContract> {
    if (addressOf(request.address) === NO_ADDRESS) {
      const message = "contract address not provided";
      throw new AppError("contract_address_missing", {
        message,
        details: [{ message, code: "contract_address_missing", path: "address" }],
      });
    }
    return await this.create(principal, request);
  }

  /** Name, type and ABI; a new ABI may tell another type. */
  async update(owner: Subject, idOrAddress: string, { name, type, params }: UpdateContract): Promise<void> {
    const { repository, store } = this.#with;
    const abi = params === undefined ? undefined : readAbi(params.abi, "params.abi");
    await retryOnConflict(async () => {
      const current = repository.require(owner, idOrAddress);
      const { undescribed, ...known } = current.value;
      const next = {
        // Its owner says what it is: the node need not be asked any more.
        ...known,
        ...(undescribed === undefined || type !== undefined ? {} : { undescribed }),
        updated_at: this.#now(),
        ...(name === undefined ? {} : { name }),
        ...(type !== undefined
          ? { type }
          : abi === undefined || current.value.type !== null
            ? {}
            : { type: typeByAbi(abi) ?? null }),
      };
      await store.commit(
        mergeCommits(repository.update(current, next), ...(abi === undefined ? [] : [repository.putAbi(next, abi)])),
      );
    });
  }

  async delete(owner: Subject, idOrAddress: string): Promise<void> {
    await retryOnConflict(async () => {
      await this.#with.store.commit(this.#with.repository.deletion(this.#with.repository.require(owner, idOrAddress)));
    });
  }

  /** Contracts of one network, for the network's own routes; tokens apart. */
  ofNetwork(
    owner: Subject,
    networkId: string,
    page: Page,
    tokens: "none" | "all" = "all",
  ): { readonly body: Contract[]; readonly total: number } {
    const { rows, total } = this.#with.repository.list(owner, { order: "created", tokens, networkId }, page);
    return { body: rows.map((row) => this.#onWire(row)), total };
  }

  /** Removes everything that an owner has here. */
  async purge(owner: Subject): Promise<void> {
    for (;;) {
      const records = this.#with.repository.page(owner, { page: 1, rpp: 100 });
      if (records.length === 0) return;
      for (const {
        value: { id },
      } of records)
        if (this.#with.repository.find(owner, id) !== undefined) await this.delete(owner, id);
    }
  }

  /** The caller, or the application that it names and may act for. Throws `not_found` or `forbidden`. */
  ownerFor(principal: Principal, applicationId: string | undefined, needed: readonly PermissionName[]): Subject {
    const { subject } = principal;
    const isOwn = applicationId === undefined || (subject.kind === "application" && subject.id === applicationId);
    if (!isOwn) {
      this.#with.requireApplication(principal, applicationId, needed);
      return { kind: "application", id: applicationId };
    }
    if (!holdsAll(principal.permissions, permissionBits(needed)))
      throw new AppError("forbidden", { message: `this needs the permissions ${needed.join(", ")}` });
    return subject;
  }

  async #register(draft: StoredContract, artifact: Artifact): Promise<StoredContract> {
    const { deployments, store } = this.#with;
    const described = draft.address === NO_ADDRESS ? {} : await deployments.describe(draft);
    const contract: StoredContract = {
      ...draft,
      status: artifact.bytecode !== undefined && draft.address === NO_ADDRESS ? "compiled" : "registered",
      ...described,
    };
    await store.commit(this.#insertion(contract, artifact));
    return contract;
  }

  async #deploy(draft: StoredContract, artifact: Artifact, params: ContractParamsInput): Promise<StoredContract> {
    const { abi = [], bytecode } = artifact;
    if (bytecode === undefined) {
      const message = "to deploy a contract, params.compiled_artifact.bytecode or params.raw_source is needed";
      throw new AppError("bytecode_invalid", {
        message,
        details: [{ message, code: "bytecode_invalid", path: "params.compiled_artifact.bytecode" }],
      });
    }
    let contract = draft;
    await this.#with.deployments.submit({
      owner: draft.owner,
      networkId: draft.network_id,
      contractId: draft.id,
      abi,
      bytecode,
      argv: params.argv ?? [],
      argvPath: "params.argv",
      signing: params,
      alongside: (submitted) => {
        contract = this.#with.deployments.underWay(draft, submitted);
        return this.#insertion(contract, artifact);
      },
    });
    return contract;
  }

  async #build(draft: StoredContract, plan: BuildPlan): Promise<StoredContract> {
    const { repository, builds, store } = this.#with;
    if (repository.countBuilds(draft.owner) >= BUILDS_MAX)
      throw new AppError("too_many_requests", {
        message: `${String(BUILDS_MAX)} sources are being compiled already`,
        retryAfterSec: BUILD_RETRY_SEC,
      });
    const contract: StoredContract = { ...draft, status: "compiling" };
    await store.commit(mergeCommits(repository.insertion(contract), builds.prepare(contract, plan)));
    builds.wake();
    return contract;
  }

  #insertion(contract: StoredContract, { abi, bytecode, params, name }: Artifact): StoreCommit {
    const { repository } = this.#with;
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
    const now = this.#now();
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

  #onWire(stored: StoredContract): Contract {
    return contractOnWire({ ...stored, accessed_at: this.#with.accesses.of(stored) });
  }

  #now(): string {
    return isoTimestamp(this.#with.clock.nowMs());
  }
}

/** Checksummed, or `0x` where there is none. Throws `invalid_request` for a wrong checksum. */
export function addressOf(given: string | null | undefined): string {
  if (given === undefined || given === null || given === "" || given === NO_ADDRESS) return NO_ADDRESS;
  if (isChecksummed(given)) return checksumAddress(Buffer.from(given.slice(2), "hex"));
  const message = "the address has a wrong checksum (EIP-55)";
  throw new AppError("invalid_request", { message, details: [{ message, code: "invalid_request", path: "address" }] });
}
