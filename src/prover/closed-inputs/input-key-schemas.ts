/** Keys to which inputs are encrypted, as the API shows them. */
import Type, { type Static } from "typebox";
import { Uuid } from "../../platform/contract/schemas.js";

export const InputKey = Type.Object(
  {
    kid: Uuid,
    kty: Type.Literal("OKP"),
    crv: Type.Literal("X25519"),
    x: Type.String(),
    use: Type.Literal("enc"),
    alg: Type.Literal("ECDH-ES+A256KW"),
  },
  { description: "a public key as a JSON Web Key (RFC 8037)" },
);
export type InputKey = Static<typeof InputKey>;

export const InputKeys = Type.Object({ keys: Type.Array(InputKey, { description: "oldest first" }) });
