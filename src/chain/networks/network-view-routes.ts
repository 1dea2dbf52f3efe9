/** What the caller has on one network, as lists below it (interoperability 7.3). */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import { closed, Uuid } from "../../platform/contract/schemas.js";
import { Account } from "../accounts/account-schemas.js";
import { Connector } from "../connectors/connector-schemas.js";
import { Contract, TokenContract } from "../contracts/contract-schemas.js";
import { NetworkAddress, NetworkParams } from "./network-schemas.js";
import { Bridge, Oracle } from "./registrations/registration-schemas.js";
import { Transaction } from "../transactions/transaction-schemas.js";

const READ = { permissions: ["read"] } as const;

export const networkViewRoutes = {
  listNetworkAccounts: defineRoute({
    id: "listNetworkAccounts", area: "chain", method: "GET", path: "/api/v1/networks/:id/accounts", summary: "List the caller's accounts on a network", auth: READ, list: true,
    params: NetworkParams, responses: { 200: { description: "Accounts, newest first", schema: Type.Array(Account) } }, errors: ["not_found"],
  }),
  listNetworkAddresses: defineRoute({
    id: "listNetworkAddresses", area: "chain", method: "GET", path: "/api/v1/networks/:id/addresses", summary: "List the caller's addresses on a network", auth: READ, list: true,
    params: NetworkParams, responses: { 200: { description: "Addresses", schema: Type.Array(NetworkAddress) } }, errors: ["not_found"],
  }),
  listNetworkContracts: defineRoute({
    id: "listNetworkContracts", area: "chain", method: "GET", path: "/api/v1/networks/:id/contracts", summary: "List the caller's contracts on a network", auth: READ, list: true,
    params: NetworkParams, responses: { 200: { description: "Contracts", schema: Type.Array(Contract) } }, errors: ["not_found"],
  }),
  getNetworkContract: defineRoute({
    id: "getNetworkContract", area: "chain", method: "GET", path: "/api/v1/networks/:id/contracts/:contract_id", summary: "Read a contract of a network", auth: READ,
    params: closed({ id: Uuid, contract_id: Uuid }), responses: { 200: { description: "The contract", schema: Contract } }, errors: ["not_found"],
  }),
  listNetworkTokens: defineRoute({
    id: "listNetworkTokens", area: "chain", method: "GET", path: "/api/v1/networks/:id/tokens", summary: "List the caller's token contracts on a network", auth: READ, list: true,
    params: NetworkParams, responses: { 200: { description: "Token contracts", schema: Type.Array(TokenContract) } }, errors: ["not_found"],
  }),
  listNetworkTransactions: defineRoute({
    id: "listNetworkTransactions", area: "chain", method: "GET", path: "/api/v1/networks/:id/transactions", summary: "List the caller's transactions on a network", auth: READ, list: true,
    params: NetworkParams, responses: { 200: { description: "Transactions, newest first", schema: Type.Array(Transaction) } }, errors: ["not_found"],
  }),
  getNetworkTransaction: defineRoute({
    id: "getNetworkTransaction", area: "chain", method: "GET", path: "/api/v1/networks/:id/transactions/:transaction_id", summary: "Read a transaction of a network", auth: READ,
    params: closed({ id: Uuid, transaction_id: Uuid }), responses: { 200: { description: "The transaction", schema: Transaction } }, errors: ["not_found"],
  }),
  listNetworkConnectors: defineRoute({
    id: "listNetworkConnectors", area: "chain", method: "GET", path: "/api/v1/networks/:id/connectors", summary: "List the caller's connectors on a network", auth: READ, list: true,
    params: NetworkParams, responses: { 200: { description: "Connectors; only applications have any", schema: Type.Array(Connector) } }, errors: ["not_found"],
  }),
  listNetworkOracles: defineRoute({
    id: "listNetworkOracles", area: "chain", method: "GET", path: "/api/v1/networks/:id/oracles", summary: "List the caller's oracles on a network", auth: READ, list: true,
    params: NetworkParams, responses: { 200: { description: "Oracles; only applications have any", schema: Type.Array(Oracle) } }, errors: ["not_found"],
  }),
  listNetworkBridges: defineRoute({
    id: "listNetworkBridges", area: "chain", method: "GET", path: "/api/v1/networks/:id/bridges", summary: "List the caller's bridges from a network", auth: READ, list: true,
    params: NetworkParams, responses: { 200: { description: "Bridges; only applications have any", schema: Type.Array(Bridge) } }, errors: ["not_found"],
  }),
} as const;
