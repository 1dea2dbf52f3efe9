/** Shapes of provers that others may use. */
import Type, { type Static } from "typebox";
import { Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";
import { Prover } from "../schemas.js";

/** What a grant may allow; whoever may prove may verify. */
export const RIGHTS = ["verify", "prove"] as const;
const Right = Type.Enum([...RIGHTS], { description: "verify, or prove and verify" });

const Grantee = (kind: string) => nullable(Type.String({ ...Uuid, description: `UUID of the ${kind} that may` }));

export const ProverGrant = Type.Object(
  {
    id: Uuid,
    created_at: Timestamp,
    prover_id: Uuid,
    user_id: Grantee("user"),
    application_id: Grantee("application"),
    organization_id: Grantee("organization"),
    anyone: Type.Boolean({ description: "every token of this server may" }),
    may: Right,
  },
  { description: "allows others to use a prover" },
);
export type ProverGrant = Static<typeof ProverGrant>;

export const CreateProverGrant = closed(
  {
    user_id: Type.Optional(Grantee("user")),
    application_id: Type.Optional(Grantee("application")),
    organization_id: Type.Optional(Grantee("organization")),
    anyone: Type.Optional(Type.Boolean({ description: "true for every token of this server, which may verify only" })),
    may: Type.Optional(
      Type.Enum([...RIGHTS], { description: "prove unless said; of a grant for anyone verify, the only one there is" }),
    ),
  },
  { description: "one of user_id, application_id, organization_id and anyone, and what it may" },
);
export type CreateProverGrant = Static<typeof CreateProverGrant>;

const { id, created_at, name, description, identifier, provider } = Prover.properties;
const { proving_scheme, curve, status, trusted_setup, setup, nullifier } = Prover.properties;
/** What others see of a prover: what they need to use its proofs and to judge its keys. */
export const SharedProver = Type.Object(
  {
    ...{ id, created_at, name, description, identifier, provider },
    ...{ proving_scheme, curve, status, trusted_setup, setup, nullifier },
    may: Type.Array(Right, { description: "what the caller may do with it" }),
    shared_by: Type.String({ description: "its owner: user, application or organization, a colon, and the UUID" }),
  },
  { description: "another's prover that the caller may use" },
);
export type SharedProver = Static<typeof SharedProver>;

export const GrantParams = closed({ id: Uuid, grant_id: Uuid });
