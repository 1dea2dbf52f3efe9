/** Reads from a request who signs and what the transaction may cost, into the words of the submission port. */
import { AppError } from "../../platform/errors.js";
import { isUuid } from "../../platform/ids.js";
import type { SignerChoice, SubmissionRequest } from "../submission.js";
import type { ExecuteContract } from "./contract-schemas.js";

/** The members that creations and executions share. */
export type SigningInput = Pick<
  ExecuteContract,
  "account_id" | "account_address" | "account" | "wallet_id" | "hd_derivation_path" | "value" | "gas" | "gas_price" | "max_fee_per_gas" | "max_priority_fee_per_gas" | "nonce" | "ref"
>;

type Costs = Pick<SubmissionRequest, "value" | "gas" | "gasPrice" | "maxFeePerGas" | "maxPriorityFeePerGas" | "nonce" | "ref">;

/** Who signs; undefined when nobody is named. Throws `invalid_request` when several are, or a wallet without its path. */
export function signerOf({ account_id: id, account_address: address, account, wallet_id: wallet, hd_derivation_path: path }: SigningInput): SignerChoice | undefined {
  const named = [id, address, account, wallet].filter((member) => member !== undefined);
  if (named.length > 1) throw bad("account", "name one signer: account_id, account_address, account, or wallet_id with hd_derivation_path");
  if (wallet === undefined && path !== undefined) throw bad("wallet_id", "hd_derivation_path belongs to wallet_id");
  if (wallet !== undefined) {
    if (path === undefined) throw bad("hd_derivation_path", "wallet_id needs hd_derivation_path");
    return { walletId: wallet.toLowerCase(), path };
  }
  if (id !== undefined) return { accountId: id.toLowerCase() };
  if (address !== undefined) return { accountAddress: address };
  if (account === undefined) return undefined;
  return isUuid(account.toLowerCase()) ? { accountId: account.toLowerCase() } : { accountAddress: account };
}

/** As `signerOf`, where one is needed. Throws `signer_not_found`. */
export function requireSigner(input: SigningInput): SignerChoice {
  const signer = signerOf(input);
  if (signer !== undefined) return signer;
  const message = "a transaction needs a signer: account_id, account_address, account, or wallet_id with hd_derivation_path";
  throw new AppError("signer_not_found", { message, details: [{ message, code: "signer_not_found", path: "account_id" }] });
}

export function costsOf({ value, gas, gas_price, max_fee_per_gas, max_priority_fee_per_gas, nonce, ref }: SigningInput): Costs {
  return {
    ...(value === undefined ? {} : { value: BigInt(value) }),
    ...(gas === undefined ? {} : { gas: BigInt(gas) }),
    ...(gas_price === undefined ? {} : { gasPrice: BigInt(gas_price) }),
    ...(max_fee_per_gas === undefined ? {} : { maxFeePerGas: BigInt(max_fee_per_gas) }),
    ...(max_priority_fee_per_gas === undefined ? {} : { maxPriorityFeePerGas: BigInt(max_priority_fee_per_gas) }),
    ...(nonce === undefined ? {} : { nonce }),
    ...(ref === undefined ? {} : { ref }),
  };
}

/** Only the members that concern signing, for a plan that is carried out later. */
export function signingOf(input: SigningInput): SigningInput {
  const { account_id, account_address, account, wallet_id, hd_derivation_path, value, gas, gas_price, max_fee_per_gas, max_priority_fee_per_gas, nonce, ref } = input;
  const members = { account_id, account_address, account, wallet_id, hd_derivation_path, value, gas, gas_price, max_fee_per_gas, max_priority_fee_per_gas, nonce, ref };
  return Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined));
}

function bad(path: string, message: string): AppError {
  return new AppError("invalid_request", { message, details: [{ message, code: "invalid_request", path }] });
}
