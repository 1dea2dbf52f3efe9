/**
 * Shapes and routes of oracles, bridges and prices. Oracles and bridges are what an application states about feeds and
 * about links between networks; nothing in them is fetched.
 */
import Type, { type Static } from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import {
  closed,
  Description,
  Name,
  NameFilter,
  nullable,
  SAID_OWNER,
  Timestamp,
  Uuid,
} from "../../platform/contract/schemas.js";

const Params = Type.Record(Type.String(), Type.Unknown(), { maxProperties: 100 });
const Url = Type.String({ minLength: 1, maxLength: 1000, pattern: "^https?://[^\\s]+$" });
const MADE = { id: Uuid, created_at: Timestamp, application_id: Uuid };

export const Oracle = closed(
  {
    ...MADE,
    network_id: Uuid,
    contract_id: nullable(Uuid),
    name: Type.String(),
    feed_url: nullable(Type.String()),
    params: nullable(Params),
    attachment_ids: Type.Array(Uuid),
  },
  { description: "Oracle: a feed whose values are written to a contract" },
);
const CreateOracleBody = closed({
  name: Name,
  network_id: Uuid,
  contract_id: Type.Optional(nullable(Uuid)),
  feed_url: Type.Optional(nullable(Url)),
  params: Type.Optional(nullable(Params)),
  attachment_ids: Type.Optional(Type.Array(Uuid, { maxItems: 100 })),
  ...SAID_OWNER,
});

export const Bridge = closed(
  {
    ...MADE,
    network_id: Uuid,
    destination_network_id: nullable(Uuid),
    contract_id: nullable(Uuid),
    name: Type.String(),
    type: nullable(Type.String()),
    description: nullable(Type.String()),
    params: nullable(Params),
  },
  { description: "Bridge: a link from one network to another" },
);
const CreateBridgeBody = closed({
  name: Name,
  network_id: Uuid,
  destination_network_id: Type.Optional(nullable(Uuid)),
  contract_id: Type.Optional(nullable(Uuid)),
  type: Type.Optional(nullable(Name)),
  description: Type.Optional(nullable(Description)),
  params: Type.Optional(nullable(Params)),
  ...SAID_OWNER,
});
const RegistrationQuery = closed({ network_id: Type.Optional(Uuid), name: Type.Optional(NameFilter) });
const RegistrationParams = closed({ id: Uuid });

const Usd = Type.Optional(Type.Number({ description: "US dollars; absent when the feed does not answer" }));
export const Prices = closed(
  {
    btcusd: Usd,
    ethusd: Usd,
    ltcusd: Usd,
    prvdusd: Type.Optional(Type.Number({ description: "never set, as no feed has this price" })),
  },
  { description: "Prices; only those that a feed answers" },
);

export type OracleJson = Static<typeof Oracle>;
export type BridgeJson = Static<typeof Bridge>;
export type PricesJson = Static<typeof Prices>;
export type CreateOracleInput = Static<typeof CreateOracleBody>;
export type CreateBridgeInput = Static<typeof CreateBridgeBody>;

const APPLICATION = ["application"] as const;
const READ = { permissions: ["read"], subjects: APPLICATION } as const;
const CREATE = { permissions: ["create"], subjects: APPLICATION } as const;
const DELETE = { permissions: ["delete"], subjects: APPLICATION } as const;
const CREATE_ERRORS = ["not_found", "network_limit_reached", "storage_full"] as const;
const oracle = { description: "The oracle", schema: Oracle } as const;
const bridge = { description: "The bridge", schema: Bridge } as const;
/** The id of Ethereum mainnet, for the examples. */
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
    keepsOnce: true,
    body: CreateOracleBody,
    anyCase: true,
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
    summary: "Delete an oracle",
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
    keepsOnce: true,
    body: CreateBridgeBody,
    anyCase: true,
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
    summary: "Delete a bridge",
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
      "Prices from Chainlink's feeds on Ethereum mainnet, at most a minute old. A price is absent unless its feed answers, which needs a node of mainnet that the operator has configured.",
    responses: { 200: { description: "Prices", schema: Prices } },
  }),
} as const;
