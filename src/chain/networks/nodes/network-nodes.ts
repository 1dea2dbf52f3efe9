/** The nodes of a network: those in its configuration and those added later, each with its state and its log. */
import type { Subject } from "../../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../../platform/clock.js";
import type { Egress } from "../../../platform/net/egress.js";
import { AppError, invalidMember, notFound } from "../../../platform/errors.js";
import { newId } from "../../../platform/ids.js";
import type { StoreCommit } from "../../../platform/store/store.js";
import { retryOnConflict, type Page } from "../../../platform/store/tables.js";
import { ownerMembers } from "../../accounts/accounts.js";
import type { NetworkRecord } from "../network-port.js";
import type { EndpointHealth, EndpointState } from "../../rpc/endpoint-health.js";
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

/** Nodes of one network, those of the configuration included; failover has no use for more. */
const NODES_MAX = 16;
const LOGS_PAGE = 500;
const STATUS_OF: Readonly<Record<EndpointState, NetworkNodeJson["status"]>> = {
  untried: "genesis",
  up: "running",
  down: "unreachable",
  mismatch: "failed",
};

/** Returns what is stored in one commit with a node. */
type NodeKeep = (made: NetworkNodeJson) => StoreCommit;

interface NetworkNodesDependencies {
  readonly networks: NetworkService;
  readonly repository: NetworkRepository;
  readonly pool: RpcPool;
  readonly egress: Egress;
  readonly clock: Clock;
}

export class NetworkNodes {
  readonly #dependencies: NetworkNodesDependencies;

  constructor(dependencies: NetworkNodesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns one page of the nodes, in the order in which they are asked. */
  list(subject: Subject, networkId: string, { page, rpp }: Page): { body: NetworkNodeJson[]; total: number } {
    const network = this.#dependencies.networks.find(subject, networkId);
    const all = this.#dependencies.pool.nodesOf(network);
    return {
      body: all.slice((page - 1) * rpp, page * rpp).map((node) => this.#onWire(network, node)),
      total: all.length,
    };
  }

  /** Returns a node. Throws `not_found`. */
  get(subject: Subject, networkId: string, nodeId: string): NetworkNodeJson {
    const network = this.#dependencies.networks.find(subject, networkId);
    return this.#onWire(network, this.#find(network, nodeId));
  }

  /**
   * Adds a node, to be asked after the others, in one commit with what `keep` returns of it.
   * @throws AppError `network_chain_mismatch` when it answers as one of another chain, `egress_refused` for a forbidden
   * address, `conflict` when the network has it already, `network_limit_reached`
   */
  async create(
    owner: Subject,
    networkId: string,
    input: CreateNodeInput,
    { signal, keep }: { readonly signal: AbortSignal; readonly keep?: NodeKeep | undefined },
  ): Promise<NetworkNodeJson> {
    const { networks, repository, pool, egress, clock } = this.#dependencies;
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
    // The requests of the network have not tried it yet.
    const made = nodeOnWire(network.value, { id: record.id, url, record }, undefined);
    await repository.insertNode(network, record, keep?.(made) ?? {});
    return made;
  }

  /** Removes a node. Throws `network_node_fixed` for one in the network's configuration. */
  async delete(owner: Subject, networkId: string, nodeId: string): Promise<void> {
    const { networks, repository } = this.#dependencies;
    await retryOnConflict(async () => {
      const { value: network } = networks.owned(owner, networkId);
      const record = repository.findNode(network, nodeId);
      if (record === undefined) {
        this.#find(network, nodeId);
        throw new AppError("network_node_fixed", {
          message: "this node is in the network's config; remove it there",
        });
      }
      await repository.deleteNode(record);
    });
  }

  /**
   * Returns one page of the changes of a node's state since the server started: newest first, or oldest first with
   * `start_from_head`. They are not stored.
   */
  logs(
    subject: Subject,
    networkId: string,
    nodeId: string,
    { page = 1, rpp = LOGS_PAGE, start_from_head = false }: NodeLogsInput,
  ): NodeLogsJson {
    const network = this.#dependencies.networks.find(subject, networkId);
    const notes = [...(this.#endpoint(network, this.#find(network, nodeId).url)?.notes() ?? [])];
    if (!start_from_head) notes.reverse();
    const logs = notes
      .slice((page - 1) * rpp, page * rpp)
      .map(({ timestamp, message }) => ({ timestamp, ingest_timestamp: timestamp, message }));
    return { logs, prev_token: null, next_token: null };
  }

  /** Returns the server itself as the one load balancer of a network with nodes. */
  loadBalancers(
    subject: Subject,
    networkId: string,
    { page }: Page,
  ): { body: NetworkLoadBalancerJson[]; total: number } {
    const network = this.#dependencies.networks.find(subject, networkId);
    const nodes = this.#dependencies.pool.nodesOf(network);
    if (nodes.length === 0) return { body: [], total: 0 };
    const isUp = nodes.some(({ url }) => this.#endpoint(network, url)?.health().state === "up");
    const balancer: NetworkLoadBalancerJson = {
      id: network.id,
      network_id: network.id,
      name: "json-rpc",
      type: "rpc",
      status: isUp ? "active" : "inactive",
      node_ids: nodes.map(({ id }) => id),
    };
    return { body: page === 1 ? [balancer] : [], total: 1 };
  }

  #find(network: NetworkRecord, nodeId: string): NamedNode {
    const found = this.#dependencies.pool.nodesOf(network).find(({ id }) => id === nodeId);
    if (found === undefined) throw notFound("network node");
    return found;
  }

  #endpoint(network: NetworkRecord, url: string): RpcEndpoint | undefined {
    return network.enabled
      ? this.#dependencies.pool.rpc(network).endpoints.find((endpoint) => endpoint.url === url)
      : undefined;
  }

  #onWire(network: NetworkRecord, node: NamedNode): NetworkNodeJson {
    return nodeOnWire(network, node, this.#endpoint(network, node.url)?.health());
  }
}

/** Returns a node as clients see it. */
function nodeOnWire(
  network: NetworkRecord,
  { id, url, record }: NamedNode,
  health: EndpointHealth | undefined,
): NetworkNodeJson {
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
    // The operator's URLs may have the operator's keys.
    config: network.owner === null ? {} : { ...record?.config, json_rpc_url: url },
  };
}

function urlOf({ host, config }: CreateNodeInput): string {
  const url = config?.json_rpc_url ?? (host === undefined ? undefined : `https://${host}`);
  if (url === undefined) throw invalidMember("config.json_rpc_url", "give the node as `config.json_rpc_url` or `host`");
  return url;
}
