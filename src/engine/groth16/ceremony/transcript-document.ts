/**
 * `ceremony-transcript.json`: everything that a stranger takes to verify a ceremony offline, beside the files that it
 * names by hash. What can be recomputed from the key stands in it nevertheless, so that a key whose chain of
 * contributions was exchanged later differs from what was published.
 */
import Type, { type Static } from "typebox";
import { Compile } from "typebox/compile";
import { CeremonyError } from "./ceremony-fault.js";

const closed = <T extends Parameters<typeof Type.Object>[0]>(properties: T, description: string) =>
  Type.Object(properties, { additionalProperties: false, description });
const orNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const Hex = (bytes: number, description: string) => Type.String({ pattern: `^[0-9a-f]{${2 * bytes}}$`, description });
const Sha256 = (description: string) => Hex(32, `SHA-256 of ${description}, lower-case hex`);
const Time = Type.String({
  pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,6})?Z$",
  description: "ISO 8601",
});
const Text = (description: string) => Type.String({ maxLength: 2000, description });
const Index = Type.Integer({ minimum: 1, maximum: 100_000, description: "1 for the first contribution" });

/** BN254's, uncompressed. */
const G1_BYTES = 64;
const G2_BYTES = 128;
/** More than any ceremony of one circuit had. */
const CONTRIBUTIONS_MAX = 10_000;
/** Some kilobytes for each contribution. */
const DOCUMENT_CHARACTERS_MAX = 64 * 1024 ** 2;

const SIGNED = { text: Text("what was signed, word for word") };
const Statement = Type.Union(
  [
    closed(
      {
        ...{ kind: Type.Literal("ethereum"), ...SIGNED },
        address: Type.String({ pattern: "^0x[0-9a-fA-F]{40}$", description: "of the wallet" }),
        signature: Type.String({
          pattern: "^0x[0-9a-fA-F]{130}$",
          description: "r, s and v, by EIP-191 (personal_sign)",
        }),
      },
      "signed by an Ethereum wallet",
    ),
    closed(
      {
        ...{ kind: Type.Literal("ssh"), ...SIGNED },
        public_key: Type.String({ pattern: "^ssh-ed25519 [A-Za-z0-9+/=]+$", maxLength: 200 }),
        signature: Type.String({
          maxLength: 4000,
          description: "armored, of `ssh-keygen -Y sign -n proofwright-ceremony`",
        }),
        github: Type.Optional(orNull(Type.String({ maxLength: 40, description: "whose key it is said to be" }))),
        github_checked_at: Type.Optional(orNull(Time)),
      },
      "signed by an SSH key, such as those at https://github.com/NAME.keys",
    ),
    closed(
      {
        ...{ kind: Type.Literal("ed25519"), ...SIGNED },
        public_key: Hex(32, "the key, 32 bytes"),
        signature: Hex(64, "of Ed25519, 64 bytes"),
      },
      "signed by an Ed25519 key, such as one of a vault",
    ),
    closed(
      {
        ...{ kind: Type.Literal("p256"), ...SIGNED },
        public_key: Type.String({ pattern: "^04[0-9a-f]{128}$", description: "the key, uncompressed" }),
        signature: Hex(64, "of ECDSA with SHA-256, r and s"),
      },
      "signed by a P-256 key, such as one of a vault",
    ),
  ],
  { description: "a contributor's statement" },
);

const Contribution = closed(
  {
    index: Index,
    kind: Type.Enum(["contribution", "beacon"]),
    name: orNull(Text("as it stands in the key; nobody vouches for it")),
    contributor: orNull(Text("the name under which the contributor joined; null for the beacon")),
    contributed_at: Time,
    hash: Hex(64, "BLAKE2b-512, by which snarkjs names the contribution"),
    previous_hash: Hex(64, "hash of the contribution before it; of the first the circuit's hash"),
    delta_g1: Hex(G1_BYTES, "delta in G1 after it: x and y, big-endian"),
    proof_of_knowledge: closed(
      {
        s: Hex(G1_BYTES, "a point of G1"),
        s_delta: Hex(G1_BYTES, "the same times the secret"),
        answered_delta: Hex(G2_BYTES, "the point of G2 that follows from `answer`, times the secret; c1 before c0"),
        answer: Hex(64, "BLAKE2b-512 of the circuit's hash, all contributions before it, s and s_delta"),
      },
      "that the contributor knew the secret",
    ),
    beacon: orNull(
      closed(
        {
          value: Type.String({ pattern: "^([0-9a-f]{2}){1,255}$" }),
          iterations_exp: Type.Integer({ minimum: 0, maximum: 63, description: "the value is hashed 2^so many times" }),
        },
        "of a beacon, what its secret follows from",
      ),
    ),
    key_sha256: Sha256("the key's file after it"),
    statement: orNull(Statement),
  },
  "a contribution",
);

/** The document's JSON schema. */
export const CeremonyTranscript = closed(
  {
    format: Type.Literal("proofwright-ceremony-transcript"),
    version: Type.Literal(1),
    ceremony_id: Type.String({ maxLength: 100, description: "of the prover; stands in every statement" }),
    created_at: Time,
    ended_at: Time,
    curve: Type.Literal("BN254"),
    circuit: closed(
      {
        identifier: Text("what the circuit is called"),
        r1cs_sha256: Sha256("circuit.r1cs"),
        hash: Hex(64, "BLAKE2b-512 over the key before its contributions, as snarkjs computes it"),
      },
      "what the key is for",
    ),
    phase1: closed(
      {
        sha256: Sha256("the powers-of-tau file"),
        power: Type.Integer({ minimum: 1, maximum: 28 }),
        ceremony_power: orNull(
          Type.Integer({ minimum: 1, maximum: 28, description: "of the ceremony it was cut from" }),
        ),
        contributions: Type.Array(
          closed(
            {
              name: orNull(Text("as the file says it")),
              is_beacon: Type.Boolean(),
              response_hash: Hex(64, "BLAKE2b-512 of the contributor's response"),
            },
            "a contribution to phase 1",
          ),
          { maxItems: CONTRIBUTIONS_MAX, description: "as they were found when the file was checked in full" },
        ),
        checked_at: orNull(Time),
      },
      "the published powers of tau: where the first key comes from",
    ),
    initial_key_sha256: Sha256("the key before any contribution"),
    beacon: closed(
      {
        source: Type.Enum(["drand", "block", "manual"]),
        round: orNull(Type.Integer({ minimum: 1 })),
        network: orNull(Text("drand's chain, or the block's")),
        description: orNull(Text("where the value is found")),
        iterations_exp: Type.Integer({ minimum: 0, maximum: 63 }),
        value: Type.String({ pattern: "^([0-9a-f]{2}){1,255}$", description: "published after the last contribution" }),
        signature: Type.Optional(
          orNull(Type.String({ pattern: "^([0-9a-f]{2}){48,96}$", description: "drand's, of the round" })),
        ),
        previous_signature: Type.Optional(
          orNull(Type.String({ pattern: "^([0-9a-f]{2}){32,96}$", description: "drand's, of the round before" })),
        ),
      },
      "the public value that ended the ceremony, named before it began",
    ),
    contributions: Type.Array(Contribution, { minItems: 1, maxItems: CONTRIBUTIONS_MAX, description: "first to last" }),
    final: closed(
      {
        zkey_sha256: Sha256("proving_key.zkey"),
        verifying_key_sha256: Sha256("verifying_key.json as the server publishes it"),
      },
      "what the ceremony made",
    ),
  },
  "the transcript of a ceremony for a Groth16 key",
);
export type CeremonyTranscript = Static<typeof CeremonyTranscript>;
export type TranscriptContribution = CeremonyTranscript["contributions"][number];

const compile = () => Compile(CeremonyTranscript);
/** Compiled at the first document. */
let compiled: ReturnType<typeof compile> | undefined;

/**
 * Reads a transcript's text.
 * @throws CeremonyError `document_malformed`
 */
export function readTranscriptDocument(text: string): CeremonyTranscript {
  if (text.length > DOCUMENT_CHARACTERS_MAX) throw malformed("it is longer than any ceremony's");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed("it is not JSON");
  }
  const schema = (compiled ??= compile());
  if (schema.Check(value)) return value;
  const [error] = schema.Errors(value);
  throw malformed(
    `${error?.instancePath === "" ? "it" : (error?.instancePath ?? "it")} ${error?.message ?? "is wrong"}`,
  );
}

function malformed(message: string): CeremonyError {
  return new CeremonyError("document_malformed", `the transcript is none: ${message}`);
}
