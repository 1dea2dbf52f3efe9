/** The keys of the throttle counters: an account, a network address or a subject, each as a short hash. */
import { createHash } from "node:crypto";
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import { addressNetwork } from "../../platform/net/address-network.js";
import { foldText, normalizeEmail } from "../users/email.js";

const KEY_HEX_CHARACTERS = 32;

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

function shortHash(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex").slice(0, KEY_HEX_CHARACTERS);
}
