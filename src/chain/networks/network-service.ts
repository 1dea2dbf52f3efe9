/** Networks: the records of owners, checked against the nodes that they name, and the public networks. */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Egress } from "../../platform/net/egress.js";
import { AppError, notFound } from "../../platform/errors.js";
import type { References } from "../../platform/references.js";
import type { StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import { ownerMembers } from "../accounts/accounts.js";
import type { HeadHints, HintingNetworks, NetworkRecord, Networks } from "./network-port.js";
import { RpcRefusal, type Rpc } from "../rpc/rpc.js";
import type { HeadFeeds } from "./nodes/head-feeds.js";
import type { NetworkCredentials } from "./network-credentials.js";
import type { NetworkRepository } from "./network-repository.js";
import { checkConfigUrls } from "./config-urls.js";
import { changedNetwork, newNetwork } from "./network-changes.js";
import type { CreateNetworkInput, NetworkFilters, NetworkJson, UpdateNetworkInput } from "./network-schemas.js";
import type { NetworkStatusWatch } from "./nodes/network-status.js";
import type { RpcPool } from "./nodes/rpc-pool.js";

/** Returns what an owner still has on a network, in the plural, or undefined if nothing. */
export type NetworkUse = (owner: Subject, networkId: string) => string | undefined;

interface NetworkServiceDependencies {
  readonly repository: NetworkRepository;
  readonly credentials: NetworkCredentials;
  readonly pool: RpcPool;
  readonly status: NetworkStatusWatch;
  readonly feeds: HeadFeeds;
  readonly egress: Egress;
  readonly references: References;
  readonly clock: Clock;
  readonly publicRecords: readonly NetworkRecord[];
}

/** What may come with the creation of a network. */
export interface NewNetworkOptions {
  /** Another subject that sees it too. */
  readonly sharedWith?: Subject | undefined;
  /** Returns what is stored in one commit with it. */
  readonly keep?: ((made: NetworkJson) => StoreCommit) | undefined;
}

/** Members that name the networks to which a network belongs. */
const PARENTS = ["sidechain_id", "network_id"] as const;
/** Networks of one owner. The nodes of each are asked in the background while it is used. */
const NETWORKS_MAX = 500;
const CHECK_TIMEOUT_MS = 4_000;
/** Large members of the configuration that lists leave out. */
const LARGE_MEMBERS = ["chainspec", "chainspec_abi"] as const;

export class NetworkService implements Networks, HintingNetworks {
  readonly #dependencies: NetworkServiceDependencies;
  readonly #publicById: ReadonlyMap<string, NetworkRecord>;
  readonly #uses: NetworkUse[] = [];

  constructor(dependencies: NetworkServiceDependencies) {
    this.#dependencies = dependencies;
    this.#publicById = new Map(dependencies.publicRecords.map((record) => [record.id, record]));
  }

  /** Adds a check: a network that is still in use cannot be deleted. */
  onDeletion(use: NetworkUse): void {
    this.#uses.push(use);
  }

  /** Returns a network of the subject, one that is shared with it, or a public one. Throws `not_found`. */
  find(subject: Subject, id: string): NetworkRecord {
    const { repository } = this.#dependencies;
    const found =
      this.#publicById.get(id) ?? repository.find(subject, id)?.value ?? repository.findShared(subject, id)?.value;
    if (found === undefined) throw notFound("network");
    return found;
  }

  /** Returns a network that another node uses, by its owner; undefined when it is gone. */
  used(owner: Subject | null, id: string): NetworkRecord | undefined {
    return owner === null ? this.#publicById.get(id) : this.#dependencies.repository.find(owner, id)?.value;
  }

  /** Forgets what is kept in memory of a network that was changed or deleted. */
  forget(id: string): void {
    this.#dependencies.pool.forget(id);
    this.#dependencies.status.forget(id);
  }

  /** Returns the client of a network's nodes, and counts as a use of it. */
  rpc(record: NetworkRecord): Rpc {
    const rpc = this.#dependencies.pool.rpc(record);
    this.#dependencies.status.touch(record);
    return rpc;
  }

  /** Opens the connection that announces new blocks, if there is one; see HintingNetworks. */
  hints(record: NetworkRecord, onHint: () => void): HeadHints | undefined {
    return this.#dependencies.feeds.open(record, onHint);
  }

  /**
   * Returns one page of the enabled networks, oldest first, without their chainspecs. Organizations, which have no
   * networks of their own, get the public ones.
   */
  list(subject: Subject, filters: NetworkFilters, page: Page): { body: NetworkJson[]; total: number } {
    const passes = (network: NetworkRecord): boolean => network.enabled && passesFilters(network, filters);
    if (filters.public ?? subject.kind === "organization") {
      const rows = this.#dependencies.publicRecords.filter(passes);
      const from = (page.page - 1) * page.rpp;
      return { body: rows.slice(from, from + page.rpp).map((network) => this.#brief(network)), total: rows.length };
    }
    const { rows, total } = this.#dependencies.repository.list(subject, passes, page);
    return { body: rows.map((network) => this.#brief(network)), total };
  }

  /** Returns a network as clients see it. Throws `not_found`. */
  get(subject: Subject, id: string): NetworkJson {
    return this.#onWire(this.find(subject, id));
  }

  /**
   * Creates a network. Its nodes that answer must be of its chain; without a chain
   * id, the first node must answer it.
   * @throws AppError `network_chain_mismatch`, `egress_refused`, `network_limit_reached`, `invalid_request`; without a
   * chain id also `network_unreachable` and `network_timeout`
   */
  async create(
    owner: Subject,
    input: CreateNetworkInput,
    signal: AbortSignal,
    { sharedWith, keep }: NewNetworkOptions = {},
  ): Promise<NetworkJson> {
    const { repository, references, clock } = this.#dependencies;
    const { rpc_api_key: key, ...config } = input.config;
    checkConfigUrls(this.#dependencies.egress, config);
    if (repository.count(owner) >= NETWORKS_MAX)
      throw new AppError("network_limit_reached", { message: `an owner has at most ${String(NETWORKS_MAX)} networks` });
    references.require(owner, input, PARENTS);
    const record = newNetwork({ owner, sharedWith }, input, { config, now: isoTimestamp(clock.nowMs()) });
    const checked = await this.#checked(record, signal, key);
    return await retryOnConflict(async () => {
      const { place, commit } = await this.#wrapped(owner, record.id, key);
      const stored = { ...checked, ...place };
      const made = this.#onWire(stored);
      await repository.insert(stored, commit, keep?.(made) ?? {});
      return made;
    });
  }

  /** Changes a network. Throws `forbidden` for public and shared networks, else as `create`. */
  async update(owner: Subject, id: string, input: UpdateNetworkInput, signal: AbortSignal): Promise<void> {
    await retryOnConflict(async () => {
      const current = this.owned(owner, id);
      this.#dependencies.references.require(owner, input, PARENTS);
      const key = (input.config as KeyChange | undefined)?.rpc_api_key;
      const { rpc_secret: before, ...rest } = changedNetwork(current.value, input);
      checkConfigUrls(this.#dependencies.egress, rest.config, current.value.config);
      const next: NetworkRecord = key === undefined && before !== undefined ? { ...rest, rpc_secret: before } : rest;
      const hasOtherNodes = key !== undefined || placeOf(next) !== placeOf(current.value);
      const checked = hasOtherNodes ? await this.#checked(next, signal, key ?? undefined) : next;
      const { place, commit } = await this.#wrapped(owner, id, key ?? undefined);
      const unused = key === undefined ? {} : this.#dependencies.credentials.deletion(owner, before ?? null);
      await this.#dependencies.repository.update(current, { ...checked, ...place }, commit, unused);
    });
    this.forget(id);
  }

  /**
   * Deletes a network. Throws `network_in_use` while accounts, contracts or the like are on it, those of the subject
   * with which it is shared included. That subject itself ends the sharing by it: its owner may be no member any more.
   */
  async delete(owner: Subject, id: string): Promise<void> {
    if (await this.#endSharing(owner, id)) return;
    await retryOnConflict(async () => {
      const current = this.owned(owner, id);
      this.#requireUnused(owner, id);
      const { shared_with: sharedWith } = current.value;
      if (sharedWith !== undefined) this.#requireUnused(sharedWith, id, ` of the ${sharedWith.kind} that shares it`);
      const unused = this.#dependencies.credentials.deletion(owner, current.value.rpc_secret ?? null);
      await this.#dependencies.repository.commit(mergeCommits(this.#dependencies.repository.deletion(current), unused));
    });
    this.forget(id);
  }

  /** Returns false when the network is not one that another shares with the subject. Throws `network_in_use`. */
  async #endSharing(subject: Subject, id: string): Promise<boolean> {
    return await retryOnConflict(async () => {
      const current = this.#dependencies.repository.findShared(subject, id);
      if (current === undefined) return false;
      this.#requireUnused(subject, id);
      const { shared_with: _subject, ...next } = current.value;
      await this.#dependencies.repository.update(current, next);
      return true;
    });
  }

  #requireUnused(user: Subject, id: string, whose = ""): void {
    for (const use of this.#uses) {
      const what = use(user, id);
      if (what !== undefined)
        throw new AppError("network_in_use", { message: `the network still has ${what}${whose}` });
    }
  }

  /** Returns a network that the subject may change. Throws `not_found`, `forbidden` for public and shared networks. */
  owned(owner: Subject, id: string): StoreRecord<NetworkRecord> {
    if (this.#publicById.has(id)) throw new AppError("forbidden", { message: "a public network cannot be changed" });
    const { repository } = this.#dependencies;
    const found = repository.find(owner, id);
    if (found !== undefined) return found;
    if (repository.findShared(owner, id) === undefined) throw notFound("network");
    throw new AppError("forbidden", { message: "only its owner may change a network" });
  }

  /** Deletes all networks of an owner. */
  async purge(owner: Subject): Promise<void> {
    await this.#dependencies.repository.purge(owner);
  }

  /**
   * Refuses nodes of another chain and forbidden addresses. A node that does not answer passes: it may answer later.
   * @throws AppError `network_chain_mismatch`, `egress_refused`
   */
  async checkUrls(network: NetworkRecord, urls: readonly string[], signal: AbortSignal, key?: string): Promise<void> {
    await Promise.all(
      urls.map(async (url) => {
        await this.#dependencies.pool
          .connect(network, [url], { key })
          .request("eth_chainId", [], { timeoutMs: CHECK_TIMEOUT_MS, signal })
          .catch(ignoreSilence);
      }),
    );
    signal.throwIfAborted();
  }

  /** Returns the record with its chain id, once the nodes that answer are shown to be of it. */
  async #checked(record: NetworkRecord, signal: AbortSignal, key: string | undefined): Promise<NetworkRecord> {
    const urls = urlsOf(record);
    for (const url of urls) this.#dependencies.egress.checkUrl(url);
    // A chain that does not exist yet has neither node nor id; the time serves as an id unlike others.
    const identified =
      record.chain_id !== ""
        ? record
        : urls.length > 0
          ? undefined
          : { ...record, chain_id: `0x${Math.floor(this.#dependencies.clock.nowMs() / 1000).toString(16)}` };
    if (identified === undefined)
      return await this.#checked({ ...record, chain_id: await this.#askedChainId(record, signal, key) }, signal, key);
    await this.checkUrls(identified, urls, signal, key);
    return identified;
  }

  async #askedChainId(network: NetworkRecord, signal: AbortSignal, key: string | undefined): Promise<string> {
    const [url = ""] = urlsOf(network);
    const answer = await this.#dependencies.pool.askUnchecked(url, "eth_chainId", { network, key, signal });
    if (typeof answer === "string" && /^0x[0-9a-f]{1,13}$/i.test(answer)) return String(Number(answer));
    throw new AppError("network_answer_invalid", { message: "the node's chain id is not a number" });
  }

  /** Wraps a key as a secret that the caller's commit writes. Throws `vault_sealed`. */
  async #wrapped(
    owner: Subject,
    id: string,
    key: string | undefined,
  ): Promise<{ readonly place: Pick<NetworkRecord, "rpc_secret">; readonly commit: StoreCommit }> {
    if (key === undefined) return { place: {}, commit: {} };
    const { place, commit } = await this.#dependencies.credentials.prepare(owner, id, { rpc_api_key: key });
    return { place: { rpc_secret: place }, commit };
  }

  #brief(network: NetworkRecord): NetworkJson {
    const json = this.#onWire(network);
    return {
      ...json,
      config: Object.fromEntries(
        Object.entries(json.config).filter(([name]) => !LARGE_MEMBERS.some((large) => large === name)),
      ),
    };
  }

  #onWire({ owner, shared_with: sharedWith, rpc_secret: _place, ...network }: NetworkRecord): NetworkJson {
    const members = {
      ...(owner === null ? { application_id: null, organization_id: null, user_id: null } : ownerMembers(owner)),
      ...(sharedWith === undefined ? {} : { [`${sharedWith.kind}_id`]: sharedWith.id }),
    };
    // The operator's URLs may have the operator's keys.
    const config =
      owner === null
        ? Object.fromEntries(Object.entries(network.config).filter(([name]) => name !== "json_rpc_urls"))
        : network.config;
    return { ...network, ...members, config, stats: this.#dependencies.status.lastSeen(network.id) };
  }
}

/** The member of a change that is not stored in the record: null removes the key. */
interface KeyChange {
  readonly rpc_api_key?: string | null;
}

/** Returns what decides which nodes of which chain are asked with which user. */
function placeOf(network: NetworkRecord): string {
  return JSON.stringify([network.chain_id, urlsOf(network), network.config.rpc_api_user]);
}

/** Throws what shows that a node may not be used; ignores that it does not answer. */
function ignoreSilence(error: unknown): void {
  if (error instanceof RpcRefusal) return;
  if (!(error instanceof AppError) || error.code === "network_chain_mismatch") throw error;
  if (error.cause instanceof AppError && error.cause.code === "egress_refused") throw error.cause;
}

function urlsOf({ config }: Pick<NetworkRecord, "config">): string[] {
  return [...(config.json_rpc_url === undefined ? [] : [config.json_rpc_url]), ...(config.json_rpc_urls ?? [])];
}

function passesFilters(network: NetworkRecord, { name, cloneable, layer1, layer2, layer3 }: NetworkFilters): boolean {
  if (name !== undefined && network.name !== name) return false;
  if (cloneable !== undefined && network.cloneable !== cloneable) return false;
  // The first layer in the filter decides.
  if (layer1 !== undefined) return (!network.layer2 && !network.layer3) === layer1;
  if (layer2 !== undefined) return network.layer2 === layer2;
  return layer3 === undefined || network.layer3 === layer3;
}
