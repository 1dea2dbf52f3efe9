/**
 * Shapes of oracles and bridges (interoperability 7.5): what an application says of feeds and of links between
 * networks. Nothing here is fetched.
 */
import Type, { type Static } from "typebox";
import { closed, Description, Name, nullable, Timestamp, Uuid } from "../../../platform/contract/schemas.js";

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
  { description: "Oracle: a feed that a contract is told from" },
);
export const CreateOracleBody = closed({
  name: Name,
  network_id: Uuid,
  contract_id: Type.Optional(nullable(Uuid)),
  feed_url: Type.Optional(nullable(Url)),
  params: Type.Optional(nullable(Params)),
  attachment_ids: Type.Optional(Type.Array(Uuid, { maxItems: 100 })),
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
export const CreateBridgeBody = closed({
  name: Name,
  network_id: Uuid,
  destination_network_id: Type.Optional(nullable(Uuid)),
  contract_id: Type.Optional(nullable(Uuid)),
  type: Type.Optional(nullable(Name)),
  description: Type.Optional(nullable(Description)),
  params: Type.Optional(nullable(Params)),
});
export const RegistrationQuery = closed({ network_id: Type.Optional(Uuid) });
export const RegistrationParams = closed({ id: Uuid });

const Usd = nullable(Type.Number({ description: "US dollars" }));
export const Prices = closed(
  { btcusd: Usd, ethusd: Usd, ltcusd: Usd, prvdusd: Usd },
  { description: "Prices, null where no feed tells them" },
);

export type OracleJson = Static<typeof Oracle>;
export type BridgeJson = Static<typeof Bridge>;
export type PricesJson = Static<typeof Prices>;
export type CreateOracleInput = Static<typeof CreateOracleBody>;
export type CreateBridgeInput = Static<typeof CreateBridgeBody>;
