/**
 * Reads `options.hdwallet`: a path as text or by its levels, or the request for the next unused index. Runs on the main
 * thread and in the worker.
 */
import { invalidMember } from "../../platform/errors.js";
import { COIN_ETHER, DEFAULT_PATH, isHdPath, parseHdPath, type HdPath } from "../../crypto/wallets/hd-path.js";
import type { HdWalletOptions } from "../keys/operation-schemas.js";

export interface HdChoice {
  /** Has index 0 where the next one is requested. */
  readonly path: HdPath;
  readonly isNext: boolean;
}

const COIN_NAME = "ETH";

/**
 * Returns the path that the options choose, m/44'/60'/0'/0/0 by default.
 * @throws derivation_path_invalid for paths out of range, other coins and members that exclude each other
 */
export function readHdWallet(options: HdWalletOptions | undefined): HdChoice {
  const { hd_derivation_path: text, next, coin_abbr: coinName, ...levels } = options ?? {};
  if (text !== undefined) {
    if (next !== undefined || coinName !== undefined || Object.keys(levels).length > 0)
      throw pathInvalid("hd_derivation_path", "excludes the other members");
    const path = parseHdPath(text);
    if (path === undefined)
      throw pathInvalid(
        "hd_derivation_path",
        "is not a path m/purpose'/coin'/account'/change/index in its one spelling: an apostrophe for hardened levels, no leading zeros, numbers below 2147483648",
      );
    return { path: requireEther(path, "hd_derivation_path"), isNext: false };
  }
  if (coinName !== undefined && coinName.toUpperCase() !== COIN_NAME)
    throw pathInvalid("coin_abbr", `is not ${COIN_NAME}, the only supported coin`);
  if (next === true && levels.index !== undefined)
    throw pathInvalid("index", "must be absent where the next index is requested");
  const path = { ...DEFAULT_PATH, ...levels };
  if (!isHdPath(path)) throw pathInvalid("index", "or another level is out of range");
  return { path: requireEther(path, "coin"), isNext: next === true };
}

function requireEther(path: HdPath, member: string): HdPath {
  if (path.coin !== COIN_ETHER) throw pathInvalid(member, `is not ${COIN_ETHER} (ether), the only supported coin`);
  return path;
}

function pathInvalid(member: string, message: string): Error {
  return invalidMember(`options.hdwallet.${member}`, `\`${member}\` ${message}`, "derivation_path_invalid");
}
