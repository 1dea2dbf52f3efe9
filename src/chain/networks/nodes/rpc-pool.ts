/**
 * The RPC clients of networks. They are cached while their nodes stay the same, so that what is known of their health
 * outlives a request.
 */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Subject } from "../../../platform/auth/principal.js";
import type { Clock } from "../../../platform/clock.js";
import type { Egress } from "../../../platform/net/egress.js";
import { AppError } from "../../../platform/errors.js";
import type { Log } from "../../../platform/log.js";
import { chainIdOf, type NetworkRecord } from "../network-port.js";
import type { EndpointChange, EndpointState } from "../../rpc/endpoint-health.js";
import { RpcEndpoint, Unheard, type Authorization } from "../../rpc/endpoint.js";
import { FailoverRpc } from "../../rpc/failover-rpc.js";
import { basicAuthorization, type NetworkCredentials } from "../network-credentials.js";
import type { SecretPlace } from "../../sealed-credentials.js";
import type { NetworkRepository, NodeRecord } from "../network-repository.js";

interface RpcPoolDependencies {
  readonly repository: NetworkRepository;
  readonly credentials: NetworkCredentials;
  /** For addresses of users. */
  readonly egress: Egress;
  /** For addresses of the operator, of public networks; never given an address of a user. */
  readonly operatorEgress: Egress;
  readonly clock: Clock;
  readonly log: Log;
}

interface ConnectOptions {
  /** Key of the nodes, where it is not stored yet. */
  readonly key?: string | undefined;
  readonly onChange?: (change: EndpointChange) => void;
}

/** A node of a network and its URL. */
export interface NamedNode {
  readonly id: string;
  readonly url: string;
  /** Absent for a URL in the network's configuration. */
  readonly record?: NodeRecord;
}

interface CachedClient {
  /** Changes with the nodes, their chain and their credentials. */
  readonly fingerprint: string;
  readonly rpc: FailoverRpc;
}

/** Cached clients. Each takes a few hundred bytes and no connection. */
const CLIENTS_MAX = 2_000;
const CHECK_TIMEOUT_MS = 4_000;

export class RpcPool {
  readonly #dependencies: RpcPoolDependencies;
  readonly #clients = new LRUCache<string, CachedClient>({ max: CLIENTS_MAX });

  constructor(dependencies: RpcPoolDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns the nodes in the order in which they are asked: those of the configuration, then those added later. */
  nodesOf(network: NetworkRecord): NamedNode[] {
    const { json_rpc_url: first, json_rpc_urls: further = [] } = network.config;
    const named = [...new Set([...(first === undefined ? [] : [first]), ...further])].map((url) => ({
      id: idOfUrl(network.id, url),
      url,
    }));
    const added = this.#dependencies.repository
      .nodes(network)
      .filter(({ url }) => !named.some((node) => node.url === url));
    return [...named, ...added.map((record) => ({ id: record.id, url: record.url, record }))];
  }

  /** Returns the client of a network. Throws `network_disabled`, `network_has_no_node`. */
  rpc(network: NetworkRecord): FailoverRpc {
    if (!network.enabled) throw new AppError("network_disabled", { message: "the network is disabled" });
    const urls = this.nodesOf(network).map(({ url }) => url);
    if (urls.length === 0)
      throw new AppError("network_has_no_node", {
        message:
          network.owner === null
            ? "the operator has configured no node of this public network"
            : "the network has no node; set config.json_rpc_url",
      });
    const fingerprint = JSON.stringify([
      network.chain_id,
      urls,
      network.config.rpc_api_user,
      network.rpc_secret?.secret_id,
    ]);
    const cached = this.#clients.get(network.id);
    if (cached?.fingerprint === fingerprint) return cached.rpc;
    const rpc = this.connect(network, urls, {
      onChange: (change) => {
        this.#logChange(network.id, change);
      },
    });
    this.#clients.set(network.id, { fingerprint, rpc });
    return rpc;
  }

  /** Returns a client that is not cached, for trying out URLs. */
  connect(network: NetworkRecord, urls: readonly string[], { key, onChange }: ConnectOptions = {}): FailoverRpc {
    const { egress, operatorEgress, clock } = this.#dependencies;
    const authorization = this.#authorizationOf(network, key);
    // The key is not for nodes that were added later, which may be run by others.
    const own = new Set([network.config.json_rpc_url, ...(network.config.json_rpc_urls ?? [])]);
    const authorizations = new Map(
      authorization === undefined ? [] : urls.filter((url) => own.has(url)).map((url) => [url, authorization]),
    );
    return new FailoverRpc(
      { urls, chainId: chainIdOf(network), authorizations, ...(onChange === undefined ? {} : { onChange }) },
      { egress: network.owner === null ? operatorEgress : egress, clock },
    );
  }

  /** Sends one request to a node whose chain is not known yet. */
  async askUnchecked(
    url: string,
    method: string,
    {
      network,
      key,
      signal,
    }: { readonly network: NetworkRecord; readonly key: string | undefined; readonly signal: AbortSignal },
  ): Promise<unknown> {
    const { egress, clock } = this.#dependencies;
    const endpoint = new RpcEndpoint(
      { url, chainId: undefined, authorization: this.#authorizationOf(network, key) },
      { egress, clock },
    );
    try {
      return await endpoint.request(method, [], { timeoutMs: CHECK_TIMEOUT_MS, signal });
    } catch (error) {
      throw error instanceof Unheard ? error.failure : error;
    }
  }

  /** Logs when a node begins to fail and when it answers again. Its URL may have a key and is not logged. */
  #logChange(networkId: string, { state, code }: EndpointChange): void {
    const { log } = this.#dependencies;
    if (state === "up") log.info("a network's node answers again", { path: networkId });
    else if (state === "mismatch")
      log.warn("a network's node is of another chain; nothing is sent to it", {
        path: networkId,
        state,
        ...(code === undefined ? {} : { code }),
      });
    else
      log.warn("a network's node fails", {
        path: networkId,
        state,
        ...(code === undefined ? {} : { code }),
      });
  }

  #authorizationOf(
    { owner, config: { rpc_api_user: user = "" }, rpc_secret: place }: NetworkRecord,
    key: string | undefined,
  ): Authorization | undefined {
    if (key !== undefined) return () => Promise.resolve(basicAuthorization(user, key));
    if (owner === null || (place === undefined && user === "")) return undefined;
    return async () => basicAuthorization(user, place === undefined ? "" : await this.#read(owner, place));
  }

  async #read(owner: Subject, place: SecretPlace): Promise<string> {
    try {
      return (await this.#dependencies.credentials.read(owner, place)).rpc_api_key;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      throw new AppError("network_unreachable", {
        message: `the key of the network's node cannot be read: ${error.message}`,
        cause: error,
      });
    }
  }

  /** Counts the nodes of the networks that were asked lately, by how they fare. */
  figures(): Readonly<Record<EndpointState, number>> {
    const counts = { untried: 0, up: 0, down: 0, mismatch: 0 };
    for (const { rpc } of this.#clients.values()) for (const { state } of rpc.health()) counts[state] += 1;
    return counts;
  }

  /** Drops the client of a network that was changed or deleted. */
  forget(id: string): void {
    this.#clients.delete(id);
  }
}

/** Returns an id that is always the same for a URL of a network. */
function idOfUrl(networkId: string, url: string): string {
  const hex = createHash("sha256").update(`${networkId} ${url}`).digest("hex");
  // Version 8 (RFC 9562) marks an id that is computed in an application's own way.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
