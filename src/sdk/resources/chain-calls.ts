/** Networks, accounts, contracts and connectors. */
import type { Calls } from "../calls.js";
import type { BodyAt, FiltersAt } from "../endpoints.js";
import type { CallOptions } from "../transport.js";

/** Networks and what is known of them. */
export function networkCalls(calls: Calls) {
  return {
    /** Registers a network. */
    create: (body: BodyAt<"POST /api/v1/networks">, options?: CallOptions) =>
      calls.create("POST /api/v1/networks", { body }, options),
    /** Reads a network. */
    get: (id: string, options?: CallOptions) => calls.json("GET /api/v1/networks/:id", { params: { id } }, options),
    /** Lists networks. */
    list: (query?: FiltersAt<"GET /api/v1/networks">, options?: CallOptions) =>
      calls.list("GET /api/v1/networks", { ...(query && { query }) }, options),
    /** Changes a network. */
    update: (id: string, body: BodyAt<"PUT /api/v1/networks/:id">, options?: CallOptions) =>
      calls.json("PUT /api/v1/networks/:id", { params: { id }, body }, options),
    /** Deletes a network. */
    delete: (id: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/networks/:id", { params: { id } }, options),
    /** Reads a network's health and newest block. */
    status: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/networks/:id/status", { params: { id } }, options),
    /** Reads a network's statistics. */
    stats: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/networks/:id/stats", { params: { id } }, options),
    /** Lists the newest blocks. */
    blocks: (id: string, options?: CallOptions) =>
      calls.list("GET /api/v1/networks/:id/blocks", { params: { id } }, options),
    /** Lists the accounts on a network. */
    accounts: (id: string, options?: CallOptions) =>
      calls.list("GET /api/v1/networks/:id/accounts", { params: { id } }, options),
    /** Lists the contracts on a network. */
    contracts: (id: string, options?: CallOptions) =>
      calls.list("GET /api/v1/networks/:id/contracts", { params: { id } }, options),
    /** Lists the transactions on a network. */
    transactions: (id: string, options?: CallOptions) =>
      calls.list("GET /api/v1/networks/:id/transactions", { params: { id } }, options),
    /** Lists the nodes of a network. */
    nodes: (id: string, options?: CallOptions) =>
      calls.list("GET /api/v1/networks/:id/nodes", { params: { id } }, options),
    /** Adds a node. */
    createNode: (id: string, body: BodyAt<"POST /api/v1/networks/:id/nodes">, options?: CallOptions) =>
      calls.json("POST /api/v1/networks/:id/nodes", { params: { id }, body }, options),
    /** Reads a node. */
    node: (id: string, nodeId: string, options?: CallOptions) =>
      calls.json("GET /api/v1/networks/:id/nodes/:node_id", { params: { id, node_id: nodeId } }, options),
    /** Reads the log of a node. */
    nodeLogs: (
      id: string,
      nodeId: string,
      query?: FiltersAt<"GET /api/v1/networks/:id/nodes/:node_id/logs">,
      options?: CallOptions,
    ) =>
      calls.json(
        "GET /api/v1/networks/:id/nodes/:node_id/logs",
        { params: { id, node_id: nodeId }, ...(query && { query }) },
        options,
      ),
    /** Removes a node. */
    deleteNode: (id: string, nodeId: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/networks/:id/nodes/:node_id", { params: { id, node_id: nodeId } }, options),
  };
}

/** Accounts: keys of vaults on a network. */
export function accountCalls(calls: Calls) {
  return {
    /** Makes an account. */
    create: (body: BodyAt<"POST /api/v1/accounts">, options?: CallOptions) =>
      calls.create("POST /api/v1/accounts", { body }, options),
    /** Reads an account. */
    get: (id: string, options?: CallOptions) => calls.json("GET /api/v1/accounts/:id", { params: { id } }, options),
    /** Lists accounts. */
    list: (query?: FiltersAt<"GET /api/v1/accounts">, options?: CallOptions) =>
      calls.list("GET /api/v1/accounts", { ...(query && { query }) }, options),
    /** Reads a balance. */
    balance: (id: string, tokenId: string, options?: CallOptions) =>
      calls.json("GET /api/v1/accounts/:id/balances/:token_id", { params: { id, token_id: tokenId } }, options),
  };
}

/** Wallets: keys from which accounts are derived. */
export function walletCalls(calls: Calls) {
  return {
    /** Makes a wallet. */
    create: (body: BodyAt<"POST /api/v1/wallets">, options?: CallOptions) =>
      calls.create("POST /api/v1/wallets", { body }, options),
    /** Reads a wallet. */
    get: (id: string, options?: CallOptions) => calls.json("GET /api/v1/wallets/:id", { params: { id } }, options),
    /** Lists wallets. */
    list: (options?: CallOptions) => calls.list("GET /api/v1/wallets", {}, options),
    /** Lists the accounts of a wallet. */
    accounts: (id: string, query?: FiltersAt<"GET /api/v1/wallets/:id/accounts">, options?: CallOptions) =>
      calls.list("GET /api/v1/wallets/:id/accounts", { params: { id }, ...(query && { query }) }, options),
  };
}

/** Contracts. */
export function contractCalls(calls: Calls) {
  return {
    /** Deploys a contract, or registers one. */
    create: (body: BodyAt<"POST /api/v1/contracts">, options?: CallOptions) =>
      calls.create("POST /api/v1/contracts", { body }, options),
    /** Reads a contract. */
    get: (id: string, options?: CallOptions) => calls.json("GET /api/v1/contracts/:id", { params: { id } }, options),
    /** Lists contracts. */
    list: (query?: FiltersAt<"GET /api/v1/contracts">, options?: CallOptions) =>
      calls.list("GET /api/v1/contracts", { ...(query && { query }) }, options),
    /** Changes a contract's record. */
    update: (id: string, body: BodyAt<"PUT /api/v1/contracts/:id">, options?: CallOptions) =>
      calls.json("PUT /api/v1/contracts/:id", { params: { id }, body }, options),
    /** Forgets a contract. */
    delete: (id: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/contracts/:id", { params: { id } }, options),
    /** Calls a method: reads, or sends a transaction. */
    execute: (id: string, body: BodyAt<"POST /api/v1/contracts/:id/execute">, options?: CallOptions) =>
      calls.create("POST /api/v1/contracts/:id/execute", { params: { id }, body }, options),
    /** Makes a token for the events of a contract. */
    subscribe: (id: string, body?: BodyAt<"POST /api/v1/contracts/:id/subscriptions">, options?: CallOptions) =>
      calls.json("POST /api/v1/contracts/:id/subscriptions", { params: { id }, ...(body && { body }) }, options),
  };
}

/** Contracts of tokens. */
export function tokenContractCalls(calls: Calls) {
  return {
    /** Registers a token's contract. */
    create: (body: BodyAt<"POST /api/v1/token_contracts">, options?: CallOptions) =>
      calls.create("POST /api/v1/token_contracts", { body }, options),
    /** Reads a token's contract. */
    get: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/token_contracts/:id", { params: { id } }, options),
    /** Lists token contracts. */
    list: (query?: FiltersAt<"GET /api/v1/token_contracts">, options?: CallOptions) =>
      calls.list("GET /api/v1/token_contracts", { ...(query && { query }) }, options),
  };
}

/** Connectors to other services. */
export function connectorCalls(calls: Calls) {
  return {
    /** Makes a connector. */
    create: (body: BodyAt<"POST /api/v1/connectors">, options?: CallOptions) =>
      calls.create("POST /api/v1/connectors", { body }, options),
    /** Reads a connector. */
    get: (id: string, query?: FiltersAt<"GET /api/v1/connectors/:id">, options?: CallOptions) =>
      calls.json("GET /api/v1/connectors/:id", { params: { id }, ...(query && { query }) }, options),
    /** Lists connectors. */
    list: (query?: FiltersAt<"GET /api/v1/connectors">, options?: CallOptions) =>
      calls.list("GET /api/v1/connectors", { ...(query && { query }) }, options),
    /** Changes a connector. */
    update: (id: string, body: BodyAt<"PUT /api/v1/connectors/:id">, options?: CallOptions) =>
      calls.json("PUT /api/v1/connectors/:id", { params: { id }, body }, options),
    /** Deletes a connector. */
    delete: (id: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/connectors/:id", { params: { id } }, options),
    /** Reads the log of a connector's container. */
    logs: (id: string, query?: FiltersAt<"GET /api/v1/connectors/:id/logs">, options?: CallOptions) =>
      calls.json("GET /api/v1/connectors/:id/logs", { params: { id }, ...(query && { query }) }, options),
    /** Lists what a connector holds. */
    entities: (id: string, query?: FiltersAt<"GET /api/v1/connectors/:id/entities">, options?: CallOptions) =>
      calls.list("GET /api/v1/connectors/:id/entities", { params: { id }, ...(query && { query }) }, options),
  };
}

/** Transactions. */
export function transactionCalls(calls: Calls) {
  return {
    /** Sends a transaction, signed by a key of a vault. */
    create: (body: BodyAt<"POST /api/v1/transactions">, options?: CallOptions) =>
      calls.create("POST /api/v1/transactions", { body }, options),
    /** Broadcasts a transaction that the caller signed. */
    broadcast: (body: BodyAt<"POST /api/v1/transactions/broadcast">, options?: CallOptions) =>
      calls.create("POST /api/v1/transactions/broadcast", { body }, options),
    /** Reads a transaction, by its id or ref. */
    get: (id: string, options?: CallOptions) => calls.json("GET /api/v1/transactions/:id", { params: { id } }, options),
    /** Lists transactions, newest first. */
    list: (query?: FiltersAt<"GET /api/v1/transactions">, options?: CallOptions) =>
      calls.list("GET /api/v1/transactions", { ...(query && { query }) }, options),
    /** Raises the fees of a transaction. */
    bump: (id: string, body?: BodyAt<"POST /api/v1/transactions/:id/bump">, options?: CallOptions) =>
      calls.json("POST /api/v1/transactions/:id/bump", { params: { id }, ...(body && { body }) }, options),
    /** Cancels a transaction. */
    cancel: (id: string, options?: CallOptions) =>
      calls.json("POST /api/v1/transactions/:id/cancel", { params: { id } }, options),
  };
}
