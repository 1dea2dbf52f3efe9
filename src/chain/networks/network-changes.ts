/** The records that creations and changes of networks ask for. */
import type { Subject } from "../../platform/auth/principal.js";
import { newId } from "../../platform/ids.js";
import type { NetworkRecord } from "./network-port.js";
import type { CreateNetworkInput, NetworkConfigJson, UpdateNetworkInput } from "./network-schemas.js";

/** Flags that follow from the platform. Existing clients read them from the configuration. */
const FLAG_OF_PLATFORM: Readonly<Record<string, readonly string[]>> = {
  bcoin: ["is_bcoin_network"],
  evm: ["is_ethereum_network"],
  handshake: ["is_handshake_network"],
  hyperledger_besu: ["is_hyperledger_besu_network", "is_ethereum_network"],
  hyperledger_fabric: ["is_hyperledger_fabric_network"],
  quorum: ["is_quorum_network", "is_ethereum_network"],
};

/** Whose a new network is. */
interface NetworkParties {
  readonly owner: Subject;
  /** An application or organization that the owner names, and that sees the network too. */
  readonly sharedWith: Subject | undefined;
}

/** Returns the record of a new network. `chain_id` is empty where the request gives none. */
export function newNetwork(
  { owner, sharedWith }: NetworkParties,
  input: Omit<CreateNetworkInput, "config">,
  { config, now }: { readonly config: NetworkConfigJson; readonly now: string },
): NetworkRecord {
  return {
    id: newId(),
    created_at: now,
    owner,
    ...(sharedWith === undefined ? {} : { shared_with: sharedWith }),
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
}

/** Returns a record with its changes. Members of the configuration that are null are removed. */
export function changedNetwork(current: NetworkRecord, input: UpdateNetworkInput): NetworkRecord {
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

function withFlags(config: NetworkConfigJson): NetworkConfigJson {
  const platform = config.platform ?? "evm";
  return { ...config, platform, ...Object.fromEntries((FLAG_OF_PLATFORM[platform] ?? []).map((flag) => [flag, true])) };
}
