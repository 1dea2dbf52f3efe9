/** Routes of contracts and token contracts. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import {
  Contract,
  ContractFilters,
  ContractIdParams,
  CreateContract,
  CreateTokenContract,
  ExecuteContract,
  ReadResult,
  TokenContract,
  TokenFilters,
  TokenIdParams,
  UpdateContract,
  WriteResult,
} from "./contract-schemas.js";

/** A mebibyte of source, or an artifact, with room for JSON's escapes. */
const CREATE_BODY_BYTES_MAX = 3 * 1024 * 1024;
/** An ABI of 2,000 entries with their parameters. */
const CREATE_TOKENS_MAX = 200_000;
const EXECUTE_BODY_BYTES_MAX = 512 * 1024;
const EXECUTE_TOKENS_MAX = 20_000;
/** A node is asked several questions in a row. */
const NODE_DEADLINE_MS = 45_000;

const READ = { permissions: ["read"] } as const;
const CREATE = { permissions: ["create"] } as const;
const UPDATE = { permissions: ["update"] } as const;
const DELETE = { permissions: ["delete"] } as const;
const contractJson = { description: "The contract", schema: Contract } as const;
const tokenJson = { description: "The token", schema: TokenContract } as const;
const NODE_ERRORS = [
  "network_unreachable",
  "network_timeout",
  "network_answer_invalid",
  "network_chain_mismatch",
] as const;
const SUBMISSION_ERRORS = [
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
] as const;
const CREATION_ERRORS = [
  "not_found",
  "forbidden",
  "abi_invalid",
  "bytecode_invalid",
  "libraries_unlinked",
  "argument_invalid",
  "source_invalid",
  "contract_limit_reached",
  "too_many_requests",
] as const;
const EXAMPLE_NETWORK = "2fd61fde-5031-41f1-86b8-8a72e2945ead";

export const contractRoutes = {
  listContracts: defineRoute({
    id: "listContracts",
    area: "chain",
    method: "GET",
    path: "/api/v1/contracts",
    summary: "List contracts",
    auth: READ,
    list: true,
    description:
      "Oldest first, or last used first with `sort=recent`. Token contracts are left out unless `filter_tokens=false`.",
    query: ContractFilters,
    responses: { 200: { description: "Contracts", schema: Type.Array(Contract) } },
    errors: ["not_found"],
  }),
  createContract: defineRoute({
    id: "createContract",
    area: "chain",
    method: "POST",
    path: "/api/v1/contracts",
    summary: "Register or deploy a contract",
    auth: CREATE,
    creates: true,
    keepsOnce: true,
    description:
      "A contract with an address is registered. One without an address and with a signer in `params` (which needs `vault_use`) is deployed; its address is `0x` until the transaction is mined, and a constructor that would revert is refused with its reason. Without a signer it can be deployed later by POST /contracts/:id/execute with an empty method. Source is compiled first (202), by solc 0.8.37; imports resolve to the given files only, and failures are listed in the contract's `errors`.",
    body: CreateContract,
    bodyBytesMax: CREATE_BODY_BYTES_MAX,
    jsonTokensMax: CREATE_TOKENS_MAX,
    deadlineMs: NODE_DEADLINE_MS,
    responses: { 201: contractJson, 202: contractJson },
    errors: [...CREATION_ERRORS, ...SUBMISSION_ERRORS, ...NODE_ERRORS],
    example: {
      body: {
        network_id: EXAMPLE_NETWORK,
        name: "Counter",
        address: "0x",
        params: {
          compiled_artifact: {
            contractName: "Counter",
            abi: [],
            bytecode: "0x600a600c600039600a6000f3602a60005260206000f3",
          },
        },
      },
    },
  }),
  createPublicContract: defineRoute({
    id: "createPublicContract",
    area: "chain",
    method: "POST",
    path: "/api/v1/public/contracts",
    summary: "Register a deployed contract",
    auth: CREATE,
    creates: true,
    keepsOnce: true,
    description: "Works as POST /contracts, but never deploys: the request must have an address.",
    body: CreateContract,
    bodyBytesMax: CREATE_BODY_BYTES_MAX,
    jsonTokensMax: CREATE_TOKENS_MAX,
    deadlineMs: NODE_DEADLINE_MS,
    responses: { 201: contractJson, 202: contractJson },
    errors: ["contract_address_missing", ...CREATION_ERRORS, "storage_full"],
    example: {
      body: { network_id: EXAMPLE_NETWORK, name: "Registry", address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8" },
    },
  }),
  getContract: defineRoute({
    id: "getContract",
    area: "chain",
    method: "GET",
    path: "/api/v1/contracts/:id",
    summary: "Read a contract",
    auth: READ,
    params: ContractIdParams,
    responses: { 200: contractJson },
    errors: ["not_found", "contract_ambiguous"],
  }),
  updateContract: defineRoute({
    id: "updateContract",
    area: "chain",
    method: "PUT",
    path: "/api/v1/contracts/:id",
    summary: "Change a contract's name, type or ABI",
    auth: UPDATE,
    params: ContractIdParams,
    body: UpdateContract,
    sendsBack: Contract,
    bodyBytesMax: CREATE_BODY_BYTES_MAX,
    jsonTokensMax: CREATE_TOKENS_MAX,
    responses: { 204: { description: "Changed" } },
    errors: ["not_found", "contract_ambiguous", "abi_invalid", "conflict", "storage_full"],
    example: { body: { name: "Counter, second edition" } },
  }),
  deleteContract: defineRoute({
    id: "deleteContract",
    area: "chain",
    method: "DELETE",
    path: "/api/v1/contracts/:id",
    summary: "Delete a contract",
    auth: DELETE,
    description:
      "Deletes the record; the contract on its chain stays as it is. A deployment that is under way continues without the record.",
    params: ContractIdParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found", "contract_ambiguous", "conflict"],
  }),
  executeContract: defineRoute({
    id: "executeContract",
    area: "chain",
    method: "POST",
    path: "/api/v1/contracts/:id/execute",
    summary: "Call a contract's method",
    auth: READ,
    creates: true,
    keepsOnce: true,
    deadlineMs: NODE_DEADLINE_MS,
    description:
      "View and pure methods are answered at once (200). All others become a transaction (202), which needs a signer, `create` and `vault_use`; a call that would revert is refused with its reason.",
    params: ContractIdParams,
    body: ExecuteContract,
    bodyBytesMax: EXECUTE_BODY_BYTES_MAX,
    jsonTokensMax: EXECUTE_TOKENS_MAX,
    responses: {
      200: { description: "The value that the method returns", schema: ReadResult },
      202: { description: "The transaction is submitted", schema: WriteResult },
    },
    errors: [
      "not_found",
      "forbidden",
      "contract_ambiguous",
      "contract_not_deployed",
      "contract_deployed",
      "contract_answer_invalid",
      "method_unknown",
      "method_ambiguous",
      "argument_invalid",
      "bytecode_invalid",
      "option_unsupported",
      ...SUBMISSION_ERRORS,
      ...NODE_ERRORS,
    ],
    example: { body: { method: "balanceOf", params: ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"] } },
  }),
  listTokenContracts: defineRoute({
    id: "listTokenContracts",
    area: "chain",
    method: "GET",
    path: "/api/v1/token_contracts",
    summary: "List token contracts",
    auth: READ,
    list: true,
    description: "Contracts whose type is erc20, erc721 or erc1155.",
    query: TokenFilters,
    responses: { 200: { description: "Tokens", schema: Type.Array(TokenContract) } },
  }),
  createTokenContract: defineRoute({
    id: "createTokenContract",
    area: "chain",
    method: "POST",
    path: "/api/v1/token_contracts",
    summary: "Register a token contract",
    auth: CREATE,
    creates: true,
    keepsOnce: true,
    deadlineMs: NODE_DEADLINE_MS,
    body: CreateTokenContract,
    anyCase: true,
    responses: { 201: tokenJson },
    errors: [
      "not_found",
      "forbidden",
      "not_a_token",
      "contract_not_deployed",
      "contract_limit_reached",
      "conflict",
      "storage_full",
      ...NODE_ERRORS,
    ],
    example: {
      body: {
        network_id: EXAMPLE_NETWORK,
        address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        type: "erc20",
        name: "Example",
        symbol: "EXM",
        decimals: 18,
      },
    },
  }),
  getTokenContract: defineRoute({
    id: "getTokenContract",
    area: "chain",
    method: "GET",
    path: "/api/v1/token_contracts/:id",
    summary: "Read a token contract",
    auth: READ,
    params: TokenIdParams,
    responses: { 200: tokenJson },
    errors: ["not_found"],
  }),
} as const;
