/**
 * The IP addresses to which a user's URL may lead: global unicast addresses, and those that the operator lists. All
 * special ranges of the IANA registries (RFC 6890, RFC 8190) are internal: private, loopback, link-local, shared,
 * documentation, translation and tunnel ranges, and the metadata services of clouds.
 */
import { BlockList, isIP } from "node:net";

/** IPv4 networks that are not public. */
const INTERNAL_V4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
  // Azure's platform address: in a public range, but internal to the cloud.
  ["168.63.129.16", 32],
];
/**
 * The only public range of IPv6. Excluded from it are the networks that embed IPv4 (Teredo, 6to4) and those for
 * documentation. IPv4-mapped addresses and NAT64 lie outside of it.
 */
const GLOBAL_V6 = ["2000::", 3] as const;
const INTERNAL_V6: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const internalV4 = new BlockList();
for (const [network, bits] of INTERNAL_V4) internalV4.addSubnet(network, bits, "ipv4");
const globalV6 = new BlockList();
globalV6.addSubnet(...GLOBAL_V6, "ipv6");
const internalV6 = new BlockList();
for (const [network, bits] of INTERNAL_V6) internalV6.addSubnet(network, bits, "ipv6");

/**
 * True for a global unicast address.
 * @param address IPv4 or IPv6 without brackets or zone; false for anything else
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !internalV4.check(address, "ipv4");
  return (
    family === 6 && !address.includes("%") && globalV6.check(address, "ipv6") && !internalV6.check(address, "ipv6")
  );
}

interface Entry {
  /** Lower case; only of entries that are host names. */
  readonly host?: string;
  readonly network?: BlockList;
  readonly port?: number;
}

const ENTRY =
  /^(?:\[([0-9a-f:.]+)(?:\/(\d{1,3}))?\]|([0-9a-f]*:[0-9a-f:.]+)(?:\/(\d{1,3}))?|([0-9.]+)(?:\/(\d{1,2}))?(?=$|:)|([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?))(?::(\d{1,5}))?$/;

/**
 * The operator's list of internal targets that may be reached: `host[:port]`, `10.1.2.3[:port]`, `10.0.0.0/8[:port]`,
 * `[fd00::/8]:port`.
 */
export class AllowList {
  readonly #entries: readonly Entry[];

  /** Throws a RangeError whose message is the first entry of another form. */
  constructor(entries: readonly string[]) {
    this.#entries = entries.map(readEntry);
  }

  /** True when the host name itself is listed; it may then resolve to any address. */
  allowsHost(host: string, port: number): boolean {
    return this.#entries.some((entry) => entry.host === host && fits(entry, port));
  }

  /** True when a listed address or network contains the address. An IPv4-mapped address never matches. */
  allowsAddress(address: string, port: number): boolean {
    const family = isIP(address);
    if (family === 0 || isMapped(address)) return false;
    return this.#entries.some(
      (entry) => entry.network?.check(address, family === 4 ? "ipv4" : "ipv6") === true && fits(entry, port),
    );
  }

  /** True when a name that is not listed could resolve to a listed address with this port. */
  mayAllowPort(port: number): boolean {
    return this.#entries.some((entry) => entry.network !== undefined && fits(entry, port));
  }
}

function fits(entry: Entry, port: number): boolean {
  return entry.port === undefined || entry.port === port;
}

/** True for `::ffff:0:0/96`, which some systems treat as IPv4. */
function isMapped(address: string): boolean {
  return /^(0*:)*(0*:)?:?ffff:/i.test(address) && address.includes(":");
}

function readEntry(text: string): Entry {
  const [, v6Bracketed, v6BracketedBits, v6, v6Bits, v4, v4Bits, host, portText] = ENTRY.exec(text.toLowerCase()) ?? [];
  const port = portText === undefined ? {} : { port: Number(portText) };
  if (port.port !== undefined && (port.port < 1 || port.port > 65_535)) throw new RangeError(text);
  if (host !== undefined) return { host, ...port };
  const address = v6Bracketed ?? v6 ?? v4 ?? "";
  const family = isIP(address);
  const most = family === 4 ? 32 : 128;
  const bits = Number(v6BracketedBits ?? v6Bits ?? v4Bits ?? most);
  if (family === 0 || bits > most) throw new RangeError(text);
  const network = new BlockList();
  network.addSubnet(address, bits, family === 4 ? "ipv4" : "ipv6");
  return { network, ...port };
}
