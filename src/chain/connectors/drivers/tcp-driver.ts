/**
 * The probe of types whose protocol we do not speak: whether somebody takes a connection. It promises no more than
 * that.
 */
import type { ConnectorDriver } from "./driver.js";
import { withPeerSocket } from "./peer-socket.js";

export const tcpDriver: ConnectorDriver = {
  probe: async (peer) => await withPeerSocket(peer, async () => await Promise.resolve(undefined)),
};
