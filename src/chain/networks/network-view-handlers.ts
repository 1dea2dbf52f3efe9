/** Binds the lists below a network to the services of what they list. Throws `not_found` for an unknown network. */
import type { HandlersFor } from "../../platform/contract/route.js";
import { notFound } from "../../platform/errors.js";
import type { Accounts } from "../accounts/accounts.js";
import type { ConnectorService } from "../connectors/connector-service.js";
import type { ContractService } from "../contracts/contract-service.js";
import type { TokenContracts } from "../contracts/token-contracts.js";
import type { networkViewRoutes } from "./network-view-routes.js";
import type { Networks } from "./network-port.js";
import type { Bridges, Oracles } from "./registrations.js";
import type { TransactionService } from "../transactions/transaction-service.js";

interface NetworkViewDependencies {
  readonly networks: Networks;
  readonly accounts: Accounts;
  readonly contracts: ContractService;
  readonly tokens: TokenContracts;
  readonly transactions: TransactionService;
  readonly connectors: ConnectorService;
  readonly oracles: Oracles;
  readonly bridges: Bridges;
}

/** Returns the handlers of all routes in network-view-routes.ts. */
export function networkViewHandlers({
  networks,
  accounts,
  contracts,
  tokens,
  transactions,
  connectors,
  oracles,
  bridges,
}: NetworkViewDependencies): HandlersFor<typeof networkViewRoutes> {
  return {
    listNetworkAccounts: ({ principal: { subject }, params: { id }, query }) => ({
      status: 200,
      ...accounts.list(subject, { network_id: networks.find(subject, id).id }, query),
    }),
    listNetworkAddresses: ({ principal: { subject }, params: { id }, query }) => {
      const { body, total } = accounts.list(subject, { network_id: networks.find(subject, id).id }, query);
      return {
        status: 200,
        body: body.map((account) => ({ id: account.id, address: account.address, type: "account", network_id: id })),
        total,
      };
    },
    listNetworkContracts: ({ principal: { subject }, params: { id }, query }) => ({
      status: 200,
      ...contracts.ofNetwork(subject, networks.find(subject, id).id, query),
    }),
    getNetworkContract: ({ principal: { subject }, params }) => {
      networks.find(subject, params.id);
      return { status: 200, body: onNetwork(contracts.get(subject, params.contract_id), params.id, "contract") };
    },
    listNetworkTokens: async ({ principal: { subject }, params: { id }, query }) => ({
      status: 200,
      ...(await tokens.list(subject, { ...query, network_id: networks.find(subject, id).id })),
    }),
    listNetworkTransactions: ({ principal: { subject }, params: { id }, query }) => ({
      status: 200,
      ...transactions.list(subject, { network_id: networks.find(subject, id).id }, query),
    }),
    getNetworkTransaction: ({ principal: { subject }, params }) => {
      networks.find(subject, params.id);
      return {
        status: 200,
        body: onNetwork(transactions.get(subject, params.transaction_id), params.id, "transaction"),
      };
    },
    listNetworkConnectors: ({ principal: { subject }, params: { id }, query }) => ({
      status: 200,
      ...connectors.list(subject, { ...query, network_id: networks.find(subject, id).id }),
    }),
    listNetworkOracles: ({ principal: { subject }, params: { id }, query }) => ({
      status: 200,
      ...oracles.list(subject, { ...query, network_id: networks.find(subject, id).id }),
    }),
    listNetworkBridges: ({ principal: { subject }, params: { id }, query }) => ({
      status: 200,
      ...bridges.list(subject, { ...query, network_id: networks.find(subject, id).id }),
    }),
  };
}

function onNetwork<T extends { readonly network_id: string }>(found: T, networkId: string, what: string): T {
  if (found.network_id !== networkId) throw notFound(what);
  return found;
}
