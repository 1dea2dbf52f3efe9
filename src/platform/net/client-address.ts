/**
 * The client address of a request. Without trusted proxies it is the peer of the socket, whatever the headers say.
 * Behind a trusted proxy it is the last address in X-Forwarded-For that is not itself a trusted proxy. Addresses
 * further left may have been written by the client.
 */
import { BlockList, isIP } from "node:net";

/** One entry of the setting: an address, or a network in CIDR form. */
const ENTRY = /^([0-9a-fA-F.:]+?)(?:\/(\d{1,3}))?$/;
/** Addresses of X-Forwarded-For that are read; a longer chain of proxies does not exist. */
const HOPS_MAX = 20;

export class TrustedProxies {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  /**
   * @param entries addresses and CIDR networks
   * @throws RangeError whose message is the first entry that is neither
   */
  constructor(entries: readonly string[]) {
    this.#isEmpty = entries.length === 0;
    for (const entry of entries) this.#add(entry);
  }

  /**
   * Returns the client address of a request.
   * @param peer address of the socket
   * @param forwarded all X-Forwarded-For headers, joined with commas
   */
  clientOf(peer: string, forwarded: string | undefined): string {
    if (this.#isEmpty || forwarded === undefined || !this.#trusts(peer)) return peer;
    let client = peer;
    for (const hop of forwarded.split(",").slice(-HOPS_MAX).reverse()) {
      const address = withoutPort(hop.trim());
      if (address === undefined) return client;
      client = address;
      if (!this.#trusts(address)) return client;
    }
    return client;
  }

  #trusts(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#list.check(address, family === 4 ? "ipv4" : "ipv6");
  }

  #add(entry: string): void {
    const [, address = "", prefix] = ENTRY.exec(entry) ?? [];
    const family = isIP(address);
    const bits = family === 4 ? 32 : 128;
    if (family === 0 || Number(prefix ?? bits) > bits) throw new RangeError(entry);
    this.#list.addSubnet(address, Number(prefix ?? bits), family === 4 ? "ipv4" : "ipv6");
  }
}

/**
 * Returns the address in `203.0.113.7`, `203.0.113.7:4711`, `[2001:db8::1]:4711` or `2001:db8::1`, and undefined for
 * any other text.
 */
function withoutPort(hop: string): string | undefined {
  if (isIP(hop) !== 0) return hop;
  const [, v4, v6] = /^(?:([0-9.]+)|\[([0-9a-fA-F:.]+)\])(?::\d{1,5})?$/.exec(hop) ?? [];
  const address = v4 ?? v6 ?? "";
  return isIP(address) === 0 ? undefined : address;
}
