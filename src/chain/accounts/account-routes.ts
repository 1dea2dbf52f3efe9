/** Routes of accounts and wallets (interoperability 7.5). */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import {
  Account, AccountDetail, AccountListQuery, AccountParams, Balance, BalanceParams, CreateAccountBody, CreateWalletBody, Wallet, WalletAccount, WalletAccountsQuery, WalletParams,
} from "./account-schemas.js";

const READ = { permissions: ["read"] } as const;
/** They make a key in the vault. */
const CREATE = { permissions: ["create", "vault_use"] } as const;

export const accountRoutes = {
  listAccounts: defineRoute({
    id: "listAccounts", area: "chain", method: "GET", path: "/api/v1/accounts", summary: "List accounts", auth: READ, list: true,
    query: AccountListQuery, responses: { 200: { description: "Accounts, newest first", schema: Type.Array(Account) } },
  }),
  createAccount: defineRoute({
    id: "createAccount", area: "chain", method: "POST", path: "/api/v1/accounts", summary: "Create an account", auth: CREATE, needsUnsealed: true, creates: true,
    description: "Makes a secp256k1 key in the caller's vault for accounts. The key never leaves it.",
    body: CreateAccountBody, responses: { 201: { description: "The account", schema: Account } },
    errors: ["not_found", "vault_sealed", "overloaded", "storage_full"], example: { body: { network_id: "2fd61fde-5031-41f1-86b8-8a72e2945ead" } },
  }),
  getAccount: defineRoute({
    id: "getAccount", area: "chain", method: "GET", path: "/api/v1/accounts/:id", summary: "Read an account with its balance", auth: READ,
    params: AccountParams, responses: { 200: { description: "The account", schema: AccountDetail } }, errors: ["not_found"],
  }),
  getAccountBalance: defineRoute({
    id: "getAccountBalance", area: "chain", method: "GET", path: "/api/v1/accounts/:id/balances/:token_id", summary: "Balance of a token", auth: READ,
    params: BalanceParams, responses: { 200: { description: "The balance under the token's id", schema: Balance } },
    errors: ["not_found", "execution_reverted", "gas_estimate_failed", "network_unreachable", "network_timeout", "network_answer_invalid", "network_chain_mismatch"],
  }),
  listWallets: defineRoute({
    id: "listWallets", area: "chain", method: "GET", path: "/api/v1/wallets", summary: "List wallets", auth: READ, list: true,
    responses: { 200: { description: "Wallets, newest first", schema: Type.Array(Wallet) } },
  }),
  createWallet: defineRoute({
    id: "createWallet", area: "chain", method: "POST", path: "/api/v1/wallets", summary: "Create a wallet", auth: CREATE, needsUnsealed: true, creates: true,
    description: "Makes a BIP39 key in the caller's vault for accounts. Its words are never answered, and none are taken: a key that others have seen is no key of the vault.",
    body: CreateWalletBody, bodyOptional: true, responses: { 201: { description: "The wallet", schema: Wallet } },
    errors: ["vault_sealed", "overloaded", "storage_full"], example: { body: { purpose: 44 } },
  }),
  getWallet: defineRoute({
    id: "getWallet", area: "chain", method: "GET", path: "/api/v1/wallets/:id", summary: "Read a wallet", auth: READ,
    params: WalletParams, responses: { 200: { description: "The wallet", schema: Wallet } }, errors: ["not_found"],
  }),
  listWalletAccounts: defineRoute({
    id: "listWalletAccounts", area: "chain", method: "GET", path: "/api/v1/wallets/:id/accounts", summary: "List a wallet's addresses", auth: { permissions: ["read", "vault_use"] }, needsUnsealed: true, list: true,
    description: "The addresses m/purpose'/60'/index'/chain_path/i in the order of i; there are 2^31 of them.",
    params: WalletParams, query: WalletAccountsQuery, responses: { 200: { description: "Addresses", schema: Type.Array(WalletAccount) } }, errors: ["not_found", "signer_not_found", "vault_sealed"],
  }),
} as const;
