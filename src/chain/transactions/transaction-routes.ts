/** Routes of transactions. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import {
  BroadcastTransactionBody,
  BumpTransactionBody,
  CreateTransactionBody,
  DATA_BYTES_MAX,
  Transaction,
  TransactionListQuery,
  TransactionParams,
} from "./transaction-schemas.js";

/** Call data or init code in hex, with the other members. */
const BODY_BYTES_MAX = 2 * DATA_BYTES_MAX + 16 * 1024;

const READ = { permissions: ["read"] } as const;
/** Spending from an account uses a key of the vault. */
const SPEND = { permissions: ["create", "vault_use"] } as const;
const json = { description: "The transaction", schema: Transaction } as const;
const NODE_ERRORS = [
  "network_unreachable",
  "network_timeout",
  "network_answer_invalid",
  "network_chain_mismatch",
] as const;

export const transactionRoutes = {
  listTransactions: defineRoute({
    id: "listTransactions",
    area: "chain",
    method: "GET",
    path: "/api/v1/transactions",
    summary: "List transactions",
    auth: READ,
    list: true,
    description: "Newest first; `data`, `receipt` and `simulated_return` are left out.",
    query: TransactionListQuery,
    responses: { 200: { description: "Transactions", schema: Type.Array(Transaction) } },
  }),
  createTransaction: defineRoute({
    id: "createTransaction",
    area: "chain",
    method: "POST",
    path: "/api/v1/transactions",
    summary: "Send a transaction",
    auth: SPEND,
    needsUnsealed: true,
    creates: true,
    keepsOnce: true,
    description:
      "Answers once the transaction is stored. From then on it is signed with a key of the vault, broadcast and followed until it is confirmed, also across restarts. A transaction that would revert is refused with the reason.",
    body: CreateTransactionBody,
    bodyBytesMax: BODY_BYTES_MAX,
    responses: { 201: json },
    errors: [
      "not_found",
      "signer_not_found",
      "execution_reverted",
      "out_of_gas",
      "gas_estimate_failed",
      "insufficient_funds",
      "fee_cap_exceeded",
      "ref_taken",
      "nonce_in_use",
      "vault_sealed",
      "overloaded",
      "storage_full",
      ...NODE_ERRORS,
    ],
    example: {
      body: {
        network_id: "2fd61fde-5031-41f1-86b8-8a72e2945ead",
        account_id: "7d5e7f0c-2a4b-4d0e-9a55-0a4d3f6f7a11",
        to: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        value: 1,
      },
    },
  }),
  broadcastTransaction: defineRoute({
    id: "broadcastTransaction",
    area: "chain",
    method: "POST",
    path: "/api/v1/transactions/broadcast",
    summary: "Broadcast a transaction that the caller signed",
    auth: { permissions: ["create"] },
    creates: true,
    keepsOnce: true,
    body: BroadcastTransactionBody,
    bodyBytesMax: BODY_BYTES_MAX,
    responses: { 201: json },
    errors: [
      "not_found",
      "transaction_invalid",
      "out_of_gas",
      "transaction_refused",
      "insufficient_funds",
      "ref_taken",
      "nonce_in_use",
      "overloaded",
      "outcome_unknown",
      "storage_full",
      ...NODE_ERRORS,
    ],
  }),
  getTransaction: defineRoute({
    id: "getTransaction",
    area: "chain",
    method: "GET",
    path: "/api/v1/transactions/:id",
    summary: "Read a transaction",
    auth: READ,
    description:
      "By its id or ref. Once it is in a block, `receipt` has what the chain says of it. Logs and reverts are decoded by the ABIs of the caller's contracts, as they are when the transaction is read.",
    params: TransactionParams,
    responses: { 200: json },
    errors: ["not_found"],
  }),
  bumpTransaction: defineRoute({
    id: "bumpTransaction",
    area: "chain",
    method: "POST",
    path: "/api/v1/transactions/:id/bump",
    summary: "Raise the fees of a transaction",
    auth: SPEND,
    needsUnsealed: true,
    description:
      "Signs the transaction again with the same nonce and fees that are at least an eighth above the last ones, so that only one of the attempts can be mined.",
    params: TransactionParams,
    body: BumpTransactionBody,
    bodyOptional: true,
    responses: { 202: json },
    errors: [
      "not_found",
      "transaction_settled",
      "transaction_not_replaceable",
      "replacement_underpriced",
      "fee_cap_exceeded",
      "insufficient_funds",
      "transaction_refused",
      "vault_sealed",
      "outcome_unknown",
      ...NODE_ERRORS,
    ],
  }),
  cancelTransaction: defineRoute({
    id: "cancelTransaction",
    area: "chain",
    method: "POST",
    path: "/api/v1/transactions/:id/cancel",
    summary: "Cancel a transaction",
    auth: SPEND,
    needsUnsealed: true,
    description:
      "A transaction that is not signed yet is cancelled at once. Otherwise an empty transaction with the same nonce and higher fees is sent, and the one that is mined decides.",
    params: TransactionParams,
    responses: { 202: json },
    errors: [
      "not_found",
      "transaction_settled",
      "transaction_not_replaceable",
      "replacement_underpriced",
      "fee_cap_exceeded",
      "insufficient_funds",
      "transaction_refused",
      "vault_sealed",
      "outcome_unknown",
      ...NODE_ERRORS,
    ],
  }),
} as const;
