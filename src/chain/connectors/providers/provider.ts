/**
 * What connectors ask of whoever runs containers for them. One driver: Docker's Engine API. Failures:
 * `connector_config_invalid` for what can never work, `connector_provider_failed` for a refusal,
 * `connector_unreachable` and `connector_timeout` for what may pass.
 */
import type { ContainerLogs, ContainerNode, LoadBalancer, Security } from "../connector-schemas.js";

/** What to run. Everything in it was validated; credentials only in `env` and `command`. */
export interface ContainerSpec {
  readonly connectorId: string;
  readonly image: string;
  readonly env: Readonly<Record<string, string>>;
  readonly command: readonly string[] | undefined;
  /** TCP port inside the container at which the peer is asked. */
  readonly apiPort: number;
  readonly gatewayPort: number | undefined;
  readonly security: Security | undefined;
  /** Scheme of the URLs that the endpoints get. */
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

/** Whom the nodes are shown to belong to. */
export interface NodeContext {
  readonly applicationId: string;
  readonly networkId: string;
  readonly role: string;
}

export interface ContainerProvider {
  readonly id: string;
  /** Throws `connector_config_invalid` for what this provider cannot do; asks nobody. */
  check(spec: ContainerSpec): void;
  /** Makes and starts the container, or takes up the one that an earlier try left. */
  provision(spec: ContainerSpec, signal: AbortSignal): Promise<ContainerRuntime>;
  /**
   * Where the container is published now; ports may change when it is restarted. Undefined when it is gone or stopped.
   */
  locate(spec: ContainerSpec, signal: AbortSignal): Promise<ContainerRuntime | undefined>;
  nodes(connectorId: string, context: NodeContext, signal: AbortSignal): Promise<ContainerNode[]>;
  endpoints(connectorId: string, signal: AbortSignal): Promise<LoadBalancer[]>;
  /** The newest lines, oldest first. */
  logs(connectorId: string, lines: number, signal: AbortSignal): Promise<ContainerLogs["logs"]>;
  /** Stops and removes everything that was made for the connector; nothing left to remove is fine. */
  remove(connectorId: string, signal: AbortSignal): Promise<void>;
}
