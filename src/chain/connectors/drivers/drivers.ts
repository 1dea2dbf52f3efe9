/** Which driver serves which type of connector. */
import { CONNECTOR_KINDS, type ConnectorType, type PeerProtocol } from "../connector-types.js";
import type { ConnectorDriver } from "./driver.js";
import { httpDriver } from "./http-driver.js";
import { ipfsDriver } from "./ipfs-driver.js";
import { natsDriver } from "./nats-driver.js";
import { redisDriver } from "./redis-driver.js";
import { restDriver } from "./rest-driver.js";
import { sqlDriver } from "./sql-driver.js";
import { tcpDriver } from "./tcp-driver.js";

const BY_PROTOCOL: Readonly<Record<PeerProtocol, ConnectorDriver>> = {
  http: httpDriver,
  nats: natsDriver,
  redis: redisDriver,
  postgres: sqlDriver,
  tcp: tcpDriver,
};
const BY_TYPE: { readonly [T in ConnectorType]?: ConnectorDriver } = { ipfs: ipfsDriver, rest: restDriver };

export function driverOf(type: ConnectorType): ConnectorDriver {
  return BY_TYPE[type] ?? BY_PROTOCOL[CONNECTOR_KINDS[type].protocol];
}
