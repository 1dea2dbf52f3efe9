/** Contracts of one owner: listed, read, changed and deleted. How they come about: contract-creation.ts. */
import { isDeepStrictEqual } from "node:util";
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { saidOwner, type RequireTenant } from "../../platform/auth/said-owner.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { invalidMember } from "../../platform/errors.js";
import type { Store } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import { readAbi } from "./abi/abi.js";
import type { ContractAbis } from "./abi/contract-abis.js";
import type { ContractAccesses } from "./access-times.js";
import type { ContractDescriptions } from "./builds/descriptions.js";
import { typeByAbi } from "./builds/detection.js";
import { contractOnWire, type ContractRepository } from "./contract-repository.js";
import type { StoredContract } from "./contract-records.js";
import type { Contract, ContractFilters, UpdateContract } from "./contract-schemas.js";

interface ContractServiceDependencies {
  readonly store: Store;
  readonly repository: ContractRepository;
  readonly abis: ContractAbis;
  readonly accesses: ContractAccesses;
  readonly descriptions: ContractDescriptions;
  readonly requireTenant: RequireTenant;
  readonly clock: Clock;
}

const NO_PARAMS = { bytecode: null, fingerprint: null, deps: {}, opcodes: null, source: null } as const;

export class ContractService {
  readonly #dependencies: ContractServiceDependencies;

  constructor(dependencies: ContractServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns one page. With `application_id`, a caller that may read the application gets its contracts. */
  async list(
    principal: Principal,
    filters: ContractFilters & Page,
  ): Promise<{ readonly body: Contract[]; readonly total: number }> {
    const { repository, accesses, descriptions, requireTenant } = this.#dependencies;
    const owner = saidOwner(principal, filters, { permissions: ["read"], requireTenant });
    const leavesOutTokens = filters.filter_tokens ?? filters.type === undefined;
    const order = filters.sort === "recent" ? "recent" : "created";
    if (order === "recent") await accesses.flush();
    const { rows, total } = repository.list(
      owner,
      {
        order,
        tokens: leavesOutTokens ? "none" : "all",
        networkId: filters.network_id,
        type: filters.type,
        name: filters.name,
      },
      filters,
    );
    for (const row of rows) descriptions.use(row);
    return { body: rows.map((row) => this.#onWire(row)), total };
  }

  /** Returns a contract by id or address, with its ABI and what it was made from. Throws `contract_ambiguous`. */
  get(owner: Subject, idOrAddress: string): Contract {
    const { repository, abis, accesses, descriptions } = this.#dependencies;
    const { value } = repository.require(owner, idOrAddress);
    accesses.note(value);
    descriptions.use(value);
    return { ...this.#onWire(value), params: { ...this.#params(value), abi: abis.of(value) } };
  }

  /** Returns a contract as lists show it, without counting as a use of it. Throws as `get` does. */
  record(owner: Subject, idOrAddress: string): Contract {
    return this.#onWire(this.#dependencies.repository.require(owner, idOrAddress).value);
  }

  /**
   * Changes name, type or ABI. A new ABI decides the type of a contract that has none.
   * @throws invalid_request for another member of `params` that is not as it is stored
   */
  async update(owner: Subject, idOrAddress: string, { name, type, params }: UpdateContract): Promise<void> {
    const { repository, store } = this.#dependencies;
    // The name among them may be the contract's own, which this request may change.
    const { abi: given, name: _name, ...sentBack } = { name: undefined, ...params };
    this.#requireStored(owner, idOrAddress, sentBack);
    const abi = given === undefined ? undefined : readAbi(given, "params.abi");
    await retryOnConflict(async () => {
      const current = repository.require(owner, idOrAddress);
      const { undescribed, ...rest } = current.value;
      const typeFromAbi = abi === undefined || rest.type !== null ? rest.type : (typeByAbi(abi) ?? null);
      const next: StoredContract = {
        ...rest,
        // Once the owner says the type, the node need not be asked any more.
        ...(undescribed === undefined || type !== undefined ? {} : { undescribed }),
        updated_at: isoTimestamp(this.#dependencies.clock.nowMs()),
        name: name ?? rest.name,
        type: type === undefined ? typeFromAbi : type,
      };
      await store.commit(
        mergeCommits(repository.update(current, next), ...(abi === undefined ? [] : [repository.putAbi(next, abi)])),
      );
    });
  }

  /** Deletes the record; the contract on its chain stays as it is. */
  async delete(owner: Subject, idOrAddress: string): Promise<void> {
    await retryOnConflict(async () => {
      await this.#dependencies.store.commit(
        this.#dependencies.repository.deletion(this.#dependencies.repository.require(owner, idOrAddress)),
      );
    });
  }

  /** Returns one page of the contracts on a network, tokens included. */
  ofNetwork(owner: Subject, networkId: string, page: Page): { readonly body: Contract[]; readonly total: number } {
    const { rows, total } = this.#dependencies.repository.list(
      owner,
      { order: "created", tokens: "all", networkId },
      page,
    );
    return { body: rows.map((row) => this.#onWire(row)), total };
  }

  /** Deletes all contracts of an owner. */
  async purge(owner: Subject): Promise<void> {
    for (;;) {
      const records = this.#dependencies.repository.page(owner, { page: 1, rpp: 100 });
      if (records.length === 0) return;
      for (const {
        value: { id },
      } of records)
        if (this.#dependencies.repository.find(owner, id) !== undefined) await this.delete(owner, id);
    }
  }

  /** What the contract was made from, without its ABI. */
  #params({ owner, id, name }: StoredContract): Readonly<Record<string, unknown>> {
    return this.#dependencies.repository.params(owner, id) ?? { name, ...NO_PARAMS };
  }

  #requireStored(owner: Subject, idOrAddress: string, sentBack: Readonly<Record<string, unknown>>): void {
    if (Object.keys(sentBack).length === 0) return;
    const stored = this.#params(this.#dependencies.repository.require(owner, idOrAddress).value);
    for (const [member, value] of Object.entries(sentBack)) {
      if (!Object.hasOwn(stored, member))
        throw invalidMember(`params.${member}`, `params.${member}: is not a member of this contract`, "unknown_member");
      if (!isDeepStrictEqual(value, stored[member]))
        throw invalidMember(`params.${member}`, `params.${member}: cannot be changed`);
    }
  }

  #onWire(stored: StoredContract): Contract {
    return contractOnWire({ ...stored, accessed_at: this.#dependencies.accesses.of(stored) });
  }
}
