/** The credentials of connectors in the vault, each a secret of the connector's owner. */
import { SealedCredentials } from "../sealed-credentials.js";
import type { Credentials } from "./connector-schemas.js";

export class ConnectorCredentials extends SealedCredentials<Credentials> {
  constructor(dependencies: ConstructorParameters<typeof SealedCredentials>[1]) {
    super({ what: "connector", gone: "connector_config_invalid" }, dependencies);
  }
}
