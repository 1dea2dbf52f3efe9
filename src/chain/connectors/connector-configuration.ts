/** The checks of a connector's configuration, before anything of it is stored. */
import { AppError, invalidMember } from "../../platform/errors.js";
import type { Egress } from "../../platform/net/egress.js";
import { isUnsettled } from "./connector-lifecycle.js";
import type { StoredConnector } from "./connector-repository.js";
import type { ConnectorSecrets } from "./connector-credentials.js";
import type { ConnectorConfig } from "./connector-schemas.js";
import {
  CONTAINER_MEMBERS,
  containerSpec,
  needsContainer,
  providerOf,
} from "./provisioning/container-specification.js";
import { addressesOf, guardedUrl } from "./peers/peer-addresses.js";
import type { ContainerProvider } from "./providers/provider.js";

interface ConfigurationDependencies {
  /** The guard, for looking at addresses before they are stored. */
  readonly egress: Pick<Egress, "checkUrl">;
  readonly providers: ReadonlyMap<string, ContainerProvider>;
}

/** Members to change; null removes one. */
export type ConfigChanges = { readonly [M in keyof ConnectorConfig]?: ConnectorConfig[M] | null };

/**
 * Refuses addresses that the guard would never connect to, and containers that the provider cannot run.
 * @throws AppError `connector_config_invalid`, `egress_refused`
 */
export function requireValidConfig(
  connector: StoredConnector,
  secrets: ConnectorSecrets,
  { egress, providers }: ConfigurationDependencies,
): void {
  const { type, config } = connector;
  const { api, gateway } = addressesOf(type, config);
  if (api !== undefined) egress.checkUrl(guardedUrl(api));
  if (gateway !== undefined) egress.checkUrl(gateway);
  if (needsContainer(connector)) {
    const spec = containerSpec(connector, secrets);
    providerOf(connector, providers)?.check(spec);
  } else if (api === undefined && gateway === undefined && !connector.is_virtual) {
    throw invalidMember(
      "config",
      "config: give an address (api_url, rpc_url, or host with port), or a provider_id that is to run a container",
      "connector_config_invalid",
    );
  }
}

/**
 * Refuses changes of a configuration while a job works with it, and changes of what a container was made from.
 * @throws AppError `connector_not_ready`, `connector_config_invalid`
 */
export function requireChangeable(before: StoredConnector, next: StoredConnector): void {
  const { status, runtime } = before;
  if (isUnsettled(status))
    throw new AppError("connector_not_ready", {
      message: `the connector is ${status}; its configuration can be changed after that`,
    });
  if (runtime === null) return;
  const changed = CONTAINER_MEMBERS.find(
    (member) => JSON.stringify(before.config[member]) !== JSON.stringify(next.config[member]),
  );
  if (changed !== undefined)
    throw invalidMember(
      `config.${changed}`,
      `config.${changed}: the container was made from it; delete the connector and create another`,
      "connector_config_invalid",
    );
  if (!needsContainer(next))
    throw invalidMember(
      "config",
      `config: the connector runs in a container of ${runtime.provider_id}; delete it and create another for an address`,
      "connector_config_invalid",
    );
}

/** Returns a configuration with its changes; members that are null are removed. */
export function changedConfig(config: ConnectorConfig, changes: ConfigChanges): ConnectorConfig {
  return Object.fromEntries(Object.entries<unknown>({ ...config, ...changes }).filter(([, value]) => value !== null));
}
