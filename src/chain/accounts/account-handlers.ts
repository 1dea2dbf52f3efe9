/** Binds the routes of accounts and wallets to their services. */
import { saidOwner, type RequireTenant } from "../../platform/auth/said-owner.js";
import { keepingAnswer } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { References } from "../../platform/references.js";
import type { accountRoutes } from "./account-routes.js";
import type { AccountJson, WalletJson } from "./account-schemas.js";
import type { Accounts } from "./accounts.js";
import type { TokenBalances } from "./token-balances.js";
import type { Wallets } from "./wallets.js";

export interface AccountHandlerDependencies {
  readonly accounts: Accounts;
  readonly tokenBalances: TokenBalances;
  readonly wallets: Wallets;
  readonly requireTenant: RequireTenant;
  readonly references: References;
}

/** What making a key for an owner takes. */
const MAKES_A_KEY = ["create", "vault_use"] as const;

/** Returns the handlers of the routes of accounts and wallets. */
export function accountHandlers({
  accounts,
  tokenBalances,
  wallets,
  requireTenant,
  references,
}: AccountHandlerDependencies): HandlersFor<typeof accountRoutes> {
  return {
    listAccounts: ({ principal, query }) => ({ status: 200, ...accounts.list(principal.subject, query, query) }),
    createAccount: async ({ principal, body, once }) => {
      const owner = saidOwner(principal, body, { permissions: MAKES_A_KEY, requireTenant });
      references.require(owner, body, ["network_id"]);
      return accountAnswer(await accounts.create(owner, body, keepingAnswer(once, accountAnswer)));
    },
    getAccount: async ({ principal, params, signal }) => ({
      status: 200,
      body: await accounts.get(principal.subject, params.id, signal),
    }),
    getAccountBalance: async ({ principal, params, signal }) => ({
      status: 200,
      body: await tokenBalances.get(principal.subject, params.id, params.token_id, signal),
    }),
    listWallets: ({ principal, query }) => ({ status: 200, ...wallets.list(principal.subject, query) }),
    createWallet: async ({ principal, body, once }) => {
      const owner = saidOwner(principal, body ?? {}, { permissions: MAKES_A_KEY, requireTenant });
      return walletAnswer(await wallets.create(owner, body ?? {}, keepingAnswer(once, walletAnswer)));
    },
    getWallet: ({ principal, params }) => ({ status: 200, body: wallets.get(principal.subject, params.id) }),
    listWalletAccounts: async ({ principal, params, query }) => ({
      status: 200,
      ...(await wallets.addresses(principal.subject, params.id, query, query)),
    }),
  };
}

function accountAnswer(made: AccountJson) {
  return { status: 201, body: made, headers: { Location: `/api/v1/accounts/${made.id}` } } as const;
}

function walletAnswer(made: WalletJson) {
  return { status: 201, body: made, headers: { Location: `/api/v1/wallets/${made.id}` } } as const;
}
