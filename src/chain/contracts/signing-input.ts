/** Reads from a request who signs and what the transaction may cost, as the submission port takes it. */
import { invalidMember } from "../../platform/errors.js";
import { signerOf } from "../accounts/signers.js";
import type { SignerChoice, SubmissionRequest } from "../transactions/submission-port.js";
import type { ExecuteContract } from "./contract-schemas.js";

const SIGNING_MEMBERS = [
  "account_id",
  "account_address",
  "account",
  "wallet_id",
  "hd_derivation_path",
  "value",
  "gas",
  "gas_price",
  "max_fee_per_gas",
  "max_priority_fee_per_gas",
  "nonce",
  "ref",
] as const;

/** The members that creations and executions share. */
export type SigningInput = Pick<ExecuteContract, (typeof SIGNING_MEMBERS)[number]>;

type Costs = Pick<
  SubmissionRequest,
  "value" | "gas" | "gasPrice" | "maxFeePerGas" | "maxPriorityFeePerGas" | "nonce" | "ref"
>;

/** Returns the signer that a request names. Throws `signer_not_found` when it names none. */
export function requireSigner(input: SigningInput): SignerChoice {
  const signer = signerOf(input);
  if (signer !== undefined) return signer;
  throw invalidMember(
    "account_id",
    "a transaction needs a signer: account_id, account_address, account, or wallet_id with hd_derivation_path",
    "signer_not_found",
  );
}

/** Returns value, gas, fees, nonce and ref of a request; amounts are in wei. */
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

/** Returns only the members that concern signing, for a plan that is carried out later. */
export function signingOf(input: SigningInput): SigningInput {
  return Object.fromEntries(
    SIGNING_MEMBERS.filter((member) => input[member] !== undefined).map((member) => [member, input[member]]),
  );
}
