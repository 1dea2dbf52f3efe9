/**
 * The probe of types that are reached over HTTP and have no driver of their own: whether somebody answers there at all.
 */
import type { ConnectorDriver } from "./driver.js";
import { askPeer } from "./http-peer.js";
import { unreachable } from "./peer-failures.js";

/** Any answer below 500 says that the peer is up; what it thinks of the path is its own business. */
export const httpDriver: ConnectorDriver = {
  probe: async (peer) => {
    const { status, headers } = await askPeer(peer, peer.config.probe_path ?? "/");
    if (status >= 500) throw unreachable();
    return headers["server"]?.replace(/[^\x20-\x7e]/g, "").slice(0, 100);
  },
};
