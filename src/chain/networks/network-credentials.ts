/**
 * The keys of networks' nodes (`config.rpc_api_key`): secrets of the network's owner in the vault, sent as HTTP Basic
 * (RFC 7617) and never answered.
 */
import { SealedCredentials } from "../sealed-credentials.js";

interface NodeKey {
  readonly rpc_api_key: string;
}

export class NetworkCredentials extends SealedCredentials<NodeKey> {
  constructor(dependencies: ConstructorParameters<typeof SealedCredentials>[1]) {
    super({ what: "network", gone: "network_unreachable" }, dependencies);
  }
}

/** Returns the value of an Authorization header. */
export function basicAuthorization(user: string, key: string): string {
  return `Basic ${Buffer.from(`${user}:${key}`, "utf8").toString("base64")}`;
}
