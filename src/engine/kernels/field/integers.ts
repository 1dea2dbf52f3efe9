/** Cuts integers into limbs, for the constants of emitted code. It never runs in a hot path. */

/**
 * Returns the digits of `value` to the base 2^bits, the lowest first; the highest digit takes what is left, with its
 * sign.
 */
export function unsignedLimbs(value: bigint, bits: number, count: number): bigint[] {
  const mask = (1n << BigInt(bits)) - 1n;
  return Array.from({ length: count }, (_, i) => (value >> BigInt(bits * i)) & (i < count - 1 ? mask : -1n));
}

/** As `unsignedLimbs`, with every digit but the highest between -2^(bits-1) and 2^(bits-1). */
export function balancedLimbs(value: bigint, bits: number, count: number): bigint[] {
  const limb = 1n << BigInt(bits);
  const digits: bigint[] = [];
  let rest = value;
  for (let i = 0; i < count - 1; i += 1) {
    let digit = ((rest % limb) + limb) % limb;
    if (digit > limb / 2n) digit -= limb;
    digits.push(digit);
    rest = (rest - digit) / limb;
  }
  return [...digits, rest];
}
