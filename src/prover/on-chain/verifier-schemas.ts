/** Shapes of verifiers on chain on the wire. */
import Type, { type Static } from "typebox";
import { Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";

const VERIFIER_STATUSES = ["queued", "deploying", "checking", "registering", "ready", "unproven", "failed"] as const;
export type VerifierStatus = (typeof VERIFIER_STATUSES)[number];

/** Verifiers that a prover may be created with. */
const PLANS_MAX = 4;
const CONFIRMATIONS_MAX = 1_000;
/** As wallets take it. */
const PATH_CHARACTERS_MAX = 100;
const PROOF_CHARACTERS_MAX = 8_192;
const SIGNALS_MAX = 4_096;

const Address = Type.String({ pattern: "^0x[0-9a-fA-F]{40}$", description: "with its checksum" });
const Word = Type.String({ pattern: "^0x[0-9a-f]{64}$" });
const Digest = Type.String({ pattern: "^[0-9a-f]{64}$" });
const FieldElement = Type.String({ pattern: "^(0|[1-9][0-9]{0,77})$", description: "field element, decimal" });
const Gas = nullable(Type.Integer({ minimum: 0 }));

/** Where a verifier is deployed, and who pays. */
const DEPLOYMENT = {
  network_id: Type.String({ ...Uuid, description: "a network of the caller's, or a public one" }),
  account_id: Type.Optional(Type.String({ ...Uuid, description: "the caller's account that pays; this or a wallet" })),
  wallet_id: Type.Optional(Uuid),
  hd_derivation_path: Type.Optional(
    Type.String({ maxLength: PATH_CHARACTERS_MAX, description: "of `wallet_id`: which of its keys pays" }),
  ),
  confirmations: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: CONFIRMATIONS_MAX,
      description: "blocks to wait for, at most the network's own `confirmations`, which is also the default",
    }),
  ),
  registry_contract_id: Type.Optional(
    nullable(
      Type.String({ ...Uuid, description: "the contract of a registry of the same owner, where it is then entered" }),
    ),
  ),
};

/** A verifier that a prover is created with. */
const VerifierPlan = closed(DEPLOYMENT, { description: "a verifier contract to deploy" });
export type VerifierPlan = Static<typeof VerifierPlan>;
/** Member of the creation of a prover. */
export const PLANNED_VERIFIERS = Type.Array(VerifierPlan, {
  maxItems: PLANS_MAX,
  description:
    "verifier contracts to deploy before the prover is provisioned, which is then `deploying_artifacts` meanwhile. It is provisioned also when a deployment fails, with a warning that says so",
});

/** A valid proof with which a contract is tried. */
const KNOWN_ANSWER = {
  proof_id: Type.Optional(
    Type.String({ ...Uuid, description: "a proof of the caller's with this prover; the node of the network sees it" }),
  ),
  proof: Type.Optional(
    Type.Union([Type.String({ maxLength: PROOF_CHARACTERS_MAX }), Type.Object({}, { additionalProperties: true })], {
      description: "a valid proof, hex or snarkjs' object, with its `public_signals`; the network's node sees it",
    }),
  ),
  public_signals: Type.Optional(Type.Array(Type.Unknown(), { maxItems: SIGNALS_MAX })),
};

export const CreateVerifier = closed(
  { ...DEPLOYMENT, ...KNOWN_ANSWER },
  {
    description:
      "where the verifier is deployed and, of a circuit that is not built in, a valid proof to try it with. The node sees no stored proof but the one that `proof_id` names",
  },
);
export type CreateVerifier = Static<typeof CreateVerifier>;

export const CheckVerifier = closed(KNOWN_ANSWER, { description: "a valid proof in place of the one that is known" });
export type CheckVerifier = Static<typeof CheckVerifier>;

const VerifierFinding = Type.Object(
  { message: Type.String(), code: Type.String({ maxLength: 64 }) },
  { description: "what is wrong" },
);
export type VerifierFinding = Static<typeof VerifierFinding>;

const KnownAnswer = Type.Object(
  {
    origin: Type.Union([Type.Literal("given"), Type.Literal("proof"), Type.Literal("sample")], {
      description: "given with a request, a stored proof that was named, or made of the built-in circuit's own inputs",
    }),
    proof_id: nullable(Uuid),
    public_signals: Type.Array(FieldElement),
    calldata: Type.String({
      pattern: "^0x[0-9a-f]+$",
      description: "a call of `verifyProof` to which the contract must answer true",
    }),
  },
  { description: "the valid proof with which the contract was tried" },
);
export type KnownAnswer = Static<typeof KnownAnswer>;

const Registration = Type.Object(
  {
    contract_id: Uuid,
    transaction_id: nullable(Uuid),
    status: Type.Union([Type.Literal("waiting"), Type.Literal("registered"), Type.Literal("failed")]),
  },
  { description: "its entry in a registry" },
);

export const Verifier = Type.Object(
  {
    id: Uuid,
    created_at: Timestamp,
    updated_at: Timestamp,
    prover_id: Uuid,
    network_id: Uuid,
    account_id: nullable(Uuid),
    wallet_id: nullable(Uuid),
    name: Type.String({ description: "of the contract" }),
    key_hash: nullable(Type.String({ ...Digest, description: "SHA-256 of verifying_key.json, in the contract too" })),
    status: Type.Enum([...VERIFIER_STATUSES], {
      description:
        "ready: deployed, with the right code, accepts a valid proof and refuses wrong ones; unproven: the same, but no valid proof was at hand; failed: see `errors`",
    }),
    contract_id: nullable(Type.String({ ...Uuid, description: "its record under /contracts, with ABI and source" })),
    transaction_id: nullable(Uuid),
    address: nullable(Address),
    code_hash: nullable(Type.String({ ...Word, description: "Keccak-256 of the code on the chain (EXTCODEHASH)" })),
    confirmations: Type.Integer({ minimum: 1, description: "blocks that are waited for" }),
    gas: Type.Object(
      {
        deployment: Gas,
        verification: nullable(
          Type.Integer({
            minimum: 0,
            description:
              "the least gas, in steps of 1,000, with which a transaction to the contract verifies the known answer; with less it answers false",
          }),
        ),
      },
      { description: "gas; null while it is not known" },
    ),
    known_answer: nullable(KnownAnswer),
    registry: nullable(Registration),
    checked_at: nullable(Timestamp),
    errors: Type.Array(VerifierFinding),
  },
  { description: "a contract that verifies the prover's proofs" },
);
export type Verifier = Static<typeof Verifier>;

export const CreateVerifierRegistry = closed(
  {
    network_id: Uuid,
    account_id: Type.Optional(Type.String({ ...Uuid, description: "the account that pays, and owns the registry" })),
    wallet_id: Type.Optional(Uuid),
    hd_derivation_path: Type.Optional(Type.String({ maxLength: PATH_CHARACTERS_MAX })),
  },
  { description: "where a registry is deployed" },
);
export type CreateVerifierRegistry = Static<typeof CreateVerifierRegistry>;

export const VerifierRegistryContract = Type.Object(
  {
    contract_id: Type.String({ ...Uuid, description: "under /contracts; its address is there once it is deployed" }),
    network_id: Uuid,
    name: Type.String(),
    status: Type.String(),
  },
  { description: "a registry that is being deployed" },
);
export type VerifierRegistryContract = Static<typeof VerifierRegistryContract>;

/** What a contract answered in a verification. */
export const OnChainAnswer = Type.Object(
  { verifier_id: Uuid, network_id: Uuid, address: Address, result: Type.Boolean() },
  { description: "the contract's answer, which is the same as the server's" },
);
export type OnChainAnswer = Static<typeof OnChainAnswer>;

export const VerifierParams = closed({ id: Uuid, verifier_id: Uuid });
