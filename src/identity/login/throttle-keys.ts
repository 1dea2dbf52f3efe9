/** The keys of the throttle counters: an account, a network address or a subject, each as a short hash. */
import { createHash } from "node:crypto";
import { isIPv4, isIPv6 } from "node:net";
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import { foldText, normalizeEmail } from "../users/email.js";

const KEY_HEX_CHARACTERS = 32;
const IPV6_GROUPS = 8;
/** One household or server holds a /64; its single addresses are free to change. */
const IPV6_NETWORK_GROUPS = 4;

/** Returns the key of the account that a login names. A hash, because users type passwords into the wrong field. */
export function accountThrottleKey(email: string, applicationId?: string): string {
  const account = normalizeEmail(email) ?? foldText(email);
  return shortHash(applicationId === undefined ? account : `${applicationId} ${account}`);
}

/** Returns the key of a user, application or organization. */
export function subjectThrottleKey(subject: Subject): string {
  return shortHash(formatSubject(subject));
}

/**
 * Returns the key of the caller's network: an IPv4 address, or the /64 of an IPv6 one. An IPv4-mapped IPv6 address
 * counts as IPv4.
 */
export function addressThrottleKey(address: string): string {
  return shortHash(addressNetwork(address));
}

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

function shortHash(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex").slice(0, KEY_HEX_CHARACTERS);
}
