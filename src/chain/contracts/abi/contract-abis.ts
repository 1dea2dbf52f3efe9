/**
 * The ABIs of contracts: those used last are cached in memory and read again when their record changes. It also lists
 * the deployed contracts of all owners, for following their logs.
 */
import { LRUCache } from "lru-cache";
import type { Subject } from "../../../platform/auth/principal.js";
import type { ContractAbi } from "./abi.js";
import { pubsubPrefix, type ContractRepository } from "../contract-repository.js";
import type { StoredContract } from "../contract-records.js";

/** A deployed contract as the follower of its logs needs it. */
export interface WatchedContract {
  readonly owner: Subject;
  readonly contractId: string;
  /** When its record was made, ISO 8601; for a contract deployed by this server, before its deployment. */
  readonly createdAt: string;
  readonly networkId: string;
  /** Checksummed. */
  readonly address: string;
  readonly name: string;
  readonly pubsubPrefix: string;
}

interface CachedAbi {
  readonly version: number;
  readonly abi: ContractAbi;
}

/** Each takes about 20 KiB. */
const CACHED_ABIS_MAX = 256;

export class ContractAbis {
  readonly #repository: ContractRepository;
  readonly #cache = new LRUCache<string, CachedAbi>({ max: CACHED_ABIS_MAX });

  constructor(dependencies: { readonly repository: ContractRepository }) {
    this.#repository = dependencies.repository;
  }

  /**
   * Returns the ABI of a contract; empty when it has none. As long as its record is unchanged and cached, the same
   * object is returned, so that callers may cache what they derive from it.
   */
  of({ owner, id }: Pick<StoredContract, "owner" | "id">): ContractAbi {
    const stored = this.#repository.abi(owner, id);
    if (stored === undefined) return [];
    const cached = this.#cache.get(id);
    if (cached?.version === stored.version) return cached.abi;
    this.#cache.set(id, { version: stored.version, abi: stored.value });
    return stored.value;
  }

  /** Returns the contracts of all owners at an address of a network, each with its ABI. */
  find(networkId: string, address: string): { readonly contract: WatchedContract; readonly abi: ContractAbi }[] {
    return this.#repository
      .deployed(networkId, address)
      .map((stored) => ({ contract: watched(stored), abi: this.of(stored) }));
  }

  /** Returns the owner's newest contract at an address of a network; undefined when there is none. */
  at(
    owner: Subject,
    networkId: string,
    address: string,
  ): { readonly contractId: string; readonly abi: ContractAbi } | undefined {
    const id = this.#repository.newestAt(owner, networkId, address)?.id;
    return id === undefined ? undefined : { contractId: id, abi: this.of({ owner, id }) };
  }

  /** Returns the ids of the networks that have deployed contracts. */
  networks(): string[] {
    return this.#repository.networksOfDeployed();
  }

  /** Returns the deployed contracts of all owners on a network, ordered by address. */
  deployed(networkId: string): WatchedContract[] {
    return this.#repository.deployed(networkId).map(watched);
  }
}

function watched(stored: StoredContract): WatchedContract {
  const { owner, id, created_at, network_id, address, name } = stored;
  return {
    owner,
    contractId: id,
    createdAt: created_at,
    networkId: network_id,
    address,
    name,
    pubsubPrefix: pubsubPrefix(stored),
  };
}
