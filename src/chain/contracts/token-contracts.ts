/**
 * Token contracts: contracts whose type is a token standard, shown as tokens. Contract and token are one record and
 * have one id.
 */
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { saidOwner, type RequireTenant } from "../../platform/auth/said-owner.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, invalidMember, notFound } from "../../platform/errors.js";
import type { References } from "../../platform/references.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import type { ContractAccesses } from "./access-times.js";
import type { CreateTokenContract, TokenContract, TokenFilters } from "./contract-schemas.js";
import type { Deployments } from "./deployments.js";
import { ownerMembers } from "../accounts/accounts.js";
import { addressOf, type ContractCreation } from "./contract-creation.js";
import { isToken, NO_ADDRESS, type ContractRepository } from "./contract-repository.js";
import type { StoredContract } from "./contract-records.js";

interface TokenDependencies {
  readonly store: Store;
  readonly repository: ContractRepository;
  readonly accesses: ContractAccesses;
  readonly deployments: Deployments;
  readonly creation: ContractCreation;
  readonly requireTenant: RequireTenant;
  readonly references: References;
  readonly clock: Clock;
}

export class TokenContracts {
  readonly #dependencies: TokenDependencies;

  constructor(dependencies: TokenDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns one page, oldest first, or last used first with `sort: "recent"`. */
  async list(
    owner: Subject,
    { name, network_id: networkId, sort, ...page }: TokenFilters & Page,
  ): Promise<{ readonly body: TokenContract[]; readonly total: number }> {
    const { repository, accesses } = this.#dependencies;
    if (sort === "recent") await accesses.flush();
    const { rows, total } = repository.list(
      owner,
      { order: sort === "recent" ? "recent" : "created", tokens: "only", networkId, tokenName: name },
      page,
    );
    return { body: rows.map((row) => this.#onWire(row)), total };
  }

  /** Returns a token by its contract's id. Throws `not_found`, also for a contract that is no token. */
  get(owner: Subject, id: string): TokenContract {
    const found = this.#dependencies.repository.find(owner, id)?.value;
    if (found === undefined || !isToken(found)) throw notFound("token contract");
    this.#dependencies.accesses.note(found);
    return this.#onWire(found);
  }

  /** Returns the 0x-address of a token, for balances. Throws `not_found`. */
  addressOf(owner: Subject, id: string): string {
    return this.get(owner, id).address;
  }

  /**
   * Makes a token of a known contract, or of an address, which is then registered as a contract. What the caller leaves
   * out is asked of the contract. What `keep` returns is stored with the token, which comes after the contract: one
   * that was registered alone is found by its address when the same is asked for again.
   * @throws AppError `not_found`, `contract_not_deployed`, `not_a_token`, `network_unreachable` when the contract
   * cannot be asked
   */
  async create(
    principal: Principal,
    request: CreateTokenContract,
    keep?: (made: TokenContract) => StoreCommit,
  ): Promise<TokenContract> {
    const { requireTenant, references } = this.#dependencies;
    const owner = saidOwner(principal, request, { permissions: ["create"], requireTenant });
    references.require(owner, request, ["network_id", "contract_id", "sale_contract_id"]);
    const existing = this.#existing(owner, request);
    const place = existing ?? {
      owner,
      network_id: request.network_id ?? "",
      address: addressOf(request.address),
      type: null,
      status: "registered",
    };
    if (place.address === NO_ADDRESS)
      throw new AppError("contract_not_deployed", {
        message: `the contract is not deployed; its status is ${place.status}`,
      });
    const described = await this.#dependencies.deployments.describe({
      ...place,
      type: request.type ?? (isToken(place) ? place.type : null),
    });
    if (!isToken(described) && described.undescribed === true)
      throw new AppError("network_unreachable", {
        message: "the network's node did not answer whether this is a token; give its type, or try again later",
      });
    if (!isToken(described))
      throw new AppError("not_a_token", {
        message:
          "the contract implements none of ERC-20, ERC-721 and ERC-1155; if it is a token all the same, give its type",
      });
    const id = existing?.id ?? (await this.#register(principal, request, described.type));
    return await retryOnConflict(async () => {
      const current = this.#dependencies.repository.require(owner, id);
      const next = tokenOf(current.value, request, described, isoTimestamp(this.#dependencies.clock.nowMs()));
      const made = this.#onWire(next);
      await this.#dependencies.store.commit(
        mergeCommits(this.#dependencies.repository.update(current, next), keep?.(made) ?? {}),
      );
      return made;
    });
  }

  #existing(
    owner: Subject,
    { contract_id: id, network_id: networkId, address }: CreateTokenContract,
  ): StoredContract | undefined {
    if (typeof id === "string") return this.#dependencies.repository.require(owner, id).value;
    if (typeof networkId !== "string" || typeof address !== "string")
      throw invalidMember(
        typeof networkId === "string" ? "address" : "network_id",
        "give contract_id, or network_id and address",
      );
    return this.#dependencies.repository
      .deployed(networkId, addressOf(address))
      .find((contract) => contract.owner.kind === owner.kind && contract.owner.id === owner.id);
  }

  async #register(
    principal: Principal,
    { application_id, organization_id, network_id: networkId, address, name }: CreateTokenContract,
    type: string | null,
  ): Promise<string> {
    const { contract } = await this.#dependencies.creation.createPublic(principal, {
      network_id: networkId ?? "",
      type,
      ...(application_id === undefined ? {} : { application_id }),
      ...(organization_id === undefined ? {} : { organization_id }),
      ...(address === undefined ? {} : { address }),
      ...(name === undefined ? {} : { name }),
    });
    return contract.id;
  }

  #onWire(stored: StoredContract): TokenContract {
    const { id, created_at, owner, network_id, type, name, token, address } = stored;
    return {
      id,
      created_at,
      ...ownerMembers(owner),
      network_id,
      contract_id: id,
      sale_contract_id: token?.sale_contract_id ?? null,
      type: type ?? "",
      name: token?.name ?? name,
      symbol: token?.symbol ?? null,
      decimals: token?.decimals ?? null,
      address,
      sale_address: token?.sale_address ?? null,
      accessed_at: this.#dependencies.accesses.of(stored),
    };
  }
}

/** The record of a token. What the caller gave takes precedence over what the contract answered. */
function tokenOf(
  current: StoredContract,
  request: CreateTokenContract,
  { type, token, undescribed }: Pick<StoredContract, "type" | "token" | "undescribed">,
  now: string,
): StoredContract {
  const { undescribed: _undescribed, ...rest } = current;
  return {
    ...rest,
    ...(undescribed === undefined ? {} : { undescribed }),
    updated_at: now,
    type,
    token: {
      name: request.name ?? token?.name ?? null,
      symbol: request.symbol ?? token?.symbol ?? null,
      decimals: request.decimals ?? token?.decimals ?? null,
      sale_contract_id: request.sale_contract_id ?? null,
      sale_address: request.sale_address ?? null,
    },
  };
}
