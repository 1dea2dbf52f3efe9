/**
 * The one normaliser of e-mail addresses. Lookup, uniqueness and throttling all use its result, so that letter case,
 * spaces and Unicode variants of an address are one account (and share one counter). It does not find out whether mail
 * arrives.
 */
import { domainToASCII } from "node:url";

/** RFC 5321 section 4.5.3.1.3: a path of 256 octets less the angle brackets. */
const ADDRESS_CHARACTERS_MAX = 254;
const LOCAL_PART_CHARACTERS_MAX = 64;
/** Dot-separated atoms (RFC 5322 section 3.2.3), with letters and digits of any script (RFC 6531). No quoted forms. */
const LOCAL_PART = /^[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+)*$/u;
/** At least two labels of letters, digits and inner hyphens; the last is no number. */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?=[a-z0-9-]*[a-z])[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The canonical form of an address, or undefined when the text is none.
 * NFKC, no white space around, lower case, domain in its ASCII (IDNA) form; at most 254 characters. Idempotent.
 */
export function normalizeEmail(text: string): string | undefined {
  const folded = foldText(text);
  if (folded.length > ADDRESS_CHARACTERS_MAX) return undefined;
  const at = folded.lastIndexOf("@");
  const localPart = folded.slice(0, Math.max(0, at));
  if (localPart.length > LOCAL_PART_CHARACTERS_MAX || !LOCAL_PART.test(localPart)) return undefined;
  const domain = domainToASCII(folded.slice(at + 1));
  if (!DOMAIN.test(domain)) return undefined;
  const address = `${localPart}@${domain}`;
  return address.length <= ADDRESS_CHARACTERS_MAX ? address : undefined;
}

/** NFKC, trim, lower case. Lower-casing may undo NFKC (and the reverse), so both are done until nothing changes. */
export function foldText(text: string): string {
  let folded = text;
  // Two rounds settle every known text; the bound only keeps the loop honest.
  for (let round = 0; round < 4; round++) {
    const next = folded.normalize("NFKC").toLowerCase().trim();
    if (next === folded) break;
    folded = next;
  }
  return folded;
}
