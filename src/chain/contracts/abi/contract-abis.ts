/**
 * ABIs at hand: the last ones used stay in memory, read anew when their record changes. And which deployed contracts
 * there are.
 */
import type { Subject } from "../../../platform/auth/principal.js";
import type { ContractAbi } from "./abi.js";
import { pubsubPrefix, type ContractRepository, type StoredContract } from "../contract-repository.js";

/** A deployed contract, as whoever follows its logs needs it. */
export interface WatchedContract {
  readonly owner: Subject;
  readonly contractId: string;
  /** When it was recorded, ISO 8601: before it was deployed, if that was done here. */
  readonly createdAt: string;
  readonly networkId: string;
  /** Checksummed. */
  readonly address: string;
  readonly name: string;
  readonly pubsubPrefix: string;
}

interface Kept {
  readonly version: number;
  readonly abi: ContractAbi;
}

/** Some 20 KiB each. */
const KEPT_MAX = 256;

export class ContractAbis {
  readonly #repository: ContractRepository;
  readonly #kept = new Map<string, Kept>();

  constructor(dependencies: { readonly repository: ContractRepository }) {
    this.#repository = dependencies.repository;
  }

  /** The ABI of a contract; empty when it has none. */
  of({ owner, id }: Pick<StoredContract, "owner" | "id">): ContractAbi {
    const stored = this.#repository.abi(owner, id);
    if (stored === undefined) return [];
    const kept = this.#kept.get(id);
    this.#kept.delete(id);
    // One parse and one identity as long as the record is the same: what is prepared from it can be kept beside it.
    const current = kept?.version === stored.version ? kept : { version: stored.version, abi: stored.value };
    this.#kept.set(id, current);
    if (this.#kept.size > KEPT_MAX) this.#kept.delete(this.#kept.keys().next().value ?? id);
    return current.abi;
  }

  /** The contracts of all owners at an address of a network, each with its ABI. */
  find(networkId: string, address: string): { readonly contract: WatchedContract; readonly abi: ContractAbi }[] {
    return this.#repository
      .deployed(networkId, address)
      .map((stored) => ({ contract: watched(stored), abi: this.of(stored) }));
  }

  /** Networks on which there are deployed contracts. */
  networks(): string[] {
    return this.#repository.networksOfDeployed();
  }

  /** Every deployed contract of a network, whoever owns it, by address. */
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
