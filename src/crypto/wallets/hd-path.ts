/**
 * Paths of hierarchical deterministic wallets, m / purpose' / coin' / account' / change / index (BIP-44). An index at
 * or above 2^31 means a hardened child, which is how one account reaches 4,294,967,295 keys; BIP-44 itself stops at
 * 2^31.
 */

export interface HdPath {
  readonly purpose: number;
  readonly coin: number;
  readonly account: number;
  readonly change: number;
  /** 0 .. 4 294 967 294; from 2^31 on the hardened child index - 2^31. */
  readonly index: number;
}

export const HARDENED = 2 ** 31;
/** 2^32 - 1 children of an account, counted from 0. */
export const HD_INDEX_MAX = 2 ** 32 - 2;
export const COIN_ETHER = 60;
export const DEFAULT_PATH: HdPath = { purpose: 44, coin: COIN_ETHER, account: 0, change: 0, index: 0 };

const TEXT = /^m\/(\d{1,10})'\/(\d{1,10})'\/(\d{1,10})'\/(\d{1,10})\/(\d{1,10})('?)$/;
export const HD_PATH_CHARACTERS_MAX = 64;

/** Reads a path's text; undefined when it has another form or a number is too large. */
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
  if (isHardened && number >= HARDENED) return undefined;
  const path = { purpose, coin, account, change, index: isHardened ? number + HARDENED : number };
  return isHdPath(path) ? path : undefined;
}

/** True when every level is in its range. */
export function isHdPath({ purpose, coin, account, change, index }: HdPath): boolean {
  return (
    [purpose, coin, account, change].every((level) => Number.isInteger(level) && level >= 0 && level < HARDENED) &&
    Number.isInteger(index) &&
    index >= 0 &&
    index <= HD_INDEX_MAX
  );
}

/** The child number of each level, as BIP-32 counts them. */
export function childNumbers({ purpose, coin, account, change, index }: HdPath): number[] {
  return [HARDENED + purpose, HARDENED + coin, HARDENED + account, change, index];
}

/** The canonical text: hardened levels with an apostrophe. */
export function formatHdPath(path: HdPath): string {
  const index = path.index >= HARDENED ? `${String(path.index - HARDENED)}'` : String(path.index);
  return `${formatAccountPath(path)}/${String(path.change)}/${index}`;
}

/** m / purpose' / coin' / account': what an extended public key is given out for. */
export function formatAccountPath({ purpose, coin, account }: Omit<HdPath, "change" | "index">): string {
  return `m/${String(purpose)}'/${String(coin)}'/${String(account)}'`;
}
