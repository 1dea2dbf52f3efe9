/** Binds the routes of accounts and wallets to their services. */
import type { HandlersFor } from "../../platform/contract/route.js";
import type { accountRoutes } from "./account-routes.js";
import type { Accounts } from "./accounts.js";
import type { TokenBalances } from "./token-balances.js";
import type { Wallets } from "./wallets.js";

export interface AccountHandlerDependencies {
  readonly accounts: Accounts;
  readonly tokenBalances: TokenBalances;
  readonly wallets: Wallets;
}

/** Returns the handlers of the routes of accounts and wallets. */
export function accountHandlers({
  accounts,
  tokenBalances,
  wallets,
}: AccountHandlerDependencies): HandlersFor<typeof accountRoutes> {
  return {
    listAccounts: ({ principal, query }) => ({ status: 200, ...accounts.list(principal.subject, query, query) }),
    createAccount: async ({ principal, body }) => {
      const account = await accounts.create(principal.subject, body);
      return { status: 201, body: account, headers: { Location: `/api/v1/accounts/${account.id}` } };
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
    createWallet: async ({ principal, body }) => {
      const wallet = await wallets.create(principal.subject, body ?? {});
      return { status: 201, body: wallet, headers: { Location: `/api/v1/wallets/${wallet.id}` } };
    },
    getWallet: ({ principal, params }) => ({ status: 200, body: wallets.get(principal.subject, params.id) }),
    listWalletAccounts: async ({ principal, params, query }) => ({
      status: 200,
      ...(await wallets.addresses(principal.subject, params.id, query, query)),
    }),
  };
}
