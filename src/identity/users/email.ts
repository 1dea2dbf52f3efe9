/**
 * Normalises e-mail addresses. Lookup, uniqueness and throttling all use the result, so that letter case, spaces and
 * Unicode variants of an address mean one account and share one counter. Does not check whether mail arrives.
 */
import { domainToASCII } from "node:url";
import { invalidMember, type AppError } from "../../platform/errors.js";

/** RFC 5321 section 4.5.3.1.3: a path of 256 octets less the angle brackets. */
const ADDRESS_CHARACTERS_MAX = 254;
const LOCAL_PART_CHARACTERS_MAX = 64;
/** Dot-separated atoms (RFC 5322 section 3.2.3) with letters and digits of any script (RFC 6531); no quoted strings. */
const LOCAL_PART = /^[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+)*$/u;
/** At least two labels of letters, digits and inner hyphens; the last has a letter. */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?=[a-z0-9-]*[a-z])[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Returns the canonical form of an address; undefined when the text is no address. The form is NFKC, without white
 * space around it, in lower case, with the domain in its ASCII form (IDNA), at most 254 characters. Idempotent.
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

/** Says that an address has an account already. */
export function emailTaken(): AppError {
  return invalidMember("email", "a user with this e-mail address exists", "email_taken");
}

/** Applies NFKC, lower case and trim until nothing changes, because lower-casing may undo NFKC and the reverse. */
export function foldText(text: string): string {
  let folded = text;
  // Two rounds are enough for every known text; the bound only rules out an endless loop.
  for (let round = 0; round < 4; round++) {
    const next = folded.normalize("NFKC").toLowerCase().trim();
    if (next === folded) break;
    folded = next;
  }
  return folded;
}
