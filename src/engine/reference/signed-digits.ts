/**
 * Part of the reference (reference-arena.ts): splits scalars into signed windows, scalar = sum of digit_w * 2^(c w)
 * with digits in (-2^(c-1), 2^(c-1)].
 */

/** Bytes and 32-bit words of a scalar. */
export const SCALAR_BYTES = 32;
export const SCALAR_WORDS = 8;

/** Returns a view of scalars as 32-bit words, or of a copy when they are not aligned. */
export function scalarWords(scalars: Uint8Array): Uint32Array {
  const aligned = scalars.byteOffset % 4 === 0 ? scalars : Uint8Array.from(scalars);
  return new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4);
}

/** Returns the windows of a scalar of so many bits and of one bit more, which takes the last carry. */
export function windowCount(scalarBits: number, windowBits: number): number {
  return Math.ceil((scalarBits + 1) / windowBits);
}

/**
 * Writes the digits of one window of all scalars. Windows must be taken in order from 0: a digit of the upper half
 * borrows from the next window through `carries`, one for each scalar, which start as zeros.
 */
export function takeDigits(
  words: Uint32Array,
  options: { readonly window: number; readonly windowBits: number },
  carries: Uint8Array,
  digits: Int32Array,
): void {
  const { window, windowBits } = options;
  const at = window * windowBits;
  const wordIndex = at >>> 5,
    shift = at & 31;
  const spans = shift + windowBits > 32 && wordIndex + 1 < SCALAR_WORDS;
  const mask = 2 ** windowBits - 1,
    half = 2 ** (windowBits - 1);
  for (let i = 0; i < carries.length; i += 1) {
    const word = i * SCALAR_WORDS + wordIndex;
    let value = wordIndex < SCALAR_WORDS ? (words[word] as number) >>> shift : 0;
    if (spans) value |= (words[word + 1] as number) << (32 - shift);
    let digit = (value & mask) + (carries[i] as number);
    // Not >=: the top window of a widest scalar can come to exactly half with its carry, and has no window above it.
    if (digit > half) {
      digit -= mask + 1;
      carries[i] = 1;
    } else {
      carries[i] = 0;
    }
    digits[i] = digit;
  }
}
