/** Shapes of ceremonies: what their owners decide, and what contributors send and see. */
import Type, { type Static } from "typebox";
import { Description, Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";

/** As many as one record's queue and one answer hold; published ceremonies of one circuit had some dozens. */
export const CONTRIBUTIONS_MAX = 256;
/** Participants who may wait at once; with an hour each, the last one would wait for four days. */
export const QUEUE_MAX = 100;
/** A contribution on a laptop takes minutes for the largest circuits, and its transfer may take an hour. */
const LEASE_SECONDS = { min: 60, max: 604_800, default: 3_600 } as const;
/** snarkjs takes 2^10 at least; 2^24 hashes take some ten seconds, each time that the chain is verified. */
const ITERATIONS_EXP = { min: 10, max: 24, default: 10 } as const;
/** Invitations of one ceremony. */
export const INVITATIONS_MAX = 1_000;
const NAME_CHARACTERS_MAX = 64;

const Digest = Type.String({ pattern: "^[0-9a-f]{64}$", description: "SHA-256, lower-case hex" });
const Hash512 = Type.String({ pattern: "^[0-9a-f]{128}$", description: "BLAKE2b-512, lower-case hex" });
const Bytes = Type.Integer({ minimum: 0, description: "length in bytes" });
const BEACON_SOURCES = ["drand", "block", "manual"] as const;

const BEACON_PLAN = {
  source: Type.Enum([...BEACON_SOURCES], {
    description:
      "drand: the randomness of a round; block: the hash of a block; manual: what `description` says. Named before the first contribution, so that nobody can choose it",
  }),
  round: Type.Optional(
    nullable(Type.Integer({ minimum: 1, description: "drand's round, or the block's number; required for both" })),
  ),
  network: Type.Optional(
    nullable(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: "the hash of drand's chain, required there; or the block's chain",
      }),
    ),
  ),
  description: Type.Optional(nullable(Description)),
  iterations_exp: Type.Optional(
    Type.Integer({
      minimum: ITERATIONS_EXP.min,
      maximum: ITERATIONS_EXP.max,
      default: ITERATIONS_EXP.default,
      description: "the value is hashed 2^n times, which holds up whoever tries out values; snarkjs' numIterationsExp",
    }),
  ),
};

/** Settings of a ceremony, at the creation of its prover. */
export const CeremonyRequest = closed(
  {
    minimum: Type.Optional(
      Type.Integer({ minimum: 1, maximum: CONTRIBUTIONS_MAX, default: 1, description: "contributions before the end" }),
    ),
    deadline: Type.Optional(
      nullable(
        Type.String({
          ...Timestamp,
          description: "the end of contributions; with fewer than `minimum` by then, the prover fails",
        }),
      ),
    ),
    open: Type.Optional(Type.Boolean({ default: false, description: "whether anyone may join without an invitation" })),
    lease_seconds: Type.Optional(
      Type.Integer({
        minimum: LEASE_SECONDS.min,
        maximum: LEASE_SECONDS.max,
        default: LEASE_SECONDS.default,
        description: "time for one contribution, from the lease to the end of the upload",
      }),
    ),
    beacon: closed(BEACON_PLAN, { description: "the public random value that ends the ceremony, named in advance" }),
  },
  { description: "settings of a ceremony, with `setup: ceremony`" },
);
export type CeremonyRequest = Static<typeof CeremonyRequest>;

/** The settings as they are stored. */
export const LEASE_SECONDS_DEFAULT = LEASE_SECONDS.default;
export const ITERATIONS_EXP_DEFAULT = ITERATIONS_EXP.default;

const Signature = { text: Type.String({ description: "what was signed, word for word" }) };
const EthereumStatement = {
  kind: Type.Literal("ethereum", { description: "signed by a wallet as EIP-191 says (personal_sign)" }),
  address: Type.String({ pattern: "^0x[0-9a-fA-F]{40}$" }),
  signature: Type.String({ pattern: "^0x[0-9a-fA-F]{130}$", description: "r, s and v, 65 bytes" }),
};
const SshStatement = {
  kind: Type.Literal("ssh", { description: "signed by `ssh-keygen -Y sign -n proofwright-ceremony`" }),
  public_key: Type.String({
    pattern: "^ssh-ed25519 [A-Za-z0-9+/]{60,100}={0,2}$",
    maxLength: 120,
    description: "as `https://github.com/NAME.keys` has it, without a comment",
  }),
  signature: Type.String({ minLength: 1, maxLength: 2_000, description: "the armored SSH signature" }),
  github: Type.Optional(
    nullable(
      Type.String({
        pattern: "^[A-Za-z0-9](-?[A-Za-z0-9]){0,38}$",
        description: "whose key it is said to be; the server asks GitHub for the published keys, unless told not to",
      }),
    ),
  ),
};
const KeyStatement = {
  kind: Type.Literal("ed25519", { description: "signed by an Ed25519 key, such as one of a vault" }),
  public_key: Type.String({ pattern: "^[0-9a-f]{64}$", description: "32 bytes, hex" }),
  signature: Type.String({ pattern: "^[0-9a-f]{128}$", description: "64 bytes, hex" }),
};
const PointStatement = {
  kind: Type.Literal("p256", { description: "signed by a P-256 key, such as one of a vault: ECDSA with SHA-256" }),
  public_key: Type.String({ pattern: "^04[0-9a-f]{128}$", description: "65 bytes, uncompressed, hex" }),
  signature: Type.String({ pattern: "^[0-9a-f]{128}$", description: "r and s, 64 bytes, hex" }),
};
/** What a contributor says of a contribution, signed. */
export const StatementBody = Type.Union(
  [closed(EthereumStatement), closed(SshStatement), closed(KeyStatement), closed(PointStatement)],
  { description: "the signature of the contribution's `statement_text`" },
);
export type StatementBody = Static<typeof StatementBody>;

const Statement = Type.Union(
  [
    Type.Object({ ...EthereumStatement, ...Signature }),
    Type.Object({
      ...{ ...SshStatement, ...Signature },
      github_checked_at: Type.Optional(
        nullable(Type.String({ ...Timestamp, description: "when GitHub published the key under this name" })),
      ),
    }),
    Type.Object({ ...KeyStatement, ...Signature }),
    Type.Object({ ...PointStatement, ...Signature }),
  ],
  { description: "the contributor's statement, whose signature was verified" },
);
export type Statement = Static<typeof Statement>;

export const CeremonyContribution = Type.Object(
  {
    index: Type.Integer({ minimum: 1, description: "1 for the first; the beacon's is the last" }),
    kind: Type.Enum(["contribution", "beacon"]),
    participant_id: nullable(Uuid),
    name: Type.String({ description: "as the contributor joined" }),
    written_name: nullable(Type.String({ description: "as the key's file says it; nobody vouches for it" })),
    contributed_at: Timestamp,
    hash: Type.String({ ...Hash512, description: "the contribution's hash, which snarkjs shows to its contributor" }),
    key: Type.Object({ sha256: Digest, bytes: Bytes }, { description: "the key's file after it" }),
    statement_text: Type.String({ description: "what its contributor may sign" }),
    statement: nullable(Statement),
  },
  { description: "a contribution" },
);
export type CeremonyContribution = Static<typeof CeremonyContribution>;

export const Participant = Type.Object({ participant_id: Uuid, name: Type.String() }, { description: "a participant" });
const Lease = Type.Object(
  {
    participant_id: Uuid,
    name: Type.String(),
    taken: Type.Boolean({ description: "false while the turn is only offered" }),
    expires_at: Timestamp,
  },
  { description: "whose turn it is, and until when" },
);

export const CEREMONY_STATES = ["preparing", "open", "ending", "ended", "failed", "cancelled"] as const;
export const KeyFile = Type.Object({ sha256: Digest, bytes: Bytes }, { description: "a `.zkey` of snarkjs" });

const CEREMONY = {
  id: Type.String({ ...Uuid, description: "UUID of the ceremony, and of its prover" }),
  created_at: Timestamp,
  updated_at: Timestamp,
  state: Type.Enum([...CEREMONY_STATES], {
    description:
      "preparing: the first key is being made; open: contributions come; ending: the beacon is applied and the key is checked; ended: the prover is ready",
  }),
  accepts: Type.Boolean({ description: "whether contributions are taken now: open, and before the deadline" }),
  reason: nullable(Type.String({ description: "why it failed" })),
  circuit: Type.Object({
    identifier: Type.String(),
    curve: Type.String(),
    r1cs_sha256: nullable(Digest),
    hash: nullable(Type.String({ ...Hash512, description: "by which snarkjs names the key before its contributions" })),
  }),
  phase1: nullable(
    Type.Object(
      { sha256: Digest, power: Type.Integer() },
      { description: "the published powers-of-tau file that the first key follows from" },
    ),
  ),
  minimum: Type.Integer(),
  deadline: nullable(Timestamp),
  open: Type.Boolean({ description: "whether anyone may join" }),
  lease_seconds: Type.Integer(),
  beacon: Type.Object({
    source: Type.Enum([...BEACON_SOURCES]),
    round: nullable(Type.Integer()),
    network: nullable(Type.String()),
    description: nullable(Type.String()),
    iterations_exp: Type.Integer(),
    value: nullable(Type.String({ description: "hex, once it was given" })),
    signature: Type.Optional(nullable(Type.String({ description: "drand's, where it was given; hex" }))),
    previous_signature: Type.Optional(nullable(Type.String({ description: "of the round before; hex" }))),
  }),
  initial_key: nullable(KeyFile),
  key: nullable(
    Type.Object(
      { index: Type.Integer({ minimum: 0, description: "contributions that it has" }), sha256: Digest, bytes: Bytes },
      { description: "the key that the next contribution goes on from" },
    ),
  ),
  contributions: Type.Array(CeremonyContribution, { maxItems: CONTRIBUTIONS_MAX + 1, description: "first to last" }),
  queue: Type.Array(Participant, { maxItems: QUEUE_MAX, description: "who waits, in their order" }),
  lease: nullable(Lease),
  transcript_sha256: nullable(Digest),
};
export const Ceremony = Type.Object(CEREMONY, { description: "a ceremony" });
export type Ceremony = Static<typeof Ceremony>;

/** What a participant sees beside the ceremony. */
const Standing = Type.Object(
  {
    participant_id: Uuid,
    name: Type.String(),
    state: Type.Enum(["waiting", "offered", "leased", "contributed", "gone"], {
      description: "offered: it is your turn, ask for the lease; gone: left, removed, or absent too often",
    }),
    position: nullable(Type.Integer({ minimum: 1, description: "place in the queue" })),
    expires_at: nullable(Timestamp),
    received: Type.Integer({ minimum: 0, description: "bytes of your upload that have come" }),
  },
  { description: "the standing of the participant who asks" },
);
export type Standing = Static<typeof Standing>;
export const PublicCeremony = Type.Object({ ...CEREMONY, you: nullable(Standing) }, { description: "a ceremony" });
export type PublicCeremony = Static<typeof PublicCeremony>;

export const UpdateCeremony = closed(
  {
    deadline: Type.Optional(
      nullable(Type.String({ ...Timestamp, description: "a later end of contributions; null for none" })),
    ),
    open: Type.Optional(Type.Boolean()),
  },
  { description: "what may change while the ceremony is open" },
);
export type UpdateCeremony = Static<typeof UpdateCeremony>;

const InvitationName = Type.String({ minLength: 1, maxLength: NAME_CHARACTERS_MAX, description: "for whom it is" });
export const CeremonyInvitation = Type.Object(
  { id: Uuid, created_at: Timestamp, name: InvitationName, used: Type.Boolean() },
  { description: "an invitation; whoever has its token may join once" },
);
export type CeremonyInvitation = Static<typeof CeremonyInvitation>;
export const NewCeremonyInvitation = Type.Object(
  { id: Uuid, created_at: Timestamp, name: InvitationName, used: Type.Boolean(), token: Type.String() },
  { description: "an invitation with its token, which is shown this once" },
);
export type NewCeremonyInvitation = Static<typeof NewCeremonyInvitation>;
export const CreateCeremonyInvitation = closed({ name: InvitationName }, { description: "an invitation" });
export const InvitationParams = closed({ id: Uuid, invitation_id: Uuid });
export const ParticipantParams = closed({ id: Uuid, participant_id: Uuid });

export const BeaconBody = closed(
  {
    value: Type.String({
      pattern: "^(0x)?([0-9a-fA-F]{2}){16,255}$",
      maxLength: 512,
      description: "hex: drand's `randomness`, the block's hash, or the value that the description names",
    }),
    signature: Type.Optional(
      Type.String({
        pattern: "^([0-9a-fA-F]{2}){48,96}$",
        maxLength: 192,
        description:
          "drand's signature of the round, whose SHA-256 must be the value; required for the chains whose keys this server knows, which it verifies",
      }),
    ),
    previous_signature: Type.Optional(
      Type.String({
        pattern: "^([0-9a-fA-F]{2}){32,96}$",
        maxLength: 192,
        description: "drand's `previous_signature`, which the rounds of its default chain have",
      }),
    ),
  },
  { description: "the beacon's value" },
);
export type BeaconBody = Static<typeof BeaconBody>;

/** No control characters: the name stands in a text that is signed, and in the key's file. */
const ContributorName = Type.String({
  minLength: 1,
  maxLength: NAME_CHARACTERS_MAX,
  pattern: "^[^\\u0000-\\u001f\\u007f]+$",
  description: "the contributor's name in the transcript",
});
export const JoinCeremony = closed(
  { name: ContributorName, invitation: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })) },
  { description: "who joins, with an invitation's token where the ceremony is not open" },
);
export type JoinCeremony = Static<typeof JoinCeremony>;
export const JoinedCeremony = Type.Object(
  { participant_id: Uuid, token: Type.String({ description: "the participant's bearer token, shown this once" }) },
  { description: "a new participant" },
);
export type JoinedCeremony = Static<typeof JoinedCeremony>;
export const TakenLease = Type.Object(
  {
    index: Type.Integer({ minimum: 1, description: "of the contribution that is awaited" }),
    expires_at: Timestamp,
    key: KeyFile,
    upload_bytes_max: Type.Integer({ description: "longest file that is taken" }),
  },
  { description: "a lease: download the key, contribute, upload the new one before its end" },
);
export type TakenLease = Static<typeof TakenLease>;
export const UploadState = Type.Object(
  { received: Type.Integer({ minimum: 0 }), bytes: Bytes },
  { description: "how much of an upload has come" },
);
export type UploadState = Static<typeof UploadState>;
export const ContributionParams = closed({
  id: Uuid,
  index: Type.String({ pattern: "^[1-9][0-9]{0,3}$", maxLength: 4 }),
});
export const CEREMONY_FILES = [
  "initial_key.zkey",
  "circuit.r1cs",
  "ceremony-transcript.json",
  "proving_key.zkey",
] as const;
export const CeremonyFileParams = closed({ id: Uuid, name: Type.Enum([...CEREMONY_FILES]) });
