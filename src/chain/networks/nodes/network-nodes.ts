/**
 * The nodes of a network: those that its configuration names and those that were added; each with what was seen of it.
 */
import type { Subject } from "../../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../../platform/clock.js";
import type { Egress } from "../../../platform/net/egress.js";
import { AppError } from "../../../platform/errors.js";
import { newId } from "../../../platform/ids.js";
import { retryOnConflict, type Page } from "../../../platform/store/tables.js";
import { ownerMembers } from "../../accounts/accounts.js";
import type { NetworkRecord } from "../network-port.js";
import type { EndpointState } from "../../rpc/endpoint-health.js";
import type { RpcEndpoint } from "../../rpc/endpoint.js";
import type { NetworkRepository, NodeRecord } from "../network-repository.js";
import type {
  CreateNodeInput,
  NetworkLoadBalancerJson,
  NetworkNodeJson,
  NodeLogsInput,
  NodeLogsJson,
} from "../network-schemas.js";
import type { NetworkService } from "../network-service.js";
import type { NamedNode, RpcPool } from "./rpc-pool.js";

/** With the configuration's, more than failover has a use for. */
const NODES_MAX = 16;
const LOGS_PAGE = 500;
const STATUS_OF: Readonly<Record<EndpointState, NetworkNodeJson["status"]>> = {
  untried: "genesis",
  up: "running",
  down: "unreachable",
  mismatch: "failed",
};

export class NetworkNodes {
  readonly #with: {
    readonly networks: NetworkService;
    readonly repository: NetworkRepository;
    readonly pool: RpcPool;
    readonly egress: Egress;
    readonly clock: Clock;
  };

  constructor(dependencies: {
    readonly networks: NetworkService;
    readonly repository: NetworkRepository;
    readonly pool: RpcPool;
    readonly egress: Egress;
    readonly clock: Clock;
  }) {
    this.#with = dependencies;
  }

  /** In the order in which they are asked. */
  list(subject: Subject, networkId: string, { page, rpp }: Page): { body: NetworkNodeJson[]; total: number } {
    const network = this.#with.networks.find(subject, networkId);
    const all = this.#with.pool.nodesOf(network);
    return {
      body: all.slice((page - 1) * rpp, page * rpp).map((node) => this.#onWire(network, node)),
      total: all.length,
    };
  }

  get(subject: Subject, networkId: string, nodeId: string): NetworkNodeJson {
    const network = this.#with.networks.find(subject, networkId);
    return this.#onWire(network, this.#find(network, nodeId));
  }

  /**
   * Adds a node to turn to. Throws `network_chain_mismatch` when it answers as one of another chain, `egress_refused`
   * for a place that may not be named.
   */
  async create(
    owner: Subject,
    networkId: string,
    input: CreateNodeInput,
    signal: AbortSignal,
  ): Promise<NetworkNodeJson> {
    const { networks, repository, pool, egress, clock } = this.#with;
    const network = networks.owned(owner, networkId);
    const url = urlOf(input);
    egress.checkUrl(url);
    const named = pool.nodesOf(network.value);
    if (named.length >= NODES_MAX)
      throw new AppError("network_limit_reached", { message: `a network has at most ${String(NODES_MAX)} nodes` });
    if (named.some((node) => node.url === url))
      throw new AppError("conflict", { message: "the network has this node already" });
    await networks.checkUrls(network.value, [url], signal);
    const { json_rpc_url: _url, ...config } = input.config ?? {};
    const record: NodeRecord = {
      id: newId(),
      created_at: isoTimestamp(clock.nowMs()),
      owner,
      network_id: networkId,
      role: input.role ?? "peer",
      description: input.description ?? null,
      url,
      config: Object.fromEntries(
        Object.entries(config).filter((entry): entry is [string, string | number | boolean] =>
          ["string", "number", "boolean"].includes(typeof entry[1]),
        ),
      ),
    };
    await repository.insertNode(network, record);
    return this.#onWire(network.value, { id: record.id, url, record });
  }

  /** Throws `network_node_fixed` for a node that the network's configuration names. */
  async delete(owner: Subject, networkId: string, nodeId: string): Promise<void> {
    const { networks, repository } = this.#with;
    await retryOnConflict(async () => {
      const { value: network } = networks.owned(owner, networkId);
      const record = repository.findNode(network, nodeId);
      if (record === undefined) {
        this.#find(network, nodeId);
        throw new AppError("network_node_fixed", {
          message: "the network's config names this node: take it out there",
        });
      }
      await repository.deleteNode(record);
    });
  }

  /**
   * A page of what was seen, oldest first, or newest first with `start_from_head` false as clients know it. Lost with
   * the process.
   */
  logs(
    subject: Subject,
    networkId: string,
    nodeId: string,
    { page = 1, rpp = LOGS_PAGE, start_from_head = false }: NodeLogsInput,
  ): NodeLogsJson {
    const network = this.#with.networks.find(subject, networkId);
    const notes = [...(this.#endpoint(network, this.#find(network, nodeId).url)?.notes() ?? [])];
    if (!start_from_head) notes.reverse();
    const logs = notes
      .slice((page - 1) * rpp, page * rpp)
      .map(({ timestamp, message }) => ({ timestamp, ingest_timestamp: timestamp, message }));
    return { logs, prev_token: null, next_token: null };
  }

  loadBalancers(
    subject: Subject,
    networkId: string,
    { page }: Page,
  ): { body: NetworkLoadBalancerJson[]; total: number } {
    const network = this.#with.networks.find(subject, networkId);
    const nodes = this.#with.pool.nodesOf(network);
    if (nodes.length === 0) return { body: [], total: 0 };
    const isUp = nodes.some(({ url }) => this.#endpoint(network, url)?.health().state === "up");
    const one: NetworkLoadBalancerJson = {
      id: network.id,
      network_id: network.id,
      name: "json-rpc",
      type: "rpc",
      status: isUp ? "active" : "inactive",
      node_ids: nodes.map(({ id }) => id),
    };
    return { body: page === 1 ? [one] : [], total: 1 };
  }

  #find(network: NetworkRecord, nodeId: string): NamedNode {
    const found = this.#with.pool.nodesOf(network).find(({ id }) => id === nodeId);
    if (found === undefined) throw new AppError("not_found", { message: "network node not found" });
    return found;
  }

  #endpoint(network: NetworkRecord, url: string): RpcEndpoint | undefined {
    return network.enabled
      ? this.#with.pool.rpc(network).endpoints.find((endpoint) => endpoint.url === url)
      : undefined;
  }

  #onWire(network: NetworkRecord, { id, url, record }: NamedNode): NetworkNodeJson {
    const health = this.#endpoint(network, url)?.health();
    const members =
      network.owner === null
        ? { application_id: null, organization_id: null, user_id: null }
        : ownerMembers(network.owner);
    return {
      id,
      created_at: record?.created_at ?? network.created_at,
      network_id: network.id,
      ...members,
      role: record?.role ?? "peer",
      host: new URL(url).host,
      description: record?.description ?? null,
      status: STATUS_OF[health?.state ?? "untried"],
      latency_ms: health?.latencyMs ?? null,
      // The operator's URLs may carry the operator's keys.
      config: network.owner === null ? {} : { ...record?.config, json_rpc_url: url },
    };
  }
}

function urlOf({ host, config }: CreateNodeInput): string {
  const url = config?.json_rpc_url ?? (host === undefined ? undefined : `https://${host}`);
  const message = "a node is named by `config.json_rpc_url` or `host`";
  if (url === undefined)
    throw new AppError("invalid_request", {
      message,
      details: [{ message, code: "invalid_request", path: "config.json_rpc_url" }],
    });
  return url;
}
