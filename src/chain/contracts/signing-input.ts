/** Reads from a request who signs and what the transaction may cost, into the words of the submission port. */
import { AppError } from "../../platform/errors.js";
import { signerOf } from "../accounts/signers.js";
import type { SignerChoice, SubmissionRequest } from "../transactions/submission-port.js";
import type { ExecuteContract } from "./contract-schemas.js";

/** The members that creations and executions share. */
export type SigningInput = Pick<
  ExecuteContract,
  | "account_id"
  | "account_address"
  | "account"
  | "wallet_id"
  | "hd_derivation_path"
  | "value"
  | "gas"
  | "gas_price"
  | "max_fee_per_gas"
  | "max_priority_fee_per_gas"
  | "nonce"
  | "ref"
>;

type Costs = Pick<
  SubmissionRequest,
  "value" | "gas" | "gasPrice" | "maxFeePerGas" | "maxPriorityFeePerGas" | "nonce" | "ref"
>;

/** As `signerOf`, where one is needed. Throws `signer_not_found`. */
export function requireSigner(input: SigningInput): SignerChoice {
  const signer = signerOf(input);
  if (signer !== undefined) return signer;
  const message =
    "a transaction needs a signer: account_id, account_address, account, or wallet_id with hd_derivation_path";
  throw new AppError("signer_not_found", {
    message,
    details: [{ message, code: "signer_not_found", path: "account_id" }],
  });
}

export function costsOf({
  value,
  gas,
  gas_price,
  max_fee_per_gas,
  max_priority_fee_per_gas,
  nonce,
  ref,
}: SigningInput): Costs {
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
  const {
    account_id,
    account_address,
    account,
    wallet_id,
    hd_derivation_path,
    value,
    gas,
    gas_price,
    max_fee_per_gas,
    max_priority_fee_per_gas,
    nonce,
    ref,
  } = input;
  const members = {
    account_id,
    account_address,
    account,
    wallet_id,
    hd_derivation_path,
    value,
    gas,
    gas_price,
    max_fee_per_gas,
    max_priority_fee_per_gas,
    nonce,
    ref,
  };
  return Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined));
}
