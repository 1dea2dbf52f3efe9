/** Shapes of receipts: what a receipt says, the keys that check it, and what is done with those keys. */
import Type, { type Static } from "typebox";
import { Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";
import {
  RevokeSigningKey,
  SIGNING_ALGORITHM,
  SigningKeyParams,
  keySetSchema,
  signingKeySchema,
  type SigningKey,
  type SigningKeySet,
} from "./signing-key-schemas.js";

/** The header's `typ` (RFC 8725, section 3.11): a receipt is no other token, and no other token is a receipt. */
export const RECEIPT_TYPE = "proofwright-receipt+jwt";
/** The one algorithm of receipts. */
export const RECEIPT_ALGORITHM = SIGNING_ALGORITHM;
/** The version of the claims; a member more does not change it, a member less or of another meaning does. */
export const RECEIPT_VERSION = 1;
/** More public signals are named by their hash alone, so that a receipt stays a few kilobytes. */
export const LISTED_SIGNALS_MAX = 256;
/** Path of the format's schema. */
export const RECEIPT_SCHEMA_PATH = "/schemas/receipt.json";

const Digest = Type.String({ pattern: "^[0-9a-f]{64}$", description: "SHA-256, lower-case hex" });
const FieldElement = Type.String({ pattern: "^(0|[1-9][0-9]{0,77})$", description: "field element, decimal" });

/** What checks a proof beside the server's own verifier, which is `proofwright`. */
const CHECKERS = ["proofwright", "noble", "evm", "ffjavascript", "contract"] as const;
export type Checker = (typeof CHECKERS)[number];
export const CheckerName = Type.Enum([...CHECKERS], {
  description:
    "proofwright: the server's verifier; noble: verifiers written on @noble/curves; evm: the Solidity verifier in an EVM; ffjavascript: the server's verifier on ffjavascript's arithmetic, where there is no contract; contract: the verifier contract that `on_chain` names",
});

const ReceiptProver = closed(
  {
    id: Uuid,
    name: Type.String(),
    tag: nullable(Type.String({ description: "`name:tag` by which the caller named it; null for its id" })),
  },
  { description: "the prover" },
);

const ReceiptCircuit = closed(
  {
    identifier: Type.String({
      description:
        "of a source prover `source-` and the first 16 digits of its source's hash, also for others than its owner",
    }),
    r1cs_sha256: nullable(Type.String({ ...Digest, description: "of circuit.r1cs; null where the prover has none" })),
    source_sha256: nullable(
      Type.String({
        ...Digest,
        description: "the prover's source_hash; null for an import, and in receipts of others than its owner",
      }),
    ),
  },
  { description: "the circuit" },
);

const ReceiptSetup = closed(
  {
    kind: Type.String({ description: "the prover's trusted_setup" }),
    transcript_sha256: nullable(
      Type.String({ ...Digest, description: "of the ceremony's transcript, where there is one" }),
    ),
    reference_string: nullable(
      closed({
        origin: Type.String({ description: "ceremony or development" }),
        sha256: Digest,
        power: Type.Integer({ minimum: 1, maximum: 28 }),
      }),
    ),
  },
  { description: "how the keys were made" },
);

const ReceiptNote = closed(
  {
    store_id: Uuid,
    index: Type.Integer({ minimum: 0 }),
    root: Type.String({
      ...Digest,
      description: "root of the note store when it had `size` notes, this one among them",
    }),
    size: Type.Integer({ minimum: 1 }),
  },
  { description: "where the note of the proof is" },
);

/** A proof spends its nullifier and the note that it replaces, each under one key. */
const SPENT_KEYS_MAX = 8;
const ReceiptSpentKey = closed(
  {
    key: Type.String({ pattern: "^[0-9a-f]{64}$", description: "field element, 32 bytes in hex, big-endian" }),
    index: Type.Integer({ minimum: 0, description: "how many keys the store had before" }),
    size: Type.Integer({ minimum: 1 }),
    root: Type.String({ ...Digest, description: "root of the nullifier store when it had `size` keys" }),
  },
  { description: "a key that was spent in a nullifier store, in the commit that stored or verified the proof" },
);

const ReceiptContract = closed(
  {
    network_id: Uuid,
    chain_id: Type.Integer({ minimum: 0, description: "of the network (EIP-155)" }),
    address: Type.String({ pattern: "^0x[0-9a-fA-F]{40}$", description: "checksummed (EIP-55)" }),
    code_hash: Type.String({
      pattern: "^0x[0-9a-f]{64}$",
      description: "Keccak-256 of the contract's code (EXTCODEHASH), as it was when the contract was last tried",
    }),
  },
  { description: "the verifier contract that was asked, and answered the same; absent where none was asked" },
);

/** The claims of a receipt, the payload of its JWS. */
export const ReceiptClaims = closed(
  {
    iss: Type.String({ maxLength: 2048, description: "issuer: the server's, as its access tokens have it" }),
    sub: Type.String({ ...Uuid, description: "the prover's id" }),
    jti: Type.String({ ...Uuid, description: "the receipt's own id" }),
    iat: Type.Integer({ minimum: 0, description: "when it was signed, in seconds since 1970" }),
    time: Timestamp,
    version: Type.Literal(RECEIPT_VERSION),
    action: Type.Union([Type.Literal("prove"), Type.Literal("verify")], {
      description: "prove: the server made the proof and verified it; verify: it verified a proof that it was given",
    }),
    result: Type.Boolean({ description: "whether the proof is valid; a receipt may also say that one is not" }),
    prover: ReceiptProver,
    circuit: ReceiptCircuit,
    scheme: Type.String(),
    curve: Type.String(),
    setup: ReceiptSetup,
    keys: closed({
      verifying_sha256: Type.String({ ...Digest, description: "of verifying_key.json" }),
      proving_sha256: nullable(Type.String({ ...Digest, description: "of proving_key, in receipts of prove" })),
    }),
    public_signals: nullable(
      Type.Array(FieldElement, {
        maxItems: LISTED_SIGNALS_MAX,
        description: "outputs, then public inputs; null where there are more than 256",
      }),
    ),
    public_signals_count: Type.Integer({ minimum: 0 }),
    public_signals_sha256: Type.String({ ...Digest, description: "of all of them, 32 bytes each, big-endian" }),
    proof_sha256: Type.String({ ...Digest, description: "of the bytes of the proof in its hex form" }),
    statement_sha256: Type.String({
      ...Digest,
      description:
        "of `pv/v1/proof`, the prover's id (16 bytes), the verifying key's hash (32 bytes) and the public signals (32 bytes each, big-endian)",
    }),
    note: nullable(ReceiptNote),
    spent: Type.Array(ReceiptSpentKey, { maxItems: SPENT_KEYS_MAX, description: "empty where nothing was spent" }),
    checked_by: Type.Array(CheckerName, {
      minItems: 1,
      maxItems: CHECKERS.length,
      description: "what verified the proof, all with this result",
    }),
    on_chain: Type.Optional(ReceiptContract),
    request_id: Type.String({ maxLength: 200 }),
    server: closed({ name: Type.Literal("Proofwright"), version: Type.String({ maxLength: 64 }) }),
  },
  { description: "what a receipt says" },
);
export type ReceiptClaims = Static<typeof ReceiptClaims>;

/** A receipt in an answer. */
export const Receipt = Type.String({
  pattern: "^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$",
  description: `compact JWS (RFC 7515) of type ${RECEIPT_TYPE}, signed with EdDSA by the prover's key for receipts; its claims are those of ${RECEIPT_SCHEMA_PATH}`,
});

/** Members that prove and verify take. */
export const WANTED_MEMBERS = {
  assurance: Type.Optional(
    Type.Union([Type.Literal("single"), Type.Literal("triple")], {
      description:
        "triple: two verifiers of others' code check the proof as well, and all must agree; not with `batch`; takes 0.1 to 0.3 s, and some seconds for the first proof of a key",
    }),
  ),
};
/** Members of the answers of prove and verify. */
export const ATTESTED_MEMBERS = {
  receipt: Type.Optional(Receipt),
  receipt_error: Type.Optional(
    Type.Object(
      { code: Type.String(), message: Type.String() },
      {
        description:
          "why there is no receipt, although one was asked for: signing failed after the proof was stored or something was spent, which stands",
      },
    ),
  ),
  checked_by: Type.Optional(
    Type.Array(CheckerName, { description: "with `assurance: triple`: what verified the proof, all with this result" }),
  ),
};

export const ReceiptKeySet = keySetSchema("receipts");
export type ReceiptKeySet = SigningKeySet;
export const ReceiptKey = signingKeySchema("receipts");
export type ReceiptKey = SigningKey;

export const RevokeReceiptKey = RevokeSigningKey;
export const ReceiptKeyParams = SigningKeyParams;
