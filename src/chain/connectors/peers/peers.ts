/** Builds the peer of a connector: its addresses, its credentials from the vault, and the egress that may reach it. */
import type { Egress } from "../../../platform/net/egress.js";
import { AppError } from "../../../platform/errors.js";
import { addressesOf, addressesOfRuntime } from "./peer-addresses.js";
import type { ConnectorCredentials } from "../connector-credentials.js";
import type { EntityDriver, Peer } from "../drivers/driver.js";
import { ipfsEntities } from "../drivers/ipfs-driver.js";
import { restEntities } from "../drivers/rest-driver.js";
import type { ConnectorType } from "./probes.js";
import type { StoredConnector } from "../connector-repository.js";

interface PeersDependencies {
  readonly credentials: ConnectorCredentials;
  /** For addresses that users give. */
  readonly egress: Egress;
  /** For containers of our own provider, whose ports are on an internal host. Never given an address of a user. */
  readonly containerEgress: Egress;
}

/** The drivers of the types that have entities. */
const ENTITY_DRIVERS: { readonly [T in ConnectorType]?: EntityDriver } = { ipfs: ipfsEntities, rest: restEntities };

export class Peers {
  readonly #dependencies: PeersDependencies;

  constructor(dependencies: PeersDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns the driver of a type's entities. Throws `connector_unsupported` for types without entities. */
  entities({ type }: StoredConnector): EntityDriver {
    const driver = ENTITY_DRIVERS[type];
    if (driver === undefined)
      throw new AppError("connector_unsupported", { message: `a connector of type ${type} has no entities` });
    return driver;
  }

  /** Returns the peer of a connector. Throws `vault_sealed`, `connector_not_ready` and `connector_config_invalid`. */
  async peer(connector: StoredConnector, signal: AbortSignal): Promise<Peer> {
    const { type, config, runtime } = connector;
    const addresses = runtime === null ? addressesOf(type, config) : addressesOfRuntime(type, runtime);
    if (addresses.api === undefined && addresses.gateway === undefined)
      throw new AppError("connector_not_ready", { message: "the connector has no address to be asked at" });
    const { credentials } = await this.#dependencies.credentials.open(connector);
    return {
      config,
      credentials,
      addresses,
      egress: runtime === null ? this.#dependencies.egress : this.#dependencies.containerEgress,
      signal,
    };
  }
}
