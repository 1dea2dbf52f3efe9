/**
 * Which addresses of the internet protocol a stranger's URL may lead to: the global unicast ones, and what the operator
 * lists. Everything special of the IANA registries (RFC 6890, RFC 8190) is inside: private, loopback, link-local,
 * shared, documentation, translation and tunnel ranges, and the metadata services of clouds.
 */
import { BlockList, isIP } from "node:net";

/** IPv4 that is not public. */
const INSIDE_V4: readonly (readonly [string, number])[] = [
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
  // Azure's platform address: public by number, inside by nature.
  ["168.63.129.16", 32],
];
/**
 * The only IPv6 that is public at all; without what embeds IPv4 (Teredo, 6to4) or is for documents. IPv4-mapped and
 * NAT64 lie outside it.
 */
const GLOBAL_V6 = ["2000::", 3] as const;
const INSIDE_V6: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const insideV4 = new BlockList();
for (const [network, bits] of INSIDE_V4) insideV4.addSubnet(network, bits, "ipv4");
const globalV6 = new BlockList();
globalV6.addSubnet(...GLOBAL_V6, "ipv6");
const insideV6 = new BlockList();
for (const [network, bits] of INSIDE_V6) insideV6.addSubnet(network, bits, "ipv6");

/** True for an address that anybody may reach. @param address without brackets or zone. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !insideV4.check(address, "ipv4");
  return family === 6 && !address.includes("%") && globalV6.check(address, "ipv6") && !insideV6.check(address, "ipv6");
}

interface Entry {
  /** Lower case; of entries that are names. */
  readonly host?: string;
  readonly network?: BlockList;
  readonly port?: number;
}

const ENTRY =
  /^(?:\[([0-9a-f:.]+)(?:\/(\d{1,3}))?\]|([0-9a-f]*:[0-9a-f:.]+)(?:\/(\d{1,3}))?|([0-9.]+)(?:\/(\d{1,2}))?(?=$|:)|([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?))(?::(\d{1,5}))?$/;

/**
 * Targets that may be reached although they lie inside: `host[:port]`, `10.1.2.3[:port]`, `10.0.0.0/8[:port]`,
 * `[fd00::/8]:port`.
 */
export class AllowList {
  readonly #entries: readonly Entry[];

  /** Throws a RangeError whose message is the entry that is none of these. */
  constructor(entries: readonly string[]) {
    this.#entries = entries.map(readEntry);
  }

  /** The name itself is listed: it may resolve to anything. */
  allowsHost(host: string, port: number): boolean {
    return this.#entries.some((entry) => entry.host === host && fits(entry, port));
  }

  allowsAddress(address: string, port: number): boolean {
    const family = isIP(address);
    if (family === 0 || isMapped(address)) return false;
    return this.#entries.some(
      (entry) => entry.network?.check(address, family === 4 ? "ipv4" : "ipv6") === true && fits(entry, port),
    );
  }

  /** Whether a name that is not listed may turn out to lie at a listed address. */
  mayAllowPort(port: number): boolean {
    return this.#entries.some((entry) => entry.network !== undefined && fits(entry, port));
  }
}

function fits(entry: Entry, port: number): boolean {
  return entry.port === undefined || entry.port === port;
}

/** `::ffff:0:0/96`, which some systems take for IPv4. */
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
