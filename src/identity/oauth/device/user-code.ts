/**
 * The code that a person reads from one device and types into another (RFC 8628 section 6.1): eight consonants, which
 * form no words, have no look-alikes and are typed in any case. 20^8 of them, about 34 bits; few guesses are let
 * through and each code lives for minutes.
 */
import { createHash, randomInt } from "node:crypto";

const ALPHABET = "BCDFGHJKLMNPQRSTVWXZ";
const CHARACTERS = 8;
const FORM = new RegExp(`^[${ALPHABET}]{${String(CHARACTERS)}}$`);

/** Makes a code, such as `WDJB-MJHT`. */
export function createUserCode(): string {
  const letters = Array.from({ length: CHARACTERS }, () => ALPHABET.charAt(randomInt(ALPHABET.length)));
  return readable(letters.join(""));
}

/** Returns a code as it was made; undefined for text that is none. Ignores case and every other character. */
export function parseUserCode(text: string): string | undefined {
  const letters = text.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
  return FORM.test(letters) ? readable(letters) : undefined;
}

/** Returns the key under which a code is stored: lower-case hex SHA-256. */
export function userCodeHash(code: string): string {
  return createHash("sha256").update(code, "ascii").digest("hex");
}

function readable(letters: string): string {
  return `${letters.slice(0, CHARACTERS / 2)}-${letters.slice(CHARACTERS / 2)}`;
}
