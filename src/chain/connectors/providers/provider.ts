/**
 * The port to a provider that runs containers for connectors; Docker's Engine API implements it. Failures are
 * `connector_config_invalid` for what can never work, `connector_provider_failed` for a refusal, and
 * `connector_unreachable` and `connector_timeout` for what may be temporary.
 */
import type { ContainerLogs, ContainerNode, LoadBalancer, Security } from "../connector-schemas.js";

/** What to run. All members were validated; only `env` and `command` have credentials. */
export interface ContainerSpec {
  readonly connectorId: string;
  readonly image: string;
  readonly env: Readonly<Record<string, string>>;
  readonly command: readonly string[] | undefined;
  /** TCP port of the peer inside the container. */
  readonly apiPort: number;
  readonly gatewayPort: number | undefined;
  readonly security: Security | undefined;
  /** Scheme of the endpoints' URLs. */
  readonly scheme: string;
}

/** A type and not an interface: it goes into the store as part of a record. */
export type PublishedEndpoint = { readonly url: string; readonly host: string; readonly port: number };
export type ContainerRuntime = {
  readonly provider_id: string;
  readonly container_id: string;
  readonly api: PublishedEndpoint | null;
  readonly gateway: PublishedEndpoint | null;
};

/** What the answered nodes say about their connector. */
export interface NodeContext {
  readonly applicationId: string;
  readonly networkId: string;
  readonly role: string;
}

export interface ContainerProvider {
  readonly id: string;
  /** Throws `connector_config_invalid` for what this provider cannot run; makes no request. */
  check(spec: ContainerSpec): void;
  /** Makes and starts the container, or continues with the one that an earlier try left. */
  provision(spec: ContainerSpec, signal: AbortSignal): Promise<ContainerRuntime>;
  /** Returns where the container is published now; ports change with a restart. Undefined if it is gone or stopped. */
  locate(spec: ContainerSpec, signal: AbortSignal): Promise<ContainerRuntime | undefined>;
  /** Returns the containers of a connector. */
  nodes(connectorId: string, context: NodeContext, signal: AbortSignal): Promise<ContainerNode[]>;
  /** Returns the endpoints that the containers publish. */
  endpoints(connectorId: string, signal: AbortSignal): Promise<LoadBalancer[]>;
  /** Returns the newest lines, oldest first. */
  logs(connectorId: string, lines: number, signal: AbortSignal): Promise<ContainerLogs["logs"]>;
  /** Stops and removes everything that was made for the connector. May be repeated. */
  remove(connectorId: string, signal: AbortSignal): Promise<void>;
}
