/**
 * Reads `options.hdwallet`: a path as text or by its levels, or the wish for the next unused index. Runs on either side
 * of the worker.
 */
import { COIN_ETHER, DEFAULT_PATH, isHdPath, parseHdPath, type HdPath } from "../../crypto/wallets/hd-path.js";
import type { HdWalletOptions } from "../keys/operation-schemas.js";
import { invalidMember } from "../keys/validation.js";

export interface HdChoice {
  /** With index 0 where the next one is asked for. */
  readonly path: HdPath;
  readonly isNext: boolean;
}

const COIN_NAME = "ETH";

/** Throws `derivation_path_invalid` for paths out of range, other coins and members that exclude each other. */
export function readHdWallet(options: HdWalletOptions | undefined): HdChoice {
  const { hd_derivation_path: text, next, coin_abbr: coinName, ...levels } = options ?? {};
  if (text !== undefined) {
    if (next !== undefined || coinName !== undefined || Object.values(levels).some((level) => level !== undefined))
      throw bad("hd_derivation_path", "excludes the other members");
    const path = parseHdPath(text);
    if (path === undefined)
      throw bad(
        "hd_derivation_path",
        "is not a path m/purpose'/coin'/account'/change/index, with an index of at most 4294967294",
      );
    return { path: requireEther(path, "hd_derivation_path"), isNext: false };
  }
  if (coinName !== undefined && coinName.toUpperCase() !== COIN_NAME)
    throw bad("coin_abbr", `is not ${COIN_NAME}, the only coin there is`);
  if (next === true && levels.index !== undefined) throw bad("index", "is given although the next one is asked for");
  const path = {
    ...DEFAULT_PATH,
    ...Object.fromEntries(Object.entries(levels).filter(([, level]) => level !== undefined)),
  };
  if (!isHdPath(path)) throw bad("index", "or another level is out of range");
  return { path: requireEther(path, "coin"), isNext: next === true };
}

function requireEther(path: HdPath, member: string): HdPath {
  if (path.coin !== COIN_ETHER)
    throw bad(member, `names another coin than ${String(COIN_ETHER)} (ether), the only one there is`);
  return path;
}

function bad(member: string, message: string): Error {
  return invalidMember(`options.hdwallet.${member}`, `\`${member}\` ${message}`, "derivation_path_invalid");
}
