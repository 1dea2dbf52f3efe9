/**
 * Where contracts lie in the store: the record, small and listed; beside it, under keys of their own, its ABI and what
 * it was made from, which only a detail or a call reads. Keys start with the owner. Decides nothing; builds commits,
 * which the callers put together.
 */
import { createHash } from "node:crypto";
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { AppError } from "../../platform/errors.js";
import type { Store, StoreCommit, StoreKey, StoreRecord, StoreValue } from "../../platform/store/store.js";
import { defineTable, mergeCommits, type Listing, type Page, type Table } from "../../platform/store/tables.js";
import type { ContractAbi } from "./abi/abi.js";
import { TOKEN_TYPES, type Contract, type ContractFinding, type ContractStatus } from "./contract-schemas.js";

/** What is known of a token; null members were never told. */
export interface TokenFacts {
  readonly name: string | null;
  readonly symbol: string | null;
  readonly decimals: number | null;
  readonly sale_contract_id: string | null;
  readonly sale_address: string | null;
}

export interface StoredContract {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly owner: Subject;
  readonly network_id: string;
  readonly contract_id: string | null;
  /** The transaction that deploys or deployed it. */
  readonly transaction_id: string | null;
  readonly name: string;
  /** Checksummed, or `0x`. */
  readonly address: string;
  readonly type: string | null;
  readonly status: ContractStatus;
  readonly errors: readonly ContractFinding[];
  readonly token: TokenFacts | null;
  /** Its network's node could not be asked what it is; absent once it was. */
  readonly undescribed?: true;
  readonly accessed_at: string | null;
  /** Orders uses within one millisecond of `accessed_at`: a count of uses since the server started. */
  readonly access_order?: number;
}

/** What a contract was made from, as its detail answers it; `abi` lies apart. */
export type StoredParams = {
  readonly name: string;
  /** Linked creation code, 0x-hex; null of a contract that was registered without. */
  readonly bytecode: string | null;
  /** SHA-256 of `bytecode`, hex. */
  readonly fingerprint: string | null;
  readonly deps: StoreValue;
  readonly opcodes: string | null;
  readonly source: StoreValue;
  readonly metadata?: string;
  readonly compiler?: string;
  readonly settings?: StoreValue;
  readonly warnings?: StoreValue;
};

export type ContractOrder = "created" | "recent";
export interface ContractFilter {
  readonly order: ContractOrder;
  readonly tokens: "all" | "none" | "only";
  readonly networkId?: string | undefined;
  readonly type?: string | undefined;
}

/** Address of a contract that is not deployed. */
export const NO_ADDRESS = "0x";
const TABLE = "chain_contract";
const ABI_TABLE = "chain_contract_abi";
const PARAMS_TABLE = "chain_contract_params";
const BUILD_TABLE = "chain_contract_build";

export function isToken({ type }: Pick<StoredContract, "type">): boolean {
  return TOKEN_TYPES.some((token) => token === type);
}

export class ContractRepository {
  readonly #store: Pick<Store, "get" | "range" | "count">;
  readonly #table: Table<StoredContract, "owner" | "plain" | "token" | "recent" | "address" | "deployed", never>;

  constructor(dependencies: { readonly store: Pick<Store, "get" | "range" | "count"> }) {
    this.#store = dependencies.store;
    this.#table = defineTable<StoredContract, "owner" | "plain" | "token" | "recent" | "address" | "deployed">(
      {
        name: TABLE,
        key: ({ owner, id }) => [...ownerKey(owner), id],
        indexes: {
          owner: ({ owner }) => ownerKey(owner),
          plain: (contract) => (isToken(contract) ? undefined : ownerKey(contract.owner)),
          token: (contract) => (isToken(contract) ? ownerKey(contract.owner) : undefined),
          recent: ({ owner, accessed_at, access_order: order }) => [
            ...ownerKey(owner),
            accessed_at ?? "",
            ...(order === undefined ? [] : [order]),
          ],
          address: ({ owner, address }) =>
            address === NO_ADDRESS ? undefined : [...ownerKey(owner), address.toLowerCase()],
          // Over all owners: whose contracts stand at an address, for whoever follows a network's logs.
          deployed: ({ network_id, address }) =>
            address === NO_ADDRESS ? undefined : [network_id, address.toLowerCase()],
        },
      },
      dependencies,
    );
  }

  find(owner: Subject, id: string): StoreRecord<StoredContract> | undefined {
    return this.#table.get([...ownerKey(owner), id]);
  }

  /**
   * By id, or by address; throws `not_found`, or `contract_ambiguous` when the address is known on several networks.
   */
  require(owner: Subject, idOrAddress: string): StoreRecord<StoredContract> {
    const found = idOrAddress.startsWith("0x") ? this.#byAddress(owner, idOrAddress) : this.find(owner, idOrAddress);
    if (found === undefined) throw new AppError("not_found", { message: "contract not found" });
    return found;
  }

  list(owner: Subject, { order, tokens, networkId, type }: ContractFilter, page?: Page): Listing<StoredContract> {
    const index = order === "recent" ? "recent" : tokens === "all" ? "owner" : tokens === "none" ? "plain" : "token";
    const wantsFilter = networkId !== undefined || type !== undefined || (order === "recent" && tokens !== "all");
    const filter = (contract: StoredContract): boolean =>
      (networkId === undefined || contract.network_id === networkId) &&
      (type === undefined || contract.type === type) &&
      (tokens === "all" || isToken(contract) === (tokens === "only"));
    return this.#table.list(index, ownerKey(owner), {
      ...(page === undefined ? {} : { page }),
      reverse: order === "recent",
      ...(wantsFilter ? { filter } : {}),
    });
  }

  count(owner: Subject): number {
    return this.#table.count("owner", ownerKey(owner));
  }

  /** Contracts of an owner whose source is being compiled. */
  countBuilds(owner: Subject): number {
    return this.#store.count([BUILD_TABLE, ...ownerKey(owner)]);
  }

  /** Deployed contracts of all owners, on one network or at one address of it. */
  deployed(networkId: string, address?: string): StoredContract[] {
    return this.#table.list("deployed", address === undefined ? [networkId] : [networkId, address.toLowerCase()]).rows;
  }

  /** Networks with deployed contracts of anybody; one read for each. */
  networksOfDeployed(): string[] {
    const index = `${TABLE}#deployed`;
    const networks: string[] = [];
    for (let after: StoreKey = [index]; ;) {
      const [next] = this.#store.range([index], { limit: 1, after });
      if (next === undefined) return networks;
      networks.push(String(next.key[1]));
      // Past everything of this network.
      after = [index, String(next.key[1]), "\u{10ffff}"];
    }
  }

  /** One page of an owner's records, for their deletion. */
  page(owner: Subject, page: Page): StoreRecord<StoredContract>[] {
    return this.#table.records("owner", ownerKey(owner), page);
  }

  abi(owner: Subject, id: string): StoreRecord<ContractAbi> | undefined {
    return this.#store.get<ContractAbi>([ABI_TABLE, ...ownerKey(owner), id]);
  }

  params(owner: Subject, id: string): StoredParams | undefined {
    return this.#store.get<StoredParams>([PARAMS_TABLE, ...ownerKey(owner), id])?.value;
  }

  build<T>(owner: Subject, id: string): T | undefined {
    return this.#store.get<T>([BUILD_TABLE, ...ownerKey(owner), id])?.value;
  }

  insertion(contract: StoredContract): StoreCommit {
    return this.#table.insertCommit(contract);
  }

  update(current: StoreRecord<StoredContract>, next: StoredContract): StoreCommit {
    return this.#table.updateCommit(current, next);
  }

  putAbi({ owner, id }: Pick<StoredContract, "owner" | "id">, abi: ContractAbi): StoreCommit {
    return { puts: [{ key: [ABI_TABLE, ...ownerKey(owner), id], value: abi }] };
  }

  putParams({ owner, id }: Pick<StoredContract, "owner" | "id">, params: StoredParams): StoreCommit {
    return { puts: [{ key: [PARAMS_TABLE, ...ownerKey(owner), id], value: params }] };
  }

  putBuild({ owner, id }: Pick<StoredContract, "owner" | "id">, plan: StoreValue): StoreCommit {
    return { puts: [{ key: [BUILD_TABLE, ...ownerKey(owner), id], value: plan }] };
  }

  dropBuild({ owner, id }: Pick<StoredContract, "owner" | "id">): StoreCommit {
    return { deletes: [[BUILD_TABLE, ...ownerKey(owner), id]] };
  }

  deletion(current: StoreRecord<StoredContract>): StoreCommit {
    const { owner, id } = current.value;
    return mergeCommits(this.#table.deleteCommit(current), {
      deletes: [ABI_TABLE, PARAMS_TABLE, BUILD_TABLE].map((table): StoreKey => [table, ...ownerKey(owner), id]),
    });
  }

  /** The newest of those that stand at the address, all of one network. */
  #byAddress(owner: Subject, address: string): StoreRecord<StoredContract> | undefined {
    const found = this.#table.records("address", [...ownerKey(owner), address.toLowerCase()]);
    const networks = new Set(found.map(({ value }) => value.network_id));
    if (networks.size > 1)
      throw new AppError("contract_ambiguous", {
        message: "the address is known on several networks; use the contract's id",
      });
    return found.at(-1);
  }
}

/** The prefix of a contract's events: lower-case hex SHA-256 of `<owner id>.<address>`. */
export function pubsubPrefix({ owner, address }: Pick<StoredContract, "owner" | "address">): string {
  return createHash("sha256").update(`${owner.id}.${address}`).digest("hex");
}

/** A contract as clients see it, without `params`. */
export function contractOnWire(stored: StoredContract): Contract {
  const {
    id,
    created_at,
    updated_at,
    owner,
    network_id,
    contract_id,
    transaction_id,
    name,
    address,
    type,
    status,
    errors,
    accessed_at,
  } = stored;
  return {
    id,
    created_at,
    updated_at,
    ...ownerMembers(owner),
    network_id,
    contract_id,
    transaction_id,
    name,
    address,
    type,
    status,
    errors: [...errors],
    accessed_at,
    pubsub_prefix: pubsubPrefix(stored),
  };
}

export function ownerMembers({ kind, id }: Subject): {
  application_id: string | null;
  organization_id: string | null;
  user_id: string | null;
} {
  return {
    application_id: kind === "application" ? id : null,
    organization_id: kind === "organization" ? id : null,
    user_id: kind === "user" ? id : null,
  };
}
