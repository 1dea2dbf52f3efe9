/** The network of a client address, by which callers are counted: single addresses of an IPv6 network cost nothing. */
import { isIPv4, isIPv6 } from "node:net";

const IPV6_GROUPS = 8;
/** One household or server holds a /64; its single addresses are free to change. */
const IPV6_NETWORK_GROUPS = 4;

/** Returns `192.0.2.7`, or `2001:db8:0:0` for the /64 of an IPv6 address; other text unchanged. */
export function addressNetwork(address: string): string {
  const plain = address.split("%")[0] ?? "";
  if (isIPv4(plain) || !isIPv6(plain)) return plain;
  const groups = ipv6Groups(plain);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join(".");
  return groups
    .slice(0, IPV6_NETWORK_GROUPS)
    .map((group) => group.toString(16))
    .join(":");
}

/** The eight 16-bit groups of a sound IPv6 address. */
function ipv6Groups(address: string): number[] {
  const [head = "", tail] = address.split("::");
  const before = parseGroups(head);
  const after = tail === undefined ? [] : parseGroups(tail);
  const zeros = tail === undefined ? 0 : IPV6_GROUPS - before.length - after.length;
  return [...before, ...Array.from({ length: zeros }, () => 0), ...after];
}

function parseGroups(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}
