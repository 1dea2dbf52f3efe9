/** Routes of oracles, bridges and prices (interoperability 7.5). */
import Type from "typebox";
import { defineRoute } from "../../../platform/contract/route.js";
import {
  Bridge,
  CreateBridgeBody,
  CreateOracleBody,
  Oracle,
  Prices,
  RegistrationParams,
  RegistrationQuery,
} from "./registration-schemas.js";

const APPLICATION = ["application"] as const;
const READ = { permissions: ["read"], subjects: APPLICATION } as const;
const CREATE = { permissions: ["create"], subjects: APPLICATION } as const;
const DELETE = { permissions: ["delete"], subjects: APPLICATION } as const;
const CREATE_ERRORS = ["not_found", "network_limit_reached", "storage_full"] as const;
const oracle = { description: "The oracle", schema: Oracle } as const;
const bridge = { description: "The bridge", schema: Bridge } as const;
/** An id for the documents; the matrix puts a tenant's own in its place. */
const NETWORK = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";

export const registrationRoutes = {
  listOracles: defineRoute({
    id: "listOracles",
    area: "chain",
    method: "GET",
    path: "/api/v1/oracles",
    summary: "List oracles",
    auth: READ,
    list: true,
    query: RegistrationQuery,
    responses: { 200: { description: "Oracles, oldest first", schema: Type.Array(Oracle) } },
  }),
  createOracle: defineRoute({
    id: "createOracle",
    area: "chain",
    method: "POST",
    path: "/api/v1/oracles",
    summary: "Register an oracle",
    auth: CREATE,
    creates: true,
    body: CreateOracleBody,
    responses: { 201: oracle },
    errors: CREATE_ERRORS,
    example: { body: { name: "ETH/USD", network_id: NETWORK, feed_url: "https://feed.example.com/eth" } },
  }),
  getOracle: defineRoute({
    id: "getOracle",
    area: "chain",
    method: "GET",
    path: "/api/v1/oracles/:id",
    summary: "Read an oracle",
    auth: READ,
    params: RegistrationParams,
    responses: { 200: oracle },
    errors: ["not_found"],
  }),
  deleteOracle: defineRoute({
    id: "deleteOracle",
    area: "chain",
    method: "DELETE",
    path: "/api/v1/oracles/:id",
    summary: "Forget an oracle",
    auth: DELETE,
    params: RegistrationParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found", "conflict"],
  }),
  listBridges: defineRoute({
    id: "listBridges",
    area: "chain",
    method: "GET",
    path: "/api/v1/bridges",
    summary: "List bridges",
    auth: READ,
    list: true,
    query: RegistrationQuery,
    responses: { 200: { description: "Bridges, oldest first", schema: Type.Array(Bridge) } },
  }),
  createBridge: defineRoute({
    id: "createBridge",
    area: "chain",
    method: "POST",
    path: "/api/v1/bridges",
    summary: "Register a bridge",
    auth: CREATE,
    creates: true,
    body: CreateBridgeBody,
    responses: { 201: bridge },
    errors: CREATE_ERRORS,
    example: { body: { name: "to the side chain", network_id: NETWORK } },
  }),
  getBridge: defineRoute({
    id: "getBridge",
    area: "chain",
    method: "GET",
    path: "/api/v1/bridges/:id",
    summary: "Read a bridge",
    auth: READ,
    params: RegistrationParams,
    responses: { 200: bridge },
    errors: ["not_found"],
  }),
  deleteBridge: defineRoute({
    id: "deleteBridge",
    area: "chain",
    method: "DELETE",
    path: "/api/v1/bridges/:id",
    summary: "Forget a bridge",
    auth: DELETE,
    params: RegistrationParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found", "conflict"],
  }),
  getPrices: defineRoute({
    id: "getPrices",
    area: "chain",
    method: "GET",
    path: "/api/v1/prices",
    summary: "Read prices",
    auth: { permissions: ["read"] },
    description:
      "From Chainlink's feeds on Ethereum mainnet, when the operator has named a node of it; at most a minute old.",
    responses: { 200: { description: "Prices", schema: Prices } },
  }),
} as const;
