/** Shapes of tokens on the wire: personal access tokens, and the rows of token lists. */
import Type, { type Static } from "typebox";
import { Name, Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";

const Permissions = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, description: "bit-set of generic permissions" });
/** Longest life of a personal access token: a year and a day. */
const LIFE_DAYS_MAX = 366;

export const TokenRow = closed(
  {
    id: Type.String({ description: "id of the session or personal access token" }),
    created_at: Timestamp,
    kind: Type.Union([Type.Literal("session"), Type.Literal("personal")]),
    subject: Type.String({ description: "`user:<uuid>`, `application:<uuid>` or `organization:<uuid>`" }),
    name: nullable(Type.String({ description: "of a personal access token; null for sessions" })),
    scope: Type.String({ description: "granted scope; empty for personal access tokens" }),
    permissions: Permissions,
    expires_at: Timestamp,
    last_used_at: nullable(
      Type.String({
        ...Timestamp,
        description: "last use of a personal access token, to the minute; never set for sessions",
      }),
    ),
    client_id: nullable(Type.String({ description: "OAuth client that holds the tokens; null for other tokens" })),
    acting_user_id: nullable(Type.String({ description: "user on whose behalf the tokens act" })),
  },
  { description: "A session or personal access token, without its text" },
);
export const TokenRowList = Type.Array(TokenRow, { maxItems: 100 });
/** Sessions have no name. */
const NameFilter = Type.Optional(
  Type.String({ maxLength: 201, description: "returns only personal access tokens with this name" }),
);
export const TokenQuery = closed({ user_id: Type.Optional(Uuid), name: NameFilter });
export const TenantTokenQuery = closed({ name: NameFilter });
/** Takes no name: one that was overlooked would revoke everything. */
export const RevokeTokensQuery = closed({ user_id: Type.Optional(Uuid) });

export const CreatePersonalTokenBody = closed({
  name: Name,
  permissions: Type.Optional(Permissions),
  expires_in_days: Type.Optional(Type.Integer({ minimum: 1, maximum: LIFE_DAYS_MAX, description: "90 by default" })),
});
export const PersonalToken = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    name: Type.String(),
    permissions: Permissions,
    expires_at: Timestamp,
    access_token: Type.String({
      description: "for `Authorization: bearer`; returned only once, the server keeps only its hash",
    }),
  },
  { description: "Personal access token" },
);

export type CreatePersonalTokenInput = Static<typeof CreatePersonalTokenBody>;
export type PersonalTokenJson = Static<typeof PersonalToken>;
export type TokenRowJson = Static<typeof TokenRow>;
