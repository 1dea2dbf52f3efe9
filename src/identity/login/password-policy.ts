/**
 * Answers which passwords a user may choose (OWASP ASVS 5.0, section 6.2): 8 to 128 characters, no common password,
 * none made from the user's e-mail address; no rules of composition. Passwords are hashed after NFKC and never
 * truncated.
 */
import { COMMON_PASSWORDS, COMMON_WORDS } from "./common-passwords.js";
import { foldText } from "../users/email.js";

const PASSWORD_CHARACTERS_MIN = 8;
const PASSWORD_CHARACTERS_MAX = 128;

/** Shorter parts of an address occur in words by chance. */
const EMAIL_PART_CHARACTERS_MIN = 4;
const KEYBOARD_ROWS = [
  "abcdefghijklmnopqrstuvwxyz",
  "01234567890",
  "qwertyuiop",
  "qwertzuiop",
  "azertyuiop",
  "asdfghjkl",
  "zxcvbnm",
  "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
];
const LOOKALIKES: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "8": "b",
  "@": "a",
  $: "s",
  "!": "i",
};

/** Returns the form in which a password is hashed and compared. */
export function normalizePassword(password: string): string {
  return password.normalize("NFKC");
}

/** Counts code points, as users count characters. */
function isPasswordLengthSound(normalized: string): boolean {
  const characters = Array.from(normalized).length;
  return characters >= PASSWORD_CHARACTERS_MIN && characters <= PASSWORD_CHARACTERS_MAX;
}

/**
 * Returns why a password is rejected, as a sentence for its user; undefined for a good one.
 * @param normalized the password after `normalizePassword`
 * @param email the user's address after `normalizeEmail`
 */
export function findPasswordWeakness(normalized: string, email: string): string | undefined {
  if (!isPasswordLengthSound(normalized))
    return `the password must have ${PASSWORD_CHARACTERS_MIN} to ${PASSWORD_CHARACTERS_MAX} characters`;
  const folded = foldText(normalized);
  if (isRepetition(folded) || isKeyboardRun(folded) || isCommon(folded))
    return "the password is too common; choose another one";
  if (resemblesEmail(folded, email)) return "the password must not be made from the e-mail address";
  return undefined;
}

/** Returns true for one to three characters that repeat. */
function isRepetition(text: string): boolean {
  return [1, 2, 3].some(
    (period) =>
      text ===
      text
        .slice(0, period)
        .repeat(Math.ceil(text.length / period))
        .slice(0, text.length),
  );
}

/** Returns true for a run of the alphabet, the digits or a keyboard row, forwards or backwards, once or twice. */
function isKeyboardRun(text: string): boolean {
  const half = text.slice(0, text.length / 2);
  const unit = half + half === text ? half : text;
  const reversed = Array.from(unit).reverse().join("");
  return KEYBOARD_ROWS.some((row) => row.repeat(2).includes(unit) || row.repeat(2).includes(reversed));
}

/** Returns true for a listed password, or a common word with digits and signs around it or in place of letters. */
function isCommon(text: string): boolean {
  if (COMMON_PASSWORDS.has(text)) return true;
  const core = text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, "");
  const candidates = [
    text,
    core,
    disguiseRemoved(text),
    disguiseRemoved(core),
    disguiseRemoved(text).replace(/[^\p{L}]+$/u, ""),
  ];
  return candidates.some((word) => COMMON_PASSWORDS.has(word) || COMMON_WORDS.has(word));
}

function disguiseRemoved(text: string): string {
  return Array.from(text, (character) => LOOKALIKES[character] ?? character).join("");
}

function resemblesEmail(text: string, email: string): boolean {
  const [localPart = "", domain = ""] = email.split("@");
  const parts = [email, localPart, domain, domain.split(".")[0] ?? ""].filter(
    (part) => part.length >= EMAIL_PART_CHARACTERS_MIN,
  );
  // A passphrase may contain the name; a password that is mostly the name is rejected.
  return parts.some((part) => part.includes(text) || (text.includes(part) && part.length * 2 > text.length));
}
