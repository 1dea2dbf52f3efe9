/**
 * The contracts in the store. Records are small and listed; ABIs and what contracts were made from are under keys of
 * their own, because only a detail or a call reads them. Keys start with the owner. Builds commits, which the callers
 * merge and commit.
 */
import { createHash } from "node:crypto";
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { AppError, notFound } from "../../platform/errors.js";
import type { Store, StoreCommit, StoreKey, StoreRecord, StoreValue } from "../../platform/store/store.js";
import { defineTable, mergeCommits, type Listing, type Page, type Table } from "../../platform/store/tables.js";
import { ownerMembers } from "../accounts/accounts.js";
import type { ContractAbi } from "./abi/abi.js";
import type { BuildPlan, StoredContract, StoredParams } from "./contract-records.js";
import { TOKEN_TYPES, type Contract } from "./contract-schemas.js";

type ContractOrder = "created" | "recent";

interface ContractFilter {
  readonly order: ContractOrder;
  readonly tokens: "all" | "none" | "only";
  readonly networkId?: string | undefined;
  readonly type?: string | undefined;
  readonly name?: string | undefined;
  /** The token's name, which may differ from the contract's. */
  readonly tokenName?: string | undefined;
}

/** Address of a contract that is not deployed. */
export const NO_ADDRESS = "0x";
const TABLE = "chain_contract";
const ABI_TABLE = "chain_contract_abi";
const PARAMS_TABLE = "chain_contract_params";
const BUILD_TABLE = "chain_contract_build";

/** Returns true for a type that is one of the token standards. */
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
          // Over all owners: which contracts are at an address, for following a network's logs.
          deployed: ({ network_id, address }) =>
            address === NO_ADDRESS ? undefined : [network_id, address.toLowerCase()],
        },
      },
      dependencies,
    );
  }

  /** Returns a contract of the owner by its id. */
  find(owner: Subject, id: string): StoreRecord<StoredContract> | undefined {
    return this.#table.get([...ownerKey(owner), id]);
  }

  /** Returns a contract by id or address. Throws `not_found`, `contract_ambiguous` (an address on several networks). */
  require(owner: Subject, idOrAddress: string): StoreRecord<StoredContract> {
    const found = idOrAddress.startsWith("0x") ? this.#byAddress(owner, idOrAddress) : this.find(owner, idOrAddress);
    if (found === undefined) throw notFound("contract");
    return found;
  }

  /** Returns the owner's contracts, oldest first, or last used first; all of them without a page. */
  list(
    owner: Subject,
    { order, tokens, networkId, type, name, tokenName }: ContractFilter,
    page?: Page,
  ): Listing<StoredContract> {
    const index = order === "recent" ? "recent" : tokens === "all" ? "owner" : tokens === "none" ? "plain" : "token";
    const given = [networkId, type, name, tokenName].some((member) => member !== undefined);
    const needsFilter = given || (order === "recent" && tokens !== "all");
    const filter = (contract: StoredContract): boolean =>
      (networkId === undefined || contract.network_id === networkId) &&
      (type === undefined || contract.type === type) &&
      (name === undefined || contract.name === name) &&
      (tokenName === undefined || (contract.token?.name ?? contract.name) === tokenName) &&
      (tokens === "all" || isToken(contract) === (tokens === "only"));
    return this.#table.list(index, ownerKey(owner), {
      ...(page === undefined ? {} : { page }),
      reverse: order === "recent",
      ...(needsFilter ? { filter } : {}),
    });
  }

  /** Counts the contracts of an owner. */
  count(owner: Subject): number {
    return this.#table.count("owner", ownerKey(owner));
  }

  /** Counts the contracts of an owner whose source is being compiled. */
  countBuilds(owner: Subject): number {
    return this.#store.count([BUILD_TABLE, ...ownerKey(owner)]);
  }

  /** Returns the deployed contracts of all owners, on one network or at one address of it. */
  deployed(networkId: string, address?: string): StoredContract[] {
    return this.#table.list("deployed", address === undefined ? [networkId] : [networkId, address.toLowerCase()]).rows;
  }

  /** Returns the owner's newest contract at an address of a network. */
  newestAt(owner: Subject, networkId: string, address: string): StoredContract | undefined {
    const { rows } = this.#table.list("address", [...ownerKey(owner), address.toLowerCase()]);
    return rows.findLast(({ network_id: id }) => id === networkId);
  }

  /** Returns the ids of the networks with deployed contracts of any owner. Reads the store once for each network. */
  networksOfDeployed(): string[] {
    const index = `${TABLE}#deployed`;
    const networks: string[] = [];
    for (let after: StoreKey = [index]; ;) {
      const [next] = this.#store.range([index], { limit: 1, after });
      if (next === undefined) return networks;
      networks.push(String(next.key[1]));
      // Skips all other entries of this network.
      after = [index, String(next.key[1]), "\u{10ffff}"];
    }
  }

  /** Returns one page of an owner's records with their versions, for deleting them. */
  page(owner: Subject, page: Page): StoreRecord<StoredContract>[] {
    return this.#table.records("owner", ownerKey(owner), page);
  }

  /** Returns the stored ABI of a contract. */
  abi(owner: Subject, id: string): StoreRecord<ContractAbi> | undefined {
    return this.#store.get<ContractAbi>([ABI_TABLE, ...ownerKey(owner), id]);
  }

  /** Returns what a contract was made from. */
  params(owner: Subject, id: string): StoredParams | undefined {
    return this.#store.get<StoredParams>([PARAMS_TABLE, ...ownerKey(owner), id])?.value;
  }

  /** Returns the plan of a build that is not settled yet. */
  build(owner: Subject, id: string): BuildPlan | undefined {
    return this.#store.get<BuildPlan>([BUILD_TABLE, ...ownerKey(owner), id])?.value;
  }

  /** Builds the commit that adds a contract. */
  insertion(contract: StoredContract): StoreCommit {
    return this.#table.insertCommit(contract);
  }

  /** Builds the commit that changes a contract. Conflicts when it is no longer as read. */
  update(current: StoreRecord<StoredContract>, next: StoredContract): StoreCommit {
    return this.#table.updateCommit(current, next);
  }

  /** Builds the commit that stores a contract's ABI. */
  putAbi({ owner, id }: Pick<StoredContract, "owner" | "id">, abi: ContractAbi): StoreCommit {
    return { puts: [{ key: [ABI_TABLE, ...ownerKey(owner), id], value: abi }] };
  }

  /** Builds the commit that stores what a contract was made from. */
  putParams({ owner, id }: Pick<StoredContract, "owner" | "id">, params: StoredParams): StoreCommit {
    return { puts: [{ key: [PARAMS_TABLE, ...ownerKey(owner), id], value: params }] };
  }

  /** Builds the commit that stores the plan of a build. */
  putBuild({ owner, id }: Pick<StoredContract, "owner" | "id">, plan: StoreValue): StoreCommit {
    return { puts: [{ key: [BUILD_TABLE, ...ownerKey(owner), id], value: plan }] };
  }

  /** Builds the commit that removes the plan of a build that is settled. */
  dropBuild({ owner, id }: Pick<StoredContract, "owner" | "id">): StoreCommit {
    return { deletes: [[BUILD_TABLE, ...ownerKey(owner), id]] };
  }

  /** Builds the commit that deletes a contract with everything stored of it. */
  deletion(current: StoreRecord<StoredContract>): StoreCommit {
    const { owner, id } = current.value;
    return mergeCommits(this.#table.deleteCommit(current), {
      deletes: [ABI_TABLE, PARAMS_TABLE, BUILD_TABLE].map((table): StoreKey => [table, ...ownerKey(owner), id]),
    });
  }

  /** Returns the newest contract at an address. */
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

/** Returns the prefix of a contract's events: the SHA-256 of `<owner id>.<address>` in lower-case hex. */
export function pubsubPrefix({ owner, address }: Pick<StoredContract, "owner" | "address">): string {
  return createHash("sha256").update(`${owner.id}.${address}`).digest("hex");
}

/** Returns a contract as clients see it, without `params`. */
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
