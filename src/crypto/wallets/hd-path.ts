/**
 * Paths of hierarchical deterministic wallets, m / purpose' / coin' / account' / change / index (BIP-44). An index of
 * 2^31 or more means a hardened child, so that one account has 4,294,967,295 keys; BIP-44 itself stops at 2^31.
 */

export interface HdPath {
  readonly purpose: number;
  readonly coin: number;
  readonly account: number;
  readonly change: number;
  /** 0 .. 4 294 967 294; from 2^31 on the hardened child index - 2^31. */
  readonly index: number;
}

/** From this child number on, children are hardened (BIP-32). */
export const HARDENED = 2 ** 31;
/** 2^32 - 1 children of an account, counted from 0. */
export const HD_INDEX_MAX = 2 ** 32 - 2;
/** Ether's number in SLIP-44. */
export const COIN_ETHER = 60;
export const DEFAULT_PATH: HdPath = { purpose: 44, coin: COIN_ETHER, account: 0, change: 0, index: 0 };

/** The one spelling: numbers below 2^31 without leading zeros, an apostrophe for hardened levels (not h or H). */
const NUMBER = "(0|[1-9]\\d{0,9})";
const TEXT = new RegExp(`^m/${NUMBER}'/${NUMBER}'/${NUMBER}'/${NUMBER}/${NUMBER}('?)$`);
const HD_PATH_CHARACTERS_MAX = 64;

/**
 * Reads a path. Undefined when it has another form or a number is too large: a second spelling of a path would be
 * another name of the same key, such as `0/01`.
 * @example parseHdPath("m/44'/60'/0'/0/5")?.index // 5
 */
export function parseHdPath(text: string): HdPath | undefined {
  if (text.length > HD_PATH_CHARACTERS_MAX) return undefined;
  const match = TEXT.exec(text);
  if (match === null) return undefined;
  const [purpose, coin, account, change, number] = match.slice(1, 6).map(Number);
  if (
    purpose === undefined ||
    coin === undefined ||
    account === undefined ||
    change === undefined ||
    number === undefined
  )
    return undefined;
  const isHardened = match[6] === "'";
  if (number >= HARDENED) return undefined;
  const path = { purpose, coin, account, change, index: isHardened ? number + HARDENED : number };
  return isHdPath(path) ? path : undefined;
}

/** Returns whether every level is in its range. */
export function isHdPath({ purpose, coin, account, change, index }: HdPath): boolean {
  return (
    [purpose, coin, account, change].every((level) => Number.isInteger(level) && level >= 0 && level < HARDENED) &&
    Number.isInteger(index) &&
    index >= 0 &&
    index <= HD_INDEX_MAX
  );
}

/** Returns the child number of each level, as BIP-32 counts them. */
export function childNumbers({ purpose, coin, account, change, index }: HdPath): number[] {
  return [HARDENED + purpose, HARDENED + coin, HARDENED + account, change, index];
}

/** Returns the canonical text: hardened levels with an apostrophe. */
export function formatHdPath(path: HdPath): string {
  const index = path.index >= HARDENED ? `${String(path.index - HARDENED)}'` : String(path.index);
  return `${formatAccountPath(path)}/${String(path.change)}/${index}`;
}

/** Returns m / purpose' / coin' / account', the path of an account's extended public key. */
export function formatAccountPath({ purpose, coin, account }: Omit<HdPath, "change" | "index">): string {
  return `m/${String(purpose)}'/${String(coin)}'/${String(account)}'`;
}
