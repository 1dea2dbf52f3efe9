/** What connectors need of the vault: their credentials, each a secret of their owner's. */
import { SealedCredentials } from "../sealed-credentials.js";
import type { Credentials } from "./connector-schemas.js";

export class ConnectorCredentials extends SealedCredentials<Credentials> {
  constructor(dependencies: ConstructorParameters<typeof SealedCredentials>[1]) {
    super({ what: "connector", gone: "connector_config_invalid" }, dependencies);
  }
}
