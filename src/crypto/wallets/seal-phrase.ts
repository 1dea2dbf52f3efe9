/**
 * The seal key in the form that people keep: 24 English words of BIP-39 (256-bit entropy). Everything here works on
 * bytes that the caller can overwrite; the phrase never becomes a string, because a string cannot be wiped.
 */
import { createHash } from "node:crypto";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { equalBytes } from "../constant-time.js";

const SEAL_PHRASE_WORDS = 24;
export const SEAL_ENTROPY_BYTES = 32;
/** Longest text that is read: 24 words of 8 letters with much white space. */
const SEAL_PHRASE_BYTES_MAX = 1000;

const WORD_BITS = 11;
/** English words of BIP-39 have 3 to 8 letters. */
const WORD_BYTES_MAX = 8;
const SPACE = 0x20;
const WORDS: readonly Uint8Array[] = wordlist.map((word) => Uint8Array.from(Buffer.from(word, "latin1")));

/**
 * Returns the canonical spelling of a phrase: NFKD, lower case, one space between words, none at the ends; a new buffer
 * that the caller wipes. Undefined when the text cannot be a phrase: too long, not UTF-8, or with characters other than
 * letters.
 * @param text UTF-8
 */
export function canonicalPhrase(text: Uint8Array): Uint8Array | undefined {
  if (text.length > SEAL_PHRASE_BYTES_MAX) return undefined;
  const out = new Uint8Array(text.length);
  let length = 0;
  let refused = 0;
  eachAsciiUnit(text, (unit) => {
    if (isWhiteSpace(unit)) {
      if (length > 0 && out[length - 1] !== SPACE) out[length++] = SPACE;
    } else if (isLetter(unit) && length < out.length) {
      out[length++] = unit | 0x20;
    } else {
      refused += 1;
    }
  });
  if (length > 0 && out[length - 1] === SPACE) length -= 1;
  const canonical = out.slice(0, length);
  out.fill(0);
  if (refused === 0 && length > 0) return canonical;
  canonical.fill(0);
  return undefined;
}

/**
 * Returns the SHA-256 of a canonical phrase's bytes, which an operator configures to recognise the seal key. It is a
 * verifier, never a key.
 */
export function validationHash(canonical: Uint8Array): Uint8Array {
  return createHash("sha256").update(canonical).digest();
}

/**
 * Returns the 32 bytes of entropy of a canonical phrase (BIP-39), which the caller wipes. Undefined unless it is 24
 * words of the list with the right checksum.
 * @example const entropy = phraseEntropy(canonicalPhrase(text) ?? new Uint8Array());
 */
export function phraseEntropy(canonical: Uint8Array): Uint8Array | undefined {
  const packed = new Uint8Array(SEAL_ENTROPY_BYTES + 1);
  let words = 0;
  let start = 0;
  for (let end = 0; end <= canonical.length; end += 1) {
    if (end < canonical.length && canonical[end] !== SPACE) continue;
    const index = wordIndex(canonical.subarray(start, end));
    if (index < 0 || words === SEAL_PHRASE_WORDS) {
      packed.fill(0);
      return undefined;
    }
    writeBits(packed, words * WORD_BITS, index);
    words += 1;
    start = end + 1;
  }
  const entropy = packed.slice(0, SEAL_ENTROPY_BYTES);
  const checksum = createHash("sha256").update(entropy).digest().subarray(0, 1);
  const isValid = words === SEAL_PHRASE_WORDS && equalBytes(packed.subarray(SEAL_ENTROPY_BYTES), checksum);
  packed.fill(0);
  if (isValid) return entropy;
  entropy.fill(0);
  return undefined;
}

/**
 * Returns the canonical phrase of 32 bytes of entropy, as bytes that the caller wipes.
 * @throws TypeError for another length
 */
export function entropyPhrase(entropy: Uint8Array): Uint8Array {
  if (entropy.length !== SEAL_ENTROPY_BYTES) throw new TypeError("the entropy of a seal key is 32 bytes");
  const packed = new Uint8Array(SEAL_ENTROPY_BYTES + 1);
  packed.set(entropy);
  packed.set(createHash("sha256").update(entropy).digest().subarray(0, 1), SEAL_ENTROPY_BYTES);
  const out = new Uint8Array(SEAL_PHRASE_WORDS * (WORD_BYTES_MAX + 1));
  let length = 0;
  for (let i = 0; i < SEAL_PHRASE_WORDS; i += 1) {
    const word = WORDS[readBits(packed, i * WORD_BITS)] ?? new Uint8Array();
    if (i > 0) out[length++] = SPACE;
    out.set(word, length);
    length += word.length;
  }
  const phrase = out.slice(0, length);
  out.fill(0);
  packed.fill(0);
  return phrase;
}

/**
 * Decodes UTF-8 and applies NFKD one character at a time; characters that are not ASCII afterwards are passed as 0,
 * which no rule accepts.
 */
function eachAsciiUnit(text: Uint8Array, take: (unit: number) => void): void {
  for (let i = 0; i < text.length;) {
    const lead = text[i] ?? 0;
    if (lead < 0x80) {
      take(lead);
      i += 1;
      continue;
    }
    const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    // One character at a time: a string of the whole phrase never exists.
    const decomposed = Buffer.from(text.subarray(i, i + size))
      .toString("utf8")
      .normalize("NFKD");
    for (const character of decomposed) {
      if (/\s/.test(character)) take(SPACE);
      else take(character.charCodeAt(0) < 0x80 ? character.charCodeAt(0) : 0);
    }
    i += size;
  }
}

function isWhiteSpace(unit: number): boolean {
  return unit === SPACE || (unit >= 0x09 && unit <= 0x0d);
}

function isLetter(unit: number): boolean {
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

/** Binary search in the sorted list, bytes against bytes; -1 when the word is unknown. */
function wordIndex(word: Uint8Array): number {
  let low = 0;
  let high = WORDS.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const order = Buffer.compare(WORDS[middle] ?? word, word);
    if (order === 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** Writes 11 bits, most significant first, at a bit offset. */
function writeBits(bytes: Uint8Array, offset: number, value: number): void {
  for (let bit = 0; bit < WORD_BITS; bit += 1) {
    const at = offset + bit;
    const set = (value >> (WORD_BITS - 1 - bit)) & 1;
    bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (set << (7 - (at & 7)));
  }
}

function readBits(bytes: Uint8Array, offset: number): number {
  let value = 0;
  for (let at = offset; at < offset + WORD_BITS; at += 1)
    value = (value << 1) | (((bytes[at >> 3] ?? 0) >> (7 - (at & 7))) & 1);
  return value;
}
