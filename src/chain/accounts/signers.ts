/** Reads which signer the bodies of transactions, deployments and executions name. */
import { invalidMember } from "../../platform/errors.js";
import { isUuid } from "../../platform/ids.js";
import type { SignerChoice } from "../transactions/submission-port.js";

/** At most one of the first four is given, a wallet together with a path. */
export interface SignerMembers {
  readonly account_id?: string | undefined;
  readonly account_address?: string | undefined;
  /** An id or an address. */
  readonly account?: string | undefined;
  readonly wallet_id?: string | undefined;
  readonly hd_derivation_path?: string | undefined;
}

/**
 * Returns the signer that a body names; undefined when it names none.
 * @throws invalid_request for several signers, and for a wallet without a path
 */
export function signerOf({
  account_id: id,
  account_address: address,
  account,
  wallet_id: wallet,
  hd_derivation_path: path,
}: SignerMembers): SignerChoice | undefined {
  const named = [id, address, account, wallet].filter((member) => member !== undefined);
  if (named.length > 1)
    throw invalidMember(
      "account_id",
      "name one signer: account_id, account_address, or wallet_id with hd_derivation_path",
    );
  if (wallet === undefined && path !== undefined)
    throw invalidMember("wallet_id", "hd_derivation_path belongs to wallet_id");
  if (wallet !== undefined) {
    if (path === undefined) throw invalidMember("hd_derivation_path", "wallet_id needs hd_derivation_path");
    return { walletId: wallet.toLowerCase(), path };
  }
  if (id !== undefined) return { accountId: id.toLowerCase() };
  if (address !== undefined) return { accountAddress: address };
  if (account === undefined) return undefined;
  return isUuid(account.toLowerCase()) ? { accountId: account.toLowerCase() } : { accountAddress: account };
}
