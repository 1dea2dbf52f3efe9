/**
 * Networks as their owners see them: records that are checked against the nodes that they name, and the public ones for
 * everybody.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Egress } from "../../platform/net/egress.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import { ownerMembers } from "../accounts/accounts.js";
import type { HeadHints, HintingNetworks, NetworkRecord, Networks } from "./network-port.js";
import { RpcRefusal, type Rpc } from "../rpc/rpc.js";
import type { HeadFeeds } from "./nodes/head-feeds.js";
import type { NetworkCredentials } from "./network-credentials.js";
import { networkNotFound, type NetworkRepository } from "./network-repository.js";
import { checkConfigUrls } from "./config-urls.js";
import type {
  CreateNetworkInput,
  NetworkConfigJson,
  NetworkFilters,
  NetworkJson,
  UpdateNetworkInput,
} from "./network-schemas.js";
import type { NetworkStatusWatch } from "./nodes/network-status.js";
import type { RpcPool } from "./nodes/rpc-pool.js";

/** Says what of an owner still hangs on a network, in the plural, or undefined. */
export type NetworkUse = (owner: Subject, networkId: string) => string | undefined;

export interface NetworkServiceDependencies {
  readonly repository: NetworkRepository;
  readonly credentials: NetworkCredentials;
  readonly pool: RpcPool;
  readonly status: NetworkStatusWatch;
  readonly feeds: HeadFeeds;
  readonly egress: Egress;
  readonly clock: Clock;
  readonly publicRecords: readonly NetworkRecord[];
}

/** Each may have its nodes asked in the background while it is used. */
const NETWORKS_MAX = 500;
const CHECK_TIMEOUT_MS = 4_000;
/** Long texts that lists leave out. */
const BULKY = ["chainspec", "chainspec_abi"] as const;
const FLAG_OF_PLATFORM: Readonly<Record<string, readonly string[]>> = {
  bcoin: ["is_bcoin_network"],
  evm: ["is_ethereum_network"],
  handshake: ["is_handshake_network"],
  hyperledger_besu: ["is_hyperledger_besu_network", "is_ethereum_network"],
  hyperledger_fabric: ["is_hyperledger_fabric_network"],
  quorum: ["is_quorum_network", "is_ethereum_network"],
};

export class NetworkService implements Networks, HintingNetworks {
  readonly #with: NetworkServiceDependencies;
  readonly #publicById: ReadonlyMap<string, NetworkRecord>;
  readonly #uses: NetworkUse[] = [];

  constructor(dependencies: NetworkServiceDependencies) {
    this.#with = dependencies;
    this.#publicById = new Map(dependencies.publicRecords.map((record) => [record.id, record]));
  }

  /** Keeps networks from being deleted under what hangs on them. */
  onDeletion(use: NetworkUse): void {
    this.#uses.push(use);
  }

  find(subject: Subject, id: string): NetworkRecord {
    const found = this.#publicById.get(id) ?? this.#with.repository.find(subject, id)?.value;
    if (found === undefined) throw networkNotFound();
    return found;
  }

  rpc(record: NetworkRecord): Rpc {
    const rpc = this.#with.pool.rpc(record);
    this.#with.status.touch(record);
    return rpc;
  }

  hints(record: NetworkRecord, onHint: () => void): HeadHints | undefined {
    return this.#with.feeds.open(record, onHint);
  }

  /**
   * Enabled ones only, oldest first, without their chainspecs. Organizations make none of their own and see the public
   * ones.
   */
  list(subject: Subject, filters: NetworkFilters, page: Page): { body: NetworkJson[]; total: number } {
    const fits = (network: NetworkRecord): boolean => network.enabled && fitsFilters(network, filters);
    if (filters.public ?? subject.kind === "organization") {
      const rows = this.#with.publicRecords.filter(fits);
      const from = (page.page - 1) * page.rpp;
      return { body: rows.slice(from, from + page.rpp).map((network) => this.#brief(network)), total: rows.length };
    }
    const { rows, total } = this.#with.repository.list(subject, fits, page);
    return { body: rows.map((network) => this.#brief(network)), total };
  }

  get(subject: Subject, id: string): NetworkJson {
    return this.#onWire(this.find(subject, id));
  }

  /**
   * Takes a network whose nodes, where they answer, are of its chain. Throws `network_chain_mismatch`,
   * `egress_refused`; without a chain id the node is asked for it, and its silence is `network_unreachable` or
   * `network_timeout`.
   */
  async create(owner: Subject, input: CreateNetworkInput, signal: AbortSignal): Promise<NetworkJson> {
    const { repository, clock } = this.#with;
    const { rpc_api_key: key, ...config } = input.config;
    checkConfigUrls(this.#with.egress, config);
    if (repository.count(owner) >= NETWORKS_MAX)
      throw new AppError("network_limit_reached", { message: `${String(NETWORKS_MAX)} networks are the most` });
    this.#requireParents(owner, input);
    const record: NetworkRecord = {
      id: newId(),
      created_at: isoTimestamp(clock.nowMs()),
      owner,
      name: input.name,
      description: input.description ?? null,
      is_production: input.is_production ?? false,
      cloneable: input.cloneable ?? false,
      enabled: input.enabled ?? true,
      layer2: input.layer2 ?? false,
      layer3: input.layer3 ?? false,
      chain_id: input.chain_id ?? (config.network_id === undefined ? "" : String(config.network_id)),
      sidechain_id: input.sidechain_id ?? null,
      network_id: input.network_id ?? null,
      config: withFlags(config),
    };
    const checked = await this.#checked(record, signal, key);
    return await retryOnConflict(async () => {
      const { place, commit } = await this.#wrapped(owner, record.id, key);
      const stored = { ...checked, ...place };
      await repository.insert(stored, commit);
      return this.#onWire(stored);
    });
  }

  /** Throws `forbidden` for public networks, else as create. */
  async update(owner: Subject, id: string, input: UpdateNetworkInput, signal: AbortSignal): Promise<void> {
    await retryOnConflict(async () => {
      const current = this.owned(owner, id);
      requireUnchanged(this.#onWire(current.value), input);
      this.#requireParents(owner, input);
      const key = (input.config as KeyChange | undefined)?.rpc_api_key;
      const { rpc_secret: before, ...rest } = merged(current.value, input);
      checkConfigUrls(this.#with.egress, rest.config, current.value.config);
      const next: NetworkRecord = key === undefined && before !== undefined ? { ...rest, rpc_secret: before } : rest;
      const isElsewhere = key !== undefined || placeOf(next) !== placeOf(current.value);
      const checked = isElsewhere ? await this.#checked(next, signal, key ?? undefined) : next;
      const { place, commit } = await this.#wrapped(owner, id, key ?? undefined);
      const unused = key === undefined ? {} : this.#with.credentials.deletion(owner, before ?? null);
      await this.#with.repository.update(current, { ...checked, ...place }, commit, unused);
    });
    this.#with.pool.forget(id);
    this.#with.status.forget(id);
  }

  /** Throws `network_in_use` while accounts, contracts or the like are on it. */
  async delete(owner: Subject, id: string): Promise<void> {
    await retryOnConflict(async () => {
      const current = this.owned(owner, id);
      for (const use of this.#uses) {
        const what = use(owner, id);
        if (what !== undefined) throw new AppError("network_in_use", { message: `the network still has ${what}` });
      }
      const unused = this.#with.credentials.deletion(owner, current.value.rpc_secret ?? null);
      await this.#with.repository.commit(mergeCommits(this.#with.repository.deletion(current), unused));
    });
    this.#with.pool.forget(id);
    this.#with.status.forget(id);
  }

  /** A record that the subject may change. Throws `not_found`, `forbidden`. */
  owned(owner: Subject, id: string): StoreRecord<NetworkRecord> {
    if (this.#publicById.has(id))
      throw new AppError("forbidden", { message: "a public network is nobody's to change" });
    const found = this.#with.repository.find(owner, id);
    if (found === undefined) throw networkNotFound();
    return found;
  }

  async purge(owner: Subject): Promise<void> {
    await this.#with.repository.purge(owner);
  }

  /** Refuses nodes that answer as another chain or lie where none may be named; one that is silent may answer later. */
  async checkUrls(network: NetworkRecord, urls: readonly string[], signal: AbortSignal, key?: string): Promise<void> {
    await Promise.all(
      urls.map(async (url) => {
        await this.#with.pool
          .connect(network, [url], { key })
          .request("eth_chainId", [], { timeoutMs: CHECK_TIMEOUT_MS, signal })
          .catch(passSilence);
      }),
    );
    signal.throwIfAborted();
  }

  /** The record with its chain id, once the nodes that answer have shown that they are of it. */
  async #checked(record: NetworkRecord, signal: AbortSignal, key: string | undefined): Promise<NetworkRecord> {
    const urls = urlsOf(record);
    for (const url of urls) this.#with.egress.checkUrl(url);
    // A chain that is still to be made has neither node nor number; its number must only be unlike others.
    const known =
      record.chain_id !== ""
        ? record
        : urls.length > 0
          ? undefined
          : { ...record, chain_id: `0x${Math.floor(this.#with.clock.nowMs() / 1000).toString(16)}` };
    if (known === undefined)
      return await this.#checked({ ...record, chain_id: await this.#askedChainId(record, signal, key) }, signal, key);
    await this.checkUrls(known, urls, signal, key);
    return known;
  }

  async #askedChainId(network: NetworkRecord, signal: AbortSignal, key: string | undefined): Promise<string> {
    const [url = ""] = urlsOf(network);
    const answer = await this.#with.pool.askUnchecked(url, "eth_chainId", { network, key, signal });
    if (typeof answer === "string" && /^0x[0-9a-f]{1,13}$/i.test(answer)) return String(Number(answer));
    throw new AppError("network_answer_invalid", { message: "the node's chain id is no number" });
  }

  /** A key as a secret that the caller's commit writes. Throws `vault_sealed`. */
  async #wrapped(
    owner: Subject,
    id: string,
    key: string | undefined,
  ): Promise<{ readonly place: Pick<NetworkRecord, "rpc_secret">; readonly commit: StoreCommit }> {
    if (key === undefined) return { place: {}, commit: {} };
    const { place, commit } = await this.#with.credentials.prepare(owner, id, { rpc_api_key: key });
    return { place: { rpc_secret: place }, commit };
  }

  #requireParents(
    owner: Subject,
    { sidechain_id, network_id }: { readonly sidechain_id?: string | null; readonly network_id?: string | null },
  ): void {
    for (const id of [sidechain_id, network_id]) if (id !== undefined && id !== null) this.find(owner, id);
  }

  #brief(network: NetworkRecord): NetworkJson {
    const json = this.#onWire(network);
    return {
      ...json,
      config: Object.fromEntries(
        Object.entries(json.config).filter(([name]) => !BULKY.some((bulky) => bulky === name)),
      ),
    };
  }

  #onWire({ owner, rpc_secret: _place, ...network }: NetworkRecord): NetworkJson {
    const members =
      owner === null ? { application_id: null, organization_id: null, user_id: null } : ownerMembers(owner);
    // The operator's URLs may carry the operator's keys.
    const config =
      owner === null
        ? Object.fromEntries(Object.entries(network.config).filter(([name]) => name !== "json_rpc_urls"))
        : network.config;
    return { ...network, ...members, config, stats: this.#with.status.lastSeen(network.id) };
  }
}

/** The part of a change that is no part of the record: null removes the key. */
interface KeyChange {
  readonly rpc_api_key?: string | null;
}

/** Clients send back what they read; another value than that is not passed over in silence. */
function requireUnchanged(current: NetworkJson, input: UpdateNetworkInput): void {
  for (const member of ["id", "created_at", "application_id", "organization_id", "user_id"] as const) {
    if (input[member] === undefined || input[member] === current[member]) continue;
    const message = `${member}: cannot be changed`;
    throw new AppError("invalid_request", { message, details: [{ message, code: "invalid_request", path: member }] });
  }
}

/** Which nodes of which chain, and who asks them. */
function placeOf(network: NetworkRecord): string {
  return JSON.stringify([network.chain_id, urlsOf(network), network.config.rpc_api_user]);
}

function passSilence(error: unknown): void {
  if (error instanceof RpcRefusal) return;
  if (!(error instanceof AppError) || error.code === "network_chain_mismatch") throw error;
  if (error.cause instanceof AppError && error.cause.code === "egress_refused") throw error.cause;
}

function urlsOf({ config }: Pick<NetworkRecord, "config">): string[] {
  return [...(config.json_rpc_url === undefined ? [] : [config.json_rpc_url]), ...(config.json_rpc_urls ?? [])];
}

function fitsFilters(network: NetworkRecord, { cloneable, layer1, layer2, layer3 }: NetworkFilters): boolean {
  if (cloneable !== undefined && network.cloneable !== cloneable) return false;
  // The first layer that is asked for decides.
  if (layer1 !== undefined) return (!network.layer2 && !network.layer3) === layer1;
  if (layer2 !== undefined) return network.layer2 === layer2;
  return layer3 === undefined || network.layer3 === layer3;
}

function withFlags(config: NetworkConfigJson): NetworkConfigJson {
  const platform = config.platform ?? "evm";
  return { ...config, platform, ...Object.fromEntries((FLAG_OF_PLATFORM[platform] ?? []).map((flag) => [flag, true])) };
}

function merged(current: NetworkRecord, input: UpdateNetworkInput): NetworkRecord {
  const changes = Object.entries(input.config ?? {}).filter(([name]) => name !== "rpc_api_key");
  const config = Object.fromEntries(
    Object.entries({ ...current.config, ...Object.fromEntries(changes) }).filter(([, value]) => value !== null),
  );
  return {
    ...current,
    config: withFlags(config),
    name: input.name ?? current.name,
    description: input.description === undefined ? current.description : input.description,
    is_production: input.is_production ?? current.is_production,
    cloneable: input.cloneable ?? current.cloneable,
    enabled: input.enabled ?? current.enabled,
    layer2: input.layer2 ?? current.layer2,
    layer3: input.layer3 ?? current.layer3,
    chain_id: input.chain_id ?? current.chain_id,
    sidechain_id: input.sidechain_id === undefined ? current.sidechain_id : input.sidechain_id,
    network_id: input.network_id === undefined ? current.network_id : input.network_id,
  };
}
