/**
 * The RPC clients of networks, kept while their nodes stay the same, so that what is known of a node's health outlives
 * a request.
 */
import { createHash } from "node:crypto";
import type { Subject } from "../../../platform/auth/principal.js";
import type { Clock } from "../../../platform/clock.js";
import type { Egress } from "../../../platform/net/egress.js";
import { AppError } from "../../../platform/errors.js";
import type { Log } from "../../../platform/log.js";
import { chainIdOf, type NetworkRecord } from "../network-port.js";
import type { EndpointChange } from "../../rpc/endpoint-health.js";
import { RpcEndpoint, type Authorization } from "../../rpc/endpoint.js";
import { FailoverRpc } from "../../rpc/failover-rpc.js";
import { basicAuthorization, type NetworkCredentials } from "../network-credentials.js";
import type { SecretPlace } from "../../sealed-credentials.js";
import type { NetworkRepository, NodeRecord } from "../network-repository.js";

export interface RpcPoolDependencies {
  readonly repository: NetworkRepository;
  readonly credentials: NetworkCredentials;
  /** For what users name. */
  readonly egress: Egress;
  /** For what the operator named, for public networks; never given an address of a user. */
  readonly operatorEgress: Egress;
  readonly clock: Clock;
  readonly log: Log;
}

/** What else is known where a client is made. */
interface ConnectOptions {
  /** The nodes' key where none is stored yet. */
  readonly key?: string | undefined;
  readonly onChange?: (change: EndpointChange) => void;
}

/** A URL of a network with the node that stands for it. */
export interface NamedNode {
  readonly id: string;
  readonly url: string;
  /** Absent: the URL stands in the network's configuration. */
  readonly record?: NodeRecord;
}

interface Kept {
  readonly fingerprint: string;
  readonly rpc: FailoverRpc;
}

/** Clients beyond this are dropped, the longest unused first; they hold a few hundred bytes and no connection. */
const KEPT_MAX = 2_000;

export class RpcPool {
  readonly #with: RpcPoolDependencies;
  readonly #kept = new Map<string, Kept>();

  constructor(dependencies: RpcPoolDependencies) {
    this.#with = dependencies;
  }

  /** The nodes in the order in which they are asked: the configuration's, then those that were added. */
  nodesOf(network: NetworkRecord): NamedNode[] {
    const { json_rpc_url: first, json_rpc_urls: further = [] } = network.config;
    const named = [...new Set([...(first === undefined ? [] : [first]), ...further])].map((url) => ({
      id: idOfUrl(network.id, url),
      url,
    }));
    const added = this.#with.repository.nodes(network).filter(({ url }) => !named.some((node) => node.url === url));
    return [...named, ...added.map((record) => ({ id: record.id, url: record.url, record }))];
  }

  /** Throws `network_disabled`, `network_has_no_node`. */
  rpc(network: NetworkRecord): FailoverRpc {
    if (!network.enabled) throw new AppError("network_disabled", { message: "the network is disabled" });
    const urls = this.nodesOf(network).map(({ url }) => url);
    if (urls.length === 0)
      throw new AppError("network_has_no_node", {
        message:
          network.owner === null
            ? "the operator has named no node of this public network"
            : "the network's config names no json_rpc_url",
      });
    const fingerprint = JSON.stringify([
      network.chain_id,
      urls,
      network.config.rpc_api_user,
      network.rpc_secret?.secret_id,
    ]);
    const kept = this.#kept.get(network.id);
    this.#kept.delete(network.id);
    const current =
      kept?.fingerprint === fingerprint
        ? kept
        : {
            fingerprint,
            rpc: this.connect(network, urls, {
              onChange: (change) => {
                this.#say(network.id, change);
              },
            }),
          };
    this.#kept.set(network.id, current);
    if (this.#kept.size > KEPT_MAX) this.#kept.delete(this.#kept.keys().next().value ?? "");
    return current.rpc;
  }

  /** A client that is not kept, for trying out URLs. */
  connect(network: NetworkRecord, urls: readonly string[], { key, onChange }: ConnectOptions = {}): FailoverRpc {
    const { egress, operatorEgress, clock } = this.#with;
    const authorization = this.#authorizationOf(network, key);
    // Nodes that were added by hand are other people's.
    const own = new Set([network.config.json_rpc_url, ...(network.config.json_rpc_urls ?? [])]);
    const authorizations = new Map(
      authorization === undefined ? [] : urls.filter((url) => own.has(url)).map((url) => [url, authorization]),
    );
    return new FailoverRpc(
      { urls, chainId: chainIdOf(network), authorizations, ...(onChange === undefined ? {} : { onChange }) },
      { egress: network.owner === null ? operatorEgress : egress, clock },
    );
  }

  /** One question to a node whose chain is not known yet. */
  async askUnchecked(
    url: string,
    method: string,
    {
      network,
      key,
      signal,
    }: { readonly network: NetworkRecord; readonly key: string | undefined; readonly signal: AbortSignal },
  ): Promise<unknown> {
    const { egress, clock } = this.#with;
    return await new RpcEndpoint(
      { url, chainId: undefined, authorization: this.#authorizationOf(network, key) },
      { egress, clock },
    ).request(method, [], { timeoutMs: 4_000, signal });
  }

  /** One line when a node begins to fail and one when it is well again; its URL may carry a key, and stays out. */
  #say(networkId: string, { state, code }: EndpointChange): void {
    if (state === "up") this.#with.log.info("a network's node is well again", { path: networkId });
    else
      this.#with.log.warn("a network's node fails", {
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
      return (await this.#with.credentials.read(owner, place)).rpc_api_key;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      throw new AppError("network_unreachable", {
        message: `the key of the network's node cannot be had: ${error.message}`,
        cause: error,
      });
    }
  }

  forget(id: string): void {
    this.#kept.delete(id);
  }
}

/** The same id for the same URL of the same network, always. */
function idOfUrl(networkId: string, url: string): string {
  const hex = createHash("sha256").update(`${networkId} ${url}`).digest("hex");
  // Version 8 (RFC 9562): made in a way of our own.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
