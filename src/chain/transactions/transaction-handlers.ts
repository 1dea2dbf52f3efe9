/** Binds the routes of transactions to their services and turns bodies into submissions. */
import { saidOwner, type RequireTenant } from "../../platform/auth/said-owner.js";
import { keepingAnswer } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import { invalidMember } from "../../platform/errors.js";
import { signerOf } from "../accounts/signers.js";
import { withRevert } from "../contracts/reverts.js";
import type { SignerChoice, SubmissionRequest } from "./submission-port.js";
import type { transactionRoutes } from "./transaction-routes.js";
import type { CreateTransactionInput, TransactionJson } from "./transaction-schemas.js";
import type { SendingRequests } from "./holder/sending-requests.js";
import type { TransactionService } from "./transaction-service.js";
import { readQuantity } from "./request-quantities.js";

export interface TransactionHandlerDependencies {
  readonly transactions: TransactionService;
  readonly requests: SendingRequests;
  readonly requireTenant: RequireTenant;
}

/** Returns the handlers of the routes of transactions. */
export function transactionHandlers({
  transactions,
  requests,
  requireTenant,
}: TransactionHandlerDependencies): HandlersFor<typeof transactionRoutes> {
  return {
    listTransactions: ({ principal, query }) => ({
      status: 200,
      ...transactions.list(principal.subject, query, query),
    }),
    createTransaction: async ({ principal, body, once }) => {
      const owner = saidOwner(principal, body, { permissions: ["create", "vault_use"], requireTenant });
      const keep = keepingAnswer(once, madeAnswer);
      const made = await transactions.create(owner, submissionOf(body), keep).catch((error: unknown) => {
        throw withRevert(error);
      });
      return madeAnswer(made);
    },
    broadcastTransaction: async ({ principal, body, once }) => {
      const owner = saidOwner(principal, body, { permissions: ["create"], requireTenant });
      const kept =
        once === undefined
          ? undefined
          : { made: (made: TransactionJson) => once.answered(madeAnswer(made)), asked: () => once.begun() };
      return madeAnswer(await requests.broadcast(owner, body, kept));
    },
    getTransaction: ({ principal, params }) => ({ status: 200, body: transactions.get(principal.subject, params.id) }),
    bumpTransaction: async ({ principal, params, body }) => ({
      status: 202,
      body: await requests.bump(principal.subject, params.id, body ?? {}),
    }),
    cancelTransaction: async ({ principal, params }) => ({
      status: 202,
      body: await requests.cancel(principal.subject, params.id),
    }),
  };
}

/** Throws `invalid_request` when a body names no signer, or more than one. */
function requiredSigner(body: CreateTransactionInput): SignerChoice {
  const signer = signerOf(body);
  if (signer !== undefined) return signer;
  throw invalidMember(
    "account_id",
    "a transaction needs a signer: `account_id`, `account_address`, or `wallet_id` with `hd_derivation_path`",
  );
}

function submissionOf(body: CreateTransactionInput): SubmissionRequest {
  const { gas, gas_price: gasPrice, max_fee_per_gas: fee, max_priority_fee_per_gas: tip, nonce } = body.params ?? {};
  return {
    networkId: body.network_id,
    signer: requiredSigner(body),
    ...(typeof body.to === "string" ? { to: body.to } : {}),
    ...(typeof body.data === "string" ? { data: body.data.startsWith("0x") ? body.data : `0x${body.data}` } : {}),
    ...(body.value === undefined ? {} : { value: readQuantity(body.value) }),
    ...(gas === undefined ? {} : { gas: readQuantity(gas) }),
    ...(gasPrice === undefined ? {} : { gasPrice: readQuantity(gasPrice) }),
    ...(fee === undefined ? {} : { maxFeePerGas: readQuantity(fee) }),
    ...(tip === undefined ? {} : { maxPriorityFeePerGas: readQuantity(tip) }),
    ...(nonce === undefined ? {} : { nonce }),
    ...(body.ref === undefined ? {} : { ref: body.ref }),
    ...(typeof body.description === "string" ? { description: body.description } : {}),
  };
}

function madeAnswer(made: TransactionJson) {
  return { status: 201, body: made, headers: { Location: `/api/v1/transactions/${made.id}` } } as const;
}
