/** Shapes of the keys that sign statements of the server, and of their published sets. */
import Type, { type Static } from "typebox";
import { Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";

/** The one algorithm of signed statements. */
export const SIGNING_ALGORITHM = "EdDSA";

const JWK_MEMBERS = {
  kty: Type.Literal("OKP"),
  crv: Type.Literal("Ed25519"),
  alg: Type.Literal(SIGNING_ALGORITHM),
  use: Type.Literal("sig"),
  kid: Uuid,
  x: Type.String({ pattern: "^[A-Za-z0-9_-]{43}$" }),
};

/**
 * Returns the schema of a JWK set (RFC 7517, section 5), whose further member readers ignore that do not know it.
 * @param statements what the keys sign, in the plural
 */
export function keySetSchema(statements: string) {
  const published = Type.Object(JWK_MEMBERS, { description: "a public key (RFC 8037)" });
  const revoked = Type.Object(
    { ...JWK_MEMBERS, revoked_at: Timestamp, reason: nullable(Type.String()) },
    { description: `a key whose ${statements} are no longer worth anything, whenever they say that they were signed` },
  );
  return Type.Object({
    keys: Type.Array(published, { description: `keys whose ${statements} are good, earlier ones included` }),
    revoked_keys: Type.Array(revoked, { description: "keys that are no longer to be trusted" }),
  });
}

/**
 * Returns the schema of a key as its owner reads it.
 * @param statements what the key signs, in the plural
 */
export function signingKeySchema(statements: string) {
  return Type.Object(
    {
      kid: Type.String({ ...Uuid, description: "the id of the key in the prover's vault" }),
      created_at: Timestamp,
      state: Type.Enum(["current", "retired", "revoked"], {
        description: `retired: signs no more, its ${statements} stay good; revoked: its ${statements} are worth nothing`,
      }),
      retired_at: nullable(Timestamp),
      revoked_at: nullable(Timestamp),
      reason: nullable(Type.String()),
    },
    { description: `a key that signs ${statements}` },
  );
}

export type SigningKeySet = Static<ReturnType<typeof keySetSchema>>;
export type SigningKey = Static<ReturnType<typeof signingKeySchema>>;

const REASON_LENGTH_MAX = 200;
/** What is said of a key that is revoked. */
export const RevokeSigningKey = closed({
  reason: Type.Optional(
    Type.String({
      maxLength: REASON_LENGTH_MAX,
      pattern: "^[^\\u0000-\\u001f\\u007f]*$",
      description: "published with the key",
    }),
  ),
});
export const SigningKeyParams = closed({ id: Uuid, kid: Uuid });
