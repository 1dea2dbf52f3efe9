/** Shapes of the prover registry on the wire. Decisions about their members: DECISIONS.md, 'Prover registry'. */
import Type, { type Static } from "typebox";
import {
  Description,
  Digest,
  Name,
  SAID_OWNER,
  Timestamp,
  BatchItemErrors,
  Uuid,
  closed,
  nullable,
} from "../platform/contract/schemas.js";
import {
  SOURCE_BYTES_MAX,
  SOURCE_FILES_MAX,
  SOURCE_PATH_CHARACTERS_MAX,
  SOURCE_PATH_PATTERN,
} from "../engine/circuit/source-limits.js";
import { ProverAnalysis } from "./analysis/analysis-schemas.js";
import { ImportRequest } from "./imports/import-schemas.js";
import { CeremonyRequest } from "./ceremonies/ceremony-schemas.js";
import { GIVEN_LABELS, LABELS, LABEL_FILTERS, Meta, MetaFilter, ProverReference } from "./labels/label-schemas.js";
import { OnChainAnswer, PLANNED_VERIFIERS } from "./on-chain/verifier-schemas.js";
import { PROVER_STATUSES } from "./provisioning/lifecycle.js";
import { ATTESTED_MEMBERS, Receipt, WANTED_MEMBERS } from "./receipts/receipt-schemas.js";
import { OWN_NULLIFIER, SPENDING, SPENT } from "./stores/store-schemas.js";

export const MAIN_FILE_DEFAULT = "main.circom";

export const DIAGNOSTIC_TEXT_LENGTH_MAX = 4096;
export const DIAGNOSTIC_NOTES_MAX = 16;

const Status = Type.Enum([...PROVER_STATUSES], {
  description: "provisioning status; deploying_artifacts while the verifier contracts of `verifiers` are deployed",
});
const FieldElement = Type.String({ pattern: "^(0|[1-9][0-9]{0,77})$", description: "field element, decimal" });

/** An error or a warning of the compiler or of a later step. */
export const ProverDiagnostic = Type.Object(
  {
    message: Type.String({ maxLength: DIAGNOSTIC_TEXT_LENGTH_MAX }),
    code: Type.String({ maxLength: 64 }),
    file: Type.Optional(Type.String({ maxLength: 256, description: "file of the source" })),
    line: Type.Optional(Type.Integer({ minimum: 1, description: "1-based" })),
    column: Type.Optional(Type.Integer({ minimum: 1, description: "1-based" })),
    notes: Type.Optional(
      Type.Array(Type.String({ maxLength: DIAGNOSTIC_TEXT_LENGTH_MAX }), {
        maxItems: DIAGNOSTIC_NOTES_MAX,
        description: "what else the compiler says: labels of other places, the chain of templates, advice",
      }),
    ),
  },
  { description: "a diagnostic" },
);
export type ProverDiagnostic = Static<typeof ProverDiagnostic>;

/** The compiler's options as the prover was built with them. */
const BuiltOptions = Type.Object(
  {
    optimization: Type.Integer({ minimum: 0, maximum: 2, description: "circom's --O0, --O1 or --O2" }),
    rounds: nullable(Type.Integer({ minimum: 1, description: "circom's --O2round; null for no limit" })),
  },
  { description: "options of the compiler; null for a circuit that was compiled elsewhere" },
);

/** The structured reference string from which a prover's keys follow. */
const UniversalSetup = Type.Object(
  {
    origin: Type.Union([Type.Literal("development"), Type.Literal("ceremony")], {
      description:
        "ceremony: a published powers-of-tau file, checked in full; development: made by this server alone, so whoever controlled it at that time could forge proofs of every key that follows from it; for development only",
    }),
    sha256: Type.String({ ...Digest, description: "SHA-256 of the string's file" }),
    power: Type.Integer({ minimum: 1, maximum: 28, description: "the string serves domains up to 2^power" }),
  },
  {
    description:
      "the structured reference string of the keys, of groth16 that of its phase 1; null before the keys, for a setup of the circuit's own, and for keys from outside whose string the server does not have",
  },
);
export type UniversalSetup = Static<typeof UniversalSetup>;

export const Prover = Type.Object(
  {
    id: Uuid,
    created_at: Timestamp,
    updated_at: Timestamp,
    vault_id: Uuid,
    proving_key_id: nullable(Uuid),
    verifying_key_id: nullable(Uuid),
    name: Type.String(),
    description: nullable(Type.String()),
    identifier: Type.String({
      description:
        "built-in circuit, `source-` and the start of the hash of the source, or `import-` and that of the id",
    }),
    provider: Type.String(),
    proving_scheme: Type.String(),
    curve: Type.String(),
    status: Status,
    trusted_setup: Type.Union(
      [
        Type.Literal("single_party"),
        Type.Literal("ceremony"),
        Type.Literal("universal"),
        Type.Literal("imported"),
        Type.Literal("transparent"),
      ],
      {
        description:
          "how the keys were made; single_party: by this server alone, so whoever controlled it at that time could forge proofs, with `setup` by its contribution to phase 2 alone; ceremony: by the contributors of `/provers/:id/ceremony` on the string that `setup` names, of whom one honest one is enough; universal: from the structured reference string that `setup` names; imported: elsewhere, and trusted only as far as those who made them (with `setup`, every point was checked against that string; without, only what a key shows by itself); transparent: from the circuit alone, without anything secret",
      },
    ),
    setup: nullable(UniversalSetup),
    note_store_id: Uuid,
    nullifier_store_id: Uuid,
    nullifier: nullable(OWN_NULLIFIER),
    errors: Type.Array(ProverDiagnostic, { description: "why provisioning failed; empty otherwise" }),
    warnings: Type.Array(ProverDiagnostic, { description: "warnings of the compiler, and of the checks of an import" }),
    options: nullable(BuiltOptions),
    compiler: nullable(
      Type.String({
        description:
          "name and version of the compiler, and of circomlib where includes came from the server's own; null before it has run and for an import",
      }),
    ),
    source_hash: nullable(
      Type.String({
        ...Digest,
        description:
          "SHA-256 of the source, null for an import: of the text `pv/v1/source`, then of the main file's path, and of each path and its text in the order of the paths, each as its number of UTF-8 bytes, `:` and itself",
      }),
    ),
    strict: Type.Boolean({ description: "provisioning waited for an analysis that accuses no output" }),
    analysis: nullable(ProverAnalysis),
    estimated_ms: nullable(
      Type.Integer({
        minimum: 1,
        description: "of a proof on this server, by those made so far; null before the first",
      }),
    ),
    ...LABELS,
  },
  { description: "a prover" },
);
export type Prover = Static<typeof Prover>;

export const ProverProgress = Type.Object(
  {
    id: Uuid,
    status: Status,
    finished: Type.Boolean({ description: "the status is final: provisioned or failed" }),
    progress: Type.Number({ minimum: 0, maximum: 1 }),
    remaining_ms: nullable(
      Type.Integer({
        minimum: 0,
        description: "milliseconds that are probably left; null where nothing can be said, as before the work begins",
      }),
    ),
    step: Type.String({ description: "the present step, in words" }),
    errors: Type.Array(ProverDiagnostic),
  },
  { description: "how far provisioning is" },
);
export type ProverProgress = Static<typeof ProverProgress>;

const SourcePath = Type.String({ pattern: SOURCE_PATH_PATTERN, maxLength: SOURCE_PATH_CHARACTERS_MAX });
const SourceText = Type.String({ minLength: 1, maxLength: SOURCE_BYTES_MAX });

const CompileOptions = closed(
  {
    optimization: Type.Optional(
      Type.Union([Type.Literal(0), Type.Literal(1), Type.Literal(2)], {
        description: "circom's --O0, --O1 or --O2; 2 unless given",
      }),
    ),
    rounds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, description: "most rounds of optimization 2 (circom's --O2round)" }),
    ),
    prime: Type.Optional(Type.String({ maxLength: 64, description: "circom's --prime: that of `curve`, or 422" })),
  },
  { description: "options of the compiler" },
);
export type CompileOptions = Static<typeof CompileOptions>;

export const CreateProver = closed(
  {
    identifier: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: 64,
          description: "name of a built-in circuit, in any case; this or `source`",
        }),
      ),
    ),
    source: Type.Optional(
      Type.Union(
        [
          SourceText,
          Type.Record(SourcePath, SourceText, { minProperties: 1, maxProperties: SOURCE_FILES_MAX }),
          Type.Null(),
        ],
        {
          description:
            "circom source: one text, or an object of path -> text with the main component in `main.circom` or in the file that `main` names",
        },
      ),
    ),
    main: Type.Optional(nullable(SourcePath)),
    import: Type.Optional(nullable(ImportRequest)),
    proving_scheme: Type.String({ minLength: 1, maxLength: 64 }),
    curve: Type.String({ minLength: 1, maxLength: 64 }),
    provider: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 64, default: "circom" }))),
    name: Type.Optional(nullable(Name)),
    description: Type.Optional(nullable(Description)),
    note_store_id: Type.Optional(nullable(Uuid)),
    nullifier_store_id: Type.Optional(nullable(Uuid)),
    nullifier: Type.Optional(nullable(OWN_NULLIFIER)),
    store_id: Type.Optional(nullable(Type.String({ ...Uuid, description: "the same as `note_store_id`" }))),
    options: Type.Optional(nullable(CompileOptions)),
    setup: Type.Optional(
      nullable(
        Type.Literal("ceremony", {
          description:
            "of groth16 on BN254: others contribute to the keys, as `ceremony` says, on a published powers-of-tau file (`phase1`, the best one unless given). The prover waits in `running_setup` until the ceremony ends",
        }),
      ),
    ),
    ceremony: Type.Optional(nullable(CeremonyRequest)),
    fresh_setup: Type.Optional(
      nullable(
        Type.Boolean({
          description: "make keys for this prover alone, though another of yours has keys of the same circuit",
        }),
      ),
    ),
    strict: Type.Optional(
      nullable(
        Type.Boolean({
          description: "analyse the circuit before provisioning; the prover fails when the inputs do not fix an output",
        }),
      ),
    ),
    phase1: Type.Optional(
      nullable(
        Type.Union([Type.Literal("published"), Digest], {
          description:
            "of groth16 on BN254: take alpha, beta and the powers of tau from a published powers-of-tau file, the best that the server has or the one with this SHA-256. Only phase 2 is then made by the server alone; the setup takes longer. Without it the server makes both phases",
        }),
      ),
    ),
    verifiers: Type.Optional(nullable(PLANNED_VERIFIERS)),
    ...GIVEN_LABELS,
    ...SAID_OWNER,
  },
  { description: "a prover to register" },
);
export type CreateProver = Static<typeof CreateProver>;

const FilterText = Type.Optional(Type.String({ maxLength: 200 }));
/** Filters of the list, all by equality. */
export const ProverFilters = closed({
  curve: FilterText,
  identifier: FilterText,
  provider: FilterText,
  proving_scheme: FilterText,
  status: FilterText,
  name: FilterText,
  ...LABEL_FILTERS,
});
export type ProverFilters = Static<typeof ProverFilters>;

/** Filters of a prover's proofs. */
export const ProofFilters = closed({
  hash: Type.Optional(Type.String({ ...Digest, description: "SHA-256 of the proof's bytes" })),
  statement_hash: Type.Optional(Type.String({ ...Digest, description: "what is proven" })),
  origin: Type.Optional(Type.Union([Type.Literal("prove"), Type.Literal("verify")])),
  meta: Type.Optional(MetaFilter),
});
export type ProofFilters = Static<typeof ProofFilters>;

const WitnessBody = Type.Object(
  {},
  {
    additionalProperties: true,
    description:
      'input name -> value: decimal or 0x-hex text, a safe integer, an array of them (nested, or all values of several dimensions in one list), or an object for nested members. For prove a value may be that of a secret, {"$secret": id, "vault_id": ...}, or of a signature by a babyJubJub key, {"$sign": key id, "message": ..., "part": "R8", "vault_id": ...}, of the caller\'s vaults; the prover\'s own vault unless said. Of a circuit without `circuit.sym` prove takes the names that its program knows, and verify the lists `outputs` and `public_inputs`',
  },
);

const SaidText = Type.Optional(nullable(Type.String({ maxLength: 200, description: "the prover's own, or 422" })));
const SaidId = Type.Optional(nullable(Type.String({ ...Uuid, description: "the prover's own, or 422" })));
/** What existing clients repeat of a prover, and for whom they call; see said-prover.ts. */
const SAID_PROVER = {
  name: SaidText,
  identifier: SaidText,
  curve: SaidText,
  provider: SaidText,
  proving_scheme: SaidText,
  prover_id: SaidId,
  vault_id: SaidId,
  store_id: SaidId,
  note_store_id: SaidId,
  nullifier_store_id: SaidId,
  ...SAID_OWNER,
};

const WITNESS_FILE_CHARACTERS_MAX = 16 * 1024 * 1024;
export const ProveBody = closed({
  witness: Type.Optional(WitnessBody),
  witness_file: Type.Optional(
    Type.String({
      maxLength: WITNESS_FILE_CHARACTERS_MAX,
      pattern: "^[A-Za-z0-9+/]+={0,2}$",
      description: "base64 of a whole witness as snarkjs' `.wtns` file, in place of `witness`",
    }),
  ),
  witness_jwe: Type.Optional(
    Type.String({
      maxLength: WITNESS_FILE_CHARACTERS_MAX,
      pattern: "^[\\w-]+\\.[\\w-]*\\.[\\w-]+\\.[\\w-]*\\.[\\w-]+$",
      description:
        "the JSON of `witness`, or of the inputs that are not in `witness`, as a compact JSON Web Encryption: ECDH-ES or ECDH-ES+A256KW with X25519 or P-256, A256GCM, to a key of GET /provers/:id/input_keys named by `kid`, with the prover's id as `aud` in the protected header. It may be sent again",
    }),
  ),
  meta: Type.Optional(Meta),
  receipt: Type.Optional(Type.Boolean({ default: false, description: "answer a signed receipt with the proof" })),
  ...WANTED_MEMBERS,
  ...SPENDING,
  ...SAID_PROVER,
});
export type ProveBody = Static<typeof ProveBody>;
export type SaidProver = Omit<
  ProveBody,
  "witness" | "witness_file" | "witness_jwe" | "meta" | "receipt" | keyof typeof WANTED_MEMBERS | keyof typeof SPENDING
>;
export const ProveQuery = closed({
  format: Type.Optional(
    Type.Union([Type.Literal("snarkjs"), Type.Literal("solidity")], {
      description: "adds this form of the proof to the answer",
    }),
  ),
});

/** Proofs of one batch. */
export const VERIFY_BATCH_ITEMS_MAX = 1000;

const ProofForms = Type.Union([Type.String({ maxLength: 8192 }), Type.Object({}, { additionalProperties: true })], {
  description: "hex as prove returns it, with or without 0x, or the proof object of snarkjs",
});
const SignalList = Type.Array(Type.Unknown(), {
  description: "outputs, then public inputs, in the circuit's order; in place of `witness`, or to be compared with it",
});
const Ignored = Type.Optional(Type.Unknown({ description: "of prove's answer; ignored" }));

/** A proof and what it proves: members of their own, or the answer of prove as it stands. */
const PROOF_MEMBERS = {
  witness: Type.Optional(WitnessBody),
  proof: Type.Optional(ProofForms),
  public_signals: Type.Optional(SignalList),
  publicSignals: Type.Optional(SignalList),
  snarkjs: Type.Optional(
    closed(
      {
        proof: Type.Optional(ProofForms),
        public_signals: Type.Optional(SignalList),
        publicSignals: Type.Optional(SignalList),
      },
      { description: "as prove answers it with `?format=snarkjs`; the same proof as `proof`, when both are given" },
    ),
  ),
  id: Ignored,
  created_at: Ignored,
  prover_id: Type.Optional(nullable(Uuid)),
  hash: Ignored,
  statement_hash: Ignored,
  bytes: Ignored,
  origin: Ignored,
  meta: Type.Optional(Meta),
  note_index: Ignored,
  timings: Ignored,
  solidity: Ignored,
  receipt: Ignored,
  receipt_error: Ignored,
  checked_by: Ignored,
  spent: Ignored,
  ...SPENDING,
};
const ProofItem = closed(PROOF_MEMBERS);
export type ProofItem = Static<typeof ProofItem>;
/** Members of a request that verifies one proof; with `batch`, they are members of its items. */
export const SINGLE_PROOF_MEMBERS: readonly string[] = Object.keys(PROOF_MEMBERS).filter(
  (name) => !Object.hasOwn(SAID_PROVER, name),
);
export const VerifyBody = closed({
  ...PROOF_MEMBERS,
  ...SAID_PROVER,
  receipt: Type.Optional(
    Type.Union([Type.Boolean(), Type.String({ ...Receipt, description: "true or false, or the receipt of prove" })], {
      description: "true: answer a signed receipt, of a batch with each item; the receipt of prove's answer is ignored",
    }),
  ),
  ...WANTED_MEMBERS,
  store: Type.Optional(
    Type.Boolean({
      default: false,
      description: "write a note to the note store when the proof is valid; not with `batch`",
    }),
  ),
  batch: Type.Optional(
    Type.Array(ProofItem, {
      minItems: 1,
      maxItems: VERIFY_BATCH_ITEMS_MAX,
      description: "many proofs instead of one; the results are in the same order",
    }),
  ),
  on_chain: Type.Optional(
    Type.Boolean({
      description:
        "ask the prover's verifier contract as well, for its owner only; not with `batch`. The node of the network sees the proof. Both must answer the same, or the request fails with `verifier_disagreement`",
    }),
  ),
  network_id: Type.Optional(
    Type.String({ ...Uuid, description: "the network whose verifier is asked; needed where there are several" }),
  ),
});
export const VerifiedItem = closed({
  result: Type.Boolean(),
  receipt: ATTESTED_MEMBERS.receipt,
  receipt_error: ATTESTED_MEMBERS.receipt_error,
  spent: Type.Optional(SPENT),
});
export const VerifyResult = Type.Object({
  result: Type.Boolean({ description: "of a batch: whether all of its proofs are valid" }),
  ...ATTESTED_MEMBERS,
  on_chain: Type.Optional(OnChainAnswer),
  spent: Type.Optional(SPENT),
  batch: Type.Optional(
    Type.Array(Type.Union([VerifiedItem, BatchItemErrors]), {
      maxItems: VERIFY_BATCH_ITEMS_MAX,
      description: "present when the request had a batch",
    }),
  ),
});
export type VerifyBody = Static<typeof VerifyBody>;
export type VerifyResult = Static<typeof VerifyResult>;

/** The record of a proof. The proof itself is in its note, encrypted. */
export const ProofRecord = Type.Object(
  {
    id: Uuid,
    created_at: Timestamp,
    prover_id: Uuid,
    hash: Type.String({
      pattern: "^[0-9a-f]{64}$",
      description: "SHA-256 of the proof's bytes; evidence, not a unique key: anyone can re-randomise a Groth16 proof",
    }),
    statement_hash: Type.String({
      pattern: "^[0-9a-f]{64}$",
      description: "names what is proven: prover, verifying key and public signals",
    }),
    public_signals: Type.Array(FieldElement, { description: "outputs, then public inputs, in the circuit's order" }),
    bytes: Type.Integer({ minimum: 1, description: "size of the proof" }),
    origin: Type.Union([Type.Literal("prove"), Type.Literal("verify")], {
      description: "made here, or verified here with `store`",
    }),
    note_index: Type.Integer({ minimum: 0, description: "index of its note in the note store" }),
    meta: Type.Record(Type.String(), Type.String(), { description: "free data, given with the request" }),
    timings: nullable(Type.Object({ witness_ms: Type.Number(), prove_ms: Type.Number(), check_ms: Type.Number() })),
  },
  { description: "a proof that was made or stored" },
);
export type ProofRecord = Static<typeof ProofRecord>;

const Coordinates = Type.Array(Type.String(), { description: "coordinates, decimal" });
const Groth16Object = Type.Object(
  {
    pi_a: Coordinates,
    pi_b: Type.Array(Type.Array(Type.String())),
    pi_c: Coordinates,
    protocol: Type.Literal("groth16"),
    curve: Type.String(),
  },
  { description: "of Groth16" },
);
const PlonkObject = Type.Object(
  {
    ...{ A: Coordinates, B: Coordinates, C: Coordinates, Z: Coordinates },
    ...{ T1: Coordinates, T2: Coordinates, T3: Coordinates, Wxi: Coordinates, Wxiw: Coordinates },
    ...{ eval_a: Type.String(), eval_b: Type.String(), eval_c: Type.String() },
    ...{ eval_s1: Type.String(), eval_s2: Type.String(), eval_zw: Type.String() },
    protocol: Type.Literal("plonk"),
    curve: Type.String(),
  },
  { description: "of PLONK" },
);
const FflonkObject = Type.Object(
  {
    polynomials: Type.Object({ C1: Coordinates, C2: Coordinates, W1: Coordinates, W2: Coordinates }),
    evaluations: Type.Record(Type.String(), Type.String(), {
      description: "ql, qr, qm, qo, qc, s1, s2, s3, a, b, c, z, zw, t1w, t2w and inv, decimal",
    }),
    protocol: Type.Literal("fflonk"),
    curve: Type.String(),
  },
  { description: "of FFLONK" },
);
const SnarkjsProof = Type.Object({
  proof: Type.Union([Groth16Object, PlonkObject, FflonkObject], { description: "the proof object of snarkjs" }),
  public_signals: Type.Array(FieldElement),
});
const Word = Type.String({ pattern: "^0x[0-9a-f]{64}$" });
const Calldata = Type.String({
  pattern: "^0x[0-9a-f]+$",
  description: "call of `verifyProof`, as a transaction has it",
});
const SolidityProof = Type.Union(
  [
    Type.Object(
      {
        ...{ a: Type.Array(Word), b: Type.Array(Type.Array(Word)), c: Type.Array(Word), input: Type.Array(Word) },
        calldata: Calldata,
      },
      { description: "of Groth16" },
    ),
    Type.Object(
      { proof: Type.Array(Word), input: Type.Array(Word), calldata: Calldata },
      { description: "of PLONK and FFLONK" },
    ),
  ],
  { description: "arguments of the verifier contract's `verifyProof`, and the whole call" },
);

export const ProveResult = Type.Object({
  proof: Type.String({
    pattern: "^[0-9a-f]+$",
    description:
      "the proof, hex; of Groth16 the compressed points A | B | C (128 bytes), of PLONK nine compressed points and six values (480 bytes), of FFLONK four compressed points and sixteen values (640 bytes)",
  }),
  ...ProofRecord.properties,
  snarkjs: Type.Optional(SnarkjsProof),
  solidity: Type.Optional(SolidityProof),
  ...ATTESTED_MEMBERS,
  spent: Type.Optional(SPENT),
});
export type ProveResult = Static<typeof ProveResult>;

export const Note = Type.Object(
  {
    index: Type.Integer({ minimum: 0 }),
    root: Digest,
    size: Type.Integer({ minimum: 1, description: "notes in the store" }),
    leaf: Digest,
    nullifier_key: Type.String({
      description:
        "base64 of 32 bytes; the key that nullifies the note, of its SHA-256 when encrypted: `/provers/:id/nullifiers/:key` takes it in hex",
    }),
    spent: Type.Boolean({ description: "a later proof has spent or replaced the note" }),
    value: Type.String({ description: "base64 of the note's JSON: proof, public_signals, prover_id" }),
  },
  { description: "a note, decrypted for its owner; root is the store's present root" },
);
export type Note = Static<typeof Note>;

export const ProverArtifact = Type.Object(
  {
    name: Type.String({ description: "as in the path of the download or upload" }),
    sha256: nullable(Digest),
    bytes: nullable(Type.Integer({ minimum: 0, description: "null while it is not known" })),
    received: Type.Integer({
      minimum: 0,
      description: "bytes that have come; the next part of an upload begins there",
    }),
    complete: Type.Boolean(),
  },
  { description: "a file of a prover, or one that it waits for" },
);
export type ProverArtifact = Static<typeof ProverArtifact>;

/** Of changes, which mean one prover whatever its tags are by then. */
export const ProverIdParams = closed({ id: Uuid });
/** Of what reads, proves or verifies. */
export const ProverParams = closed({ id: ProverReference });
export const ProofParams = closed({ id: ProverReference, proof_id: Uuid });
const ArtifactFile = Type.String({ minLength: 1, maxLength: 64, pattern: "^[a-z0-9_-]+(\\.[a-z0-9]+)?$" });
export const UploadParams = closed({ id: Uuid, name: ArtifactFile });
export const ArtifactParams = closed({ id: ProverReference, name: ArtifactFile });
export const NoteParams = closed({
  id: ProverReference,
  index: Type.String({ pattern: "^(0|[1-9][0-9]{0,9})$", maxLength: 10 }),
});
