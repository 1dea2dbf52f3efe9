/**
 * Makes the peer of a connector: its addresses, its credentials out of the vault, and the way that is allowed to it.
 */
import type { Egress } from "../../platform/net/egress.js";
import { AppError } from "../../platform/errors.js";
import { addressesOf, addressesOfRuntime } from "./peer-addresses.js";
import type { ConnectorCredentials } from "./connector-credentials.js";
import { driverOf } from "./drivers/drivers.js";
import type { ConnectorDriver, EntityDriver, Peer } from "./drivers/driver.js";
import type { StoredConnector } from "./connector-repository.js";

export interface PeersDependencies {
  readonly credentials: ConnectorCredentials;
  /** For addresses that users give. */
  readonly egress: Egress;
  /** For what our own provider published, which lies inside by nature. Never given an address that a user chose. */
  readonly containerEgress: Egress;
}

export class Peers {
  readonly #with: PeersDependencies;

  constructor(dependencies: PeersDependencies) {
    this.#with = dependencies;
  }

  driver({ type }: StoredConnector): ConnectorDriver {
    return driverOf(type);
  }

  /** Throws `connector_unsupported` for types that hold nothing we could list. */
  entities(connector: StoredConnector): EntityDriver {
    const { entities } = driverOf(connector.type);
    if (entities === undefined)
      throw new AppError("connector_unsupported", { message: `a connector of type ${connector.type} has no entities` });
    return entities;
  }

  /** Throws `vault_sealed`, `connector_not_ready` and `connector_config_invalid`. */
  async peer(connector: StoredConnector, signal: AbortSignal): Promise<Peer> {
    const { owner, type, config, secret, runtime } = connector;
    const addresses = runtime === null ? addressesOf(type, config) : addressesOfRuntime(type, runtime);
    if (addresses.api === undefined && addresses.gateway === undefined)
      throw new AppError("connector_not_ready", { message: "the connector has no address to be asked at" });
    const credentials = secret === null ? {} : await this.#with.credentials.read(owner, secret);
    return {
      config,
      credentials,
      addresses,
      egress: runtime === null ? this.#with.egress : this.#with.containerEgress,
      signal,
    };
  }
}
