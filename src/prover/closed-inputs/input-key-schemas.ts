/** Keys to which inputs are encrypted, as the API shows them. */
import Type, { type Static } from "typebox";
import { Uuid } from "../../platform/contract/schemas.js";

const USE = { use: Type.Literal("enc"), alg: Type.Literal("ECDH-ES+A256KW") };
const X25519 = { kid: Uuid, kty: Type.Literal("OKP"), crv: Type.Literal("X25519"), x: Type.String(), ...USE };
const P256 = {
  ...{ kid: Uuid, kty: Type.Literal("EC"), crv: Type.Literal("P-256"), x: Type.String(), y: Type.String() },
  ...USE,
};

export const CreateInputKey = Type.Object(
  {
    crv: Type.Optional(
      Type.Union([Type.Literal("X25519"), Type.Literal("P-256")], {
        default: "X25519",
        description: "P-256 for senders whose hardware or WebCrypto has no X25519",
      }),
    ),
  },
  { additionalProperties: false },
);
export type CreateInputKey = Static<typeof CreateInputKey>;

export const InputKey = Type.Union([Type.Object(X25519), Type.Object(P256)], {
  description: "a public key as a JSON Web Key (RFC 8037, RFC 7518)",
});
export type InputKey = Static<typeof InputKey>;

export const InputKeys = Type.Object({ keys: Type.Array(InputKey, { description: "oldest first" }) });
