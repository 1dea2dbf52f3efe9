/**
 * Which container a provider runs for a connector: images and ports by type, and how credentials get into the
 * container.
 */
import { invalidMember } from "../../../platform/errors.js";
import type { ConnectorSecrets } from "../connector-credentials.js";
import type { ConnectorConfig, Credentials } from "../connector-schemas.js";
import { CONNECTOR_KINDS, type ConnectorType } from "../peers/probes.js";
import type { ContainerProvider, ContainerSpec } from "../providers/provider.js";
import type { StoredConnector } from "../connector-repository.js";

interface Preset {
  readonly image: string;
  readonly gatewayPort?: number;
  readonly env?: (credentials: Credentials, config: ConnectorConfig) => Readonly<Record<string, string>>;
  readonly command?: (credentials: Credentials) => readonly string[] | undefined;
}

/** Images of the projects themselves. Types without one need `config.container`. */
const PRESETS: { readonly [T in ConnectorType]?: Preset } = {
  ipfs: { image: "ipfs/kubo:release", gatewayPort: 8080 },
  nats: {
    image: "nats:2",
    command: ({ username, password, token }) =>
      token !== undefined
        ? ["--auth", token]
        : username !== undefined && password !== undefined
          ? ["--user", username, "--pass", password]
          : undefined,
  },
  redis: {
    image: "redis:7",
    command: ({ password }) => (password === undefined ? undefined : ["redis-server", "--requirepass", password]),
  },
  sql: {
    image: "postgres:17",
    env: ({ username, password }, { database }) => ({
      ...(username === undefined ? {} : { POSTGRES_USER: username }),
      ...(password === undefined ? {} : { POSTGRES_PASSWORD: password }),
      ...(database === undefined ? {} : { POSTGRES_DB: database }),
    }),
  },
  mongodb: { image: "mongo:8" },
};

/** Members that a container is made from; they cannot change during its life. */
export const CONTAINER_MEMBERS: readonly (keyof ConnectorConfig)[] = [
  "provider_id",
  "container",
  "env",
  "security",
  "rpc_port",
  "api_port",
  "gateway_port",
  "database",
  "target_id",
  "region",
];

/** Returns true when the configuration names a provider and no address of a peer that runs already. */
export function needsContainer({
  type,
  config,
  is_virtual,
}: Pick<StoredConnector, "type" | "config" | "is_virtual">): boolean {
  if (is_virtual || config.provider_id === undefined) return false;
  const hasAddress = config.api_url !== undefined || config.rpc_url !== undefined || config.host !== undefined;
  return !hasAddress && !(type === "ipfs" && config.gateway_url !== undefined);
}

/** Returns the provider that runs the connector's containers; undefined if it needs none or there is no such one. */
export function providerOf(
  connector: Pick<StoredConnector, "type" | "config" | "is_virtual">,
  providers: ReadonlyMap<string, ContainerProvider>,
): ContainerProvider | undefined {
  const { provider_id: id } = connector.config;
  return id === undefined || !needsContainer(connector) ? undefined : providers.get(id.toLowerCase());
}

/** Returns what to run. Throws `connector_config_invalid` when the type has no image of its own and none is named. */
export function containerSpec(
  connector: Pick<StoredConnector, "id" | "type" | "config">,
  { credentials, env }: ConnectorSecrets,
): ContainerSpec {
  const { type, config } = connector;
  const preset = PRESETS[type];
  const image = config.container ?? preset?.image;
  if (image === undefined)
    throw invalidMember(
      "config.container",
      `config.container: name the image to run for a connector of type ${type}`,
      "connector_config_invalid",
    );
  const gatewayPort = config.gateway_port ?? preset?.gatewayPort;
  return {
    connectorId: connector.id,
    image,
    scheme: CONNECTOR_KINDS[type].schemes.plain[0],
    env: { ...preset?.env?.(credentials, config), ...env },
    command: preset?.command?.(credentials),
    apiPort: config.rpc_port ?? config.api_port ?? CONNECTOR_KINDS[type].port,
    gatewayPort,
    security: config.security,
  };
}
