/** The routes of the prover registry, as plain values. */
import Type from "typebox";
import { defineRoute, type BodyLimits } from "../platform/contract/route.js";
import { SOURCE_BYTES_MAX, SOURCE_FILES_MAX } from "../engine/circuit/source-limits.js";
import { CircuitAnalysis } from "./analysis/analysis-schemas.js";
import { ceremonyRoutes } from "./ceremonies/ceremony-routes.js";
import { UpdateProver } from "./labels/label-schemas.js";
import { proofJobRoutes } from "./proof-jobs/proof-job-routes.js";
import { Job, ProveJobQuery } from "./proof-jobs/proof-job-schemas.js";
import { receiptRoutes } from "./receipts/receipt-routes.js";
import { verifierRoutes } from "./on-chain/verifier-routes.js";
import { inputKeyRoutes } from "./closed-inputs/input-key-routes.js";
import { sharingRoutes } from "./sharing/sharing-routes.js";
import { storeRoutes } from "./stores/store-routes.js";
import { referenceStringRoutes } from "./reference-strings/reference-string-routes.js";
import type { SourceLimits } from "./provisioning/sources.js";
import {
  ArtifactParams,
  CreateProver,
  Note,
  NoteParams,
  ProofFilters,
  ProofParams,
  ProofRecord,
  ProveBody,
  ProveQuery,
  ProveResult,
  Prover,
  ProverArtifact,
  ProverFilters,
  ProverIdParams,
  ProverParams,
  ProverProgress,
  UploadParams,
  VerifyBody,
  VerifyResult,
} from "./schemas.js";

/**
 * Bodies with inputs, whatever the circuit; `witnessLimits` says what one circuit takes. More would hold the event loop
 * for hundreds of milliseconds; the compiler refuses circuits whose values do not fit (`valuesMax`).
 */
const WITNESS_BODY_BYTES_MAX = 16 * 1024 * 1024;
const WITNESS_TOKENS_MAX = 400_000;
/** A witness of 2^23 wires. */
const WITNESS_FILE_BYTES_MAX = 256 * 1024 * 1024;
/** What a body with inputs may always have: several proofs of a circuit of thousands of inputs. */
const WITNESS_BODY_BYTES_MIN = 2 * 1024 * 1024;
const WITNESS_TOKENS_MIN = 200_000;
/** A value of 80 characters and a name such as `Document.Items[1023]`, in quotes and with separators. */
const VALUE_BYTES = 160;
/** A name, a value, and the lists around it. */
const VALUE_TOKENS = 4;
/** Of a witness file in base64, for each wire of 32 bytes. */
const WIRE_BYTES = 44;
/** An R1CS file has 8 bytes for each wire, and more for its constraints. */
const R1CS_BYTES_PER_WIRE = 8;
/** Beside the source: names of files and the members of the prover. */
const CREATE_SPARE_BYTES = 256 * 1024;
const CREATE_TOKENS = 100;
/** JSON's escapes take two bytes of every line break and quote. */
const CREATE_BODY_BYTES_MAX = 2 * SOURCE_BYTES_MAX + CREATE_SPARE_BYTES;
/** A proof may wait for a thread and take a minute on a large circuit. */
export const PROVE_DEADLINE_MS = 120_000;
/** A file that is made when it is first downloaded; its asker hears before the end that it is still being made. */
const DOWNLOAD_DEADLINE_MS = 300_000;
export const MADE_FILE_WAIT_MS = DOWNLOAD_DEADLINE_MS - 10_000;
/** The longest wait, in seconds, of `Prefer: wait=N`; the deadline of create leaves room for it. */
export const WAIT_SEC_MAX = 300;
const CREATE_DEADLINE_MS = (WAIT_SEC_MAX + 15) * 1000;

/** What the setting for uploads may be at most. */
export const UPLOAD_BYTES_MAX = 64 * 1024 ** 3;
/** Of one request: what it has not sent by then, the next one sends. */
const UPLOAD_DEADLINE_MS = 3_600_000;

/** Enough for a batch of a thousand invalid proofs on a busy server. */
const VERIFY_DEADLINE_MS = 60_000;

const READ = { permissions: ["read"] } as const;
const CREATE = { permissions: ["create"] } as const;
const UPDATE = { permissions: ["update"] } as const;
const DELETE = { permissions: ["delete"] } as const;
const proverJson = { description: "The prover", schema: Prover } as const;

/**
 * Returns the limits of a body with inputs: what the circuit can take, so that a hundred thousand inputs fit and a
 * body that is too long for its circuit is refused before it is read.
 * @param valueCount outputs and inputs of the circuit; 0 while they are not known
 * @param r1csBytes length of the circuit's R1CS file, where the body may have a whole witness
 */
export function witnessLimits(valueCount: number, r1csBytes = 0): BodyLimits {
  const wanted = Math.max(valueCount * VALUE_BYTES, (r1csBytes / R1CS_BYTES_PER_WIRE) * WIRE_BYTES);
  return {
    bodyBytesMax: Math.ceil(Math.min(WITNESS_BODY_BYTES_MAX, Math.max(WITNESS_BODY_BYTES_MIN, wanted))),
    jsonTokensMax: Math.min(WITNESS_TOKENS_MAX, Math.max(WITNESS_TOKENS_MIN, valueCount * VALUE_TOKENS)),
  };
}

/** Returns the limits of a body with source, by those of the source. */
export function createLimits({ bytesMax, filesMax }: SourceLimits): BodyLimits {
  return {
    bodyBytesMax: 2 * bytesMax + CREATE_SPARE_BYTES,
    jsonTokensMax: 2 * filesMax + CREATE_TOKENS,
    files: { bytesMax, filesMax },
  };
}

export const proverRoutes = {
  ...referenceStringRoutes,
  ...sharingRoutes,
  ...receiptRoutes,
  ...ceremonyRoutes,
  ...verifierRoutes,
  ...inputKeyRoutes,
  ...storeRoutes,
  ...proofJobRoutes,
  listProvers: defineRoute({
    id: "listProvers",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers",
    summary: "List provers",
    auth: READ,
    list: true,
    description:
      "The provers of the token's subject, oldest first. All filters compare for equality; `tag` finds those that have the tag now.",
    query: ProverFilters,
    responses: { 200: { description: "Provers", schema: Type.Array(Prover) } },
  }),
  createProver: defineRoute({
    id: "createProver",
    area: "prover",
    method: "POST",
    path: "/api/v1/provers",
    summary: "Register a prover",
    auth: CREATE,
    needsUnsealed: true,
    creates: true,
    keepsOnce: true,
    description:
      "Answers at once; the circuit is compiled and set up afterwards. With `Prefer: wait=N` the answer waits up to N seconds (at most 300) for the end of provisioning. With `nullifier` each verification spends a public signal, or the statement. The source may also come as a form with .circom files, or as a .tar.gz, whose files other than .circom are left out.",
    body: CreateProver,
    filesBody: {
      member: "source",
      part: "prover",
      extension: ".circom",
      bytesMax: SOURCE_BYTES_MAX,
      filesMax: SOURCE_FILES_MAX,
    },
    bodyBytesMax: CREATE_BODY_BYTES_MAX,
    userNames: true,
    deadlineMs: CREATE_DEADLINE_MS,
    responses: { 202: proverJson },
    errors: [
      "prover_unsupported",
      "identifier_unknown",
      "source_invalid",
      "store_unsuitable",
      "vault_sealed",
      "too_many_requests",
      "overloaded",
      "storage_full",
      ...(["forbidden", "not_found", "signer_not_found", "contract_not_deployed"] as const),
    ],
    example: {
      body: {
        identifier: "cubic",
        proving_scheme: "groth16",
        curve: "BN254",
        provider: "circom",
        name: "my first prover",
      },
      answer: {
        id: "be186ca1-343a-4599-b352-43b26f144b54",
        proving_key_id: "0c84b5e2-1ec4-467c-86ea-567bfe772dd4",
        verifying_key_id: "b994ecb8-c834-44b9-a2a7-1d8dd959aa84",
        setup: null,
        // As with `Prefer: wait`; without it, however far it has come.
        status: "provisioned",
        errors: [],
        warnings: [],
        vault_id: "c959b09e-71ec-459a-809f-355c8effb5b0",
        name: "my first prover",
        description: null,
        nullifier: null,
        provider: "circom",
        proving_scheme: "groth16",
        curve: "BN254",
        trusted_setup: "single_party",
        identifier: "cubic",
        options: { optimization: 2, rounds: null },
        source_hash: "5eb51a80c410e503f77ca69193e82052f103fdb5483b222270d28451a330741f",
        created_at: "2026-11-23T06:51:29.586Z",
        updated_at: "2026-11-23T06:51:29.586Z",
        note_store_id: "3c3fe303-afe9-462e-a1ba-1d78c1a4687e",
        nullifier_store_id: "c63e6bee-5a04-40a8-90c6-c3907c7ed3a0",
        tags: [],
        pending_tags: [],
        meta: {},
        compiler: "circom2 0.2.23",
        strict: false,
        // Measured with the first proof.
        estimated_ms: null,
        analysis: null,
      },
    },
  }),
  updateProver: defineRoute({
    id: "updateProver",
    area: "prover",
    method: "PUT",
    path: "/api/v1/provers/:id",
    summary: "Change what a prover is called",
    auth: UPDATE,
    description:
      "Description, tags and free data; each that is given replaces what there was. Tags of a provisioned prover move here at once, and one that failed can have none. Everything else of a prover is fixed.",
    params: ProverIdParams,
    body: UpdateProver,
    sendsBack: Prover,
    userNames: true,
    responses: { 204: { description: "Changed" } },
    errors: ["not_found", "prover_not_provisioned"],
    example: { body: { tags: ["v2", "latest"], meta: { team: "payments" } } },
  }),
  getProver: defineRoute({
    id: "getProver",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id",
    summary: "Read a prover",
    auth: READ,
    params: ProverParams,
    responses: { 200: proverJson },
    errors: ["not_found"],
  }),
  getProverStatus: defineRoute({
    id: "getProverStatus",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/status",
    summary: "Read the progress of provisioning",
    auth: READ,
    params: ProverParams,
    responses: { 200: { description: "Progress", schema: ProverProgress } },
    errors: ["not_found"],
    example: {
      answer: {
        id: "be186ca1-343a-4599-b352-43b26f144b54",
        status: "provisioned",
        finished: true,
        progress: 1,
        remaining_ms: 0,
        step: "ready to prove and verify",
        errors: [],
      },
    },
  }),
  getProverAnalysis: defineRoute({
    id: "getProverAnalysis",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/analysis",
    summary: "Read the analysis of the circuit",
    auth: READ,
    description:
      "Whether the inputs fix every signal of the circuit, and which ones are not proved to be. An under-determined output lets a prover claim any value for it. The analysis begins when the prover is provisioned, or before with `strict`.",
    params: ProverParams,
    responses: { 200: { description: "The analysis", schema: CircuitAnalysis } },
    errors: ["not_found", "artifact_corrupt"],
  }),
  deleteProver: defineRoute({
    id: "deleteProver",
    area: "prover",
    method: "DELETE",
    path: "/api/v1/provers/:id",
    summary: "Delete a prover",
    auth: DELETE,
    needsUnsealed: true,
    description:
      "Deletes the prover, its vault, its keys, its proof records and its stores, except stores that other provers use.",
    params: ProverIdParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found", "prover_busy"],
  }),
  prove: defineRoute({
    id: "prove",
    area: "prover",
    method: "POST",
    path: "/api/v1/provers/:id/prove",
    summary: "Make a proof",
    auth: CREATE,
    needsUnsealed: true,
    creates: true,
    keepsOnce: true,
    description:
      "Inputs that name secrets or keys of vaults need the permission to read or to use them, `secret_read` or `vault_use`. Such inputs, and those in `witness_jwe`, are opened in the proving thread only; which secrets and keys were used is in the audit log. A secret is no public input unless it is given with `reveal: true`. With `Prefer: respond-async` the answer is 202 with a job, which Location names, once the inputs lie sealed on disk; with `respond-async, wait=N` only if the proof takes longer than N seconds.",
    params: ProverParams,
    query: ProveJobQuery,
    body: ProveBody,
    bodyOptional: true,
    bodyBytesMax: WITNESS_BODY_BYTES_MAX,
    jsonTokensMax: WITNESS_TOKENS_MAX,
    userNames: true,
    deadlineMs: PROVE_DEADLINE_MS,
    errorMembers: { proof: null },
    responses: { 201: { description: "The proof; Location names its record", schema: ProveResult } },
    respondsAsync: { description: "The job that makes the proof; Location names it", schema: Job },
    errors: [
      "too_many_requests",
      "not_found",
      "forbidden",
      "prover_not_provisioned",
      "prover_busy",
      "prover_keys_missing",
      "prover_verifies_only",
      "witness_missing",
      "witness_invalid",
      "constraints_unsatisfied",
      "decryption_failed",
      "deletion_planned",
      "key_disabled",
      "spec_cannot_sign",
      "insufficient_memory",
      "proof_self_check_failed",
      "artifact_corrupt",
      "note_store_full",
      "key_disabled",
      "receipt_key_limit_reached",
      "assurance_disagreement",
      "note_double_spend",
      "vault_sealed",
      "overloaded",
      "deadline_exceeded",
      "storage_full",
    ],
    example: {
      body: { witness: { X: "3", Y: "35" } },
      answer: {
        proof:
          "d2402e81eb0d122e6ef02a7f1184f2771f61b3bd40abe14716e9ba0fe78ebaacec03bcbfb52ee7c0b7e567dc0a2a06b4ae9746c3b5f89328b8e6baae920d6bb109cd12bcea5bd7154e5db6d6d1ccc6095a12705e7a3b7a1025d6f4851f4744438f99bfe9894692996c7b860fbee52208c85eb727c161bf267f55b23dec3af0ab",
        id: "a808eab8-8fd0-4527-968a-7f5fe6c53f07",
        created_at: "2026-11-23T06:51:29.586Z",
        prover_id: "be186ca1-343a-4599-b352-43b26f144b54",
        hash: "033c4247d858ed5907393f2831f301f59bb1edc9f86f55e2e998a203d8ac9b61",
        statement_hash: "130b0bf69468c6dafccaea8db9990006435d369540c8347ae0c5d87d7da47696",
        public_signals: ["35"],
        bytes: 128,
        origin: "prove",
        meta: {},
        timings: { witness_ms: 22.3, prove_ms: 51.7, check_ms: 16.8 },
        note_index: 0,
      },
    },
  }),
  proveFile: defineRoute({
    id: "proveFile",
    area: "prover",
    method: "POST",
    path: "/api/v1/provers/:id/prove/witness",
    summary: "Make a proof of a whole witness",
    auth: CREATE,
    needsUnsealed: true,
    description:
      "As prove with `witness_file`, whose bytes are the body: for circuits whose witness does not fit into a JSON body. It is as long as the circuit's witness at most; 256 MiB for each owner and 512 MiB for all are held at a time.",
    params: ProverParams,
    query: ProveQuery,
    streamedBody: true,
    bodyBytesMax: WITNESS_FILE_BYTES_MAX,
    deadlineMs: PROVE_DEADLINE_MS,
    errorMembers: { proof: null },
    responses: { 201: { description: "The proof; Location names its record", schema: ProveResult } },
    errors: [
      ...(["not_found", "forbidden", "prover_not_provisioned", "prover_keys_missing", "prover_verifies_only"] as const),
      ...(["witness_missing", "witness_invalid", "constraints_unsatisfied", "insufficient_memory"] as const),
      ...(["proof_self_check_failed", "artifact_corrupt", "note_store_full", "vault_sealed", "overloaded"] as const),
      ...(["prover_busy", "deadline_exceeded", "storage_full"] as const),
    ],
  }),
  verify: defineRoute({
    id: "verify",
    area: "prover",
    method: "POST",
    path: "/api/v1/provers/:id/verify",
    summary: "Verify a proof",
    auth: READ,
    needsUnsealed: true,
    description:
      "The public inputs and outputs in the witness are checked against the proof; private inputs are ignored. `store` needs the permission to create, and so does spending: with `nullifier` or `spends`, or with a prover that has a nullifier of its own, a valid proof spends in the commit that makes the answer true, and what was spent before is 409. With `batch`, up to 1000 proofs are verified together, much faster than one by one; the results are in the same order under `batch`. A malformed item has `errors` and does not affect the others. With `on_chain` or a `network_id` the prover's verifier contract is asked as well; where it answers otherwise the request fails with `verifier_disagreement`, the owner gets an event, and nothing is stored.",
    params: ProverParams,
    body: VerifyBody,
    itemsFailAlone: true,
    bodyOptional: true,
    bodyBytesMax: WITNESS_BODY_BYTES_MAX,
    jsonTokensMax: WITNESS_TOKENS_MAX,
    userNames: true,
    deadlineMs: VERIFY_DEADLINE_MS,
    errorMembers: { result: false },
    responses: { 200: { description: "True when the proof is valid for the public signals", schema: VerifyResult } },
    errors: [
      "not_found",
      "forbidden",
      "prover_not_provisioned",
      "prover_busy",
      "prover_keys_missing",
      "witness_missing",
      "witness_invalid",
      "proof_malformed",
      "artifact_corrupt",
      "note_store_full",
      "key_disabled",
      "receipt_key_limit_reached",
      "assurance_disagreement",
      "insufficient_memory",
      "note_double_spend",
      "vault_sealed",
      "overloaded",
      "deadline_exceeded",
      "storage_full",
      ...(["verifier_missing", "verifier_disagreement", "verifier_code_mismatch"] as const),
      ...(["network_unreachable", "network_timeout", "network_answer_invalid"] as const),
      ...(["network_chain_mismatch", "network_disabled", "network_has_no_node"] as const),
    ],
    example: { body: { proof: "00", witness: { Y: "35" } }, answer: { result: true } },
  }),
  getProverSource: defineRoute({
    id: "getProverSource",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/source",
    summary: "Read the source of a prover",
    auth: READ,
    needsUnsealed: true,
    description:
      "The source as it was sent, for the prover's owner: `files` (path -> text), `main`, and `options` where some were given. ETag is its SHA-256.",
    params: ProverParams,
    responses: { 200: { description: "The source", file: "application/json" } },
    errors: ["not_found", "artifact_corrupt", "vault_sealed"],
  }),
  getProverSourceArchive: defineRoute({
    id: "getProverSourceArchive",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/source.tar.gz",
    summary: "Download the source of a prover",
    auth: READ,
    needsUnsealed: true,
    description: "The files of the source as an archive, which registers the same circuit again, with the same `main`.",
    params: ProverParams,
    responses: { 200: { description: "The archive", bytes: "application/gzip" } },
    errors: ["not_found", "artifact_corrupt", "vault_sealed", "conflict"],
  }),
  getProverArtifact: defineRoute({
    id: "getProverArtifact",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/artifacts/:name",
    summary: "Download an artifact",
    auth: READ,
    needsUnsealed: true,
    description:
      "verifying_key.json, proving_key, proving_key.zkey (the proving key as snarkjs' file), circuit.wasm, circuit.r1cs, circuit.sym, interface.json, verifier.sol, verifier_caller.sol (an example of a contract that calls it), source.json; of a ceremony ceremony-transcript.json; of the analysis analysis.json and, when two witnesses differ, witness_1.wtns, witness_2.wtns, analysis.r1cs, analysis.sym. ETag is the SHA-256. verifier.sol, verifier_caller.sol, and proving_key.zkey of PLONK, are made when they are first downloaded, which takes a moment, of large circuits minutes: 503 `deadline_exceeded` with Retry-After means that the file is still being made, ask again.",
    deadlineMs: DOWNLOAD_DEADLINE_MS,
    params: ArtifactParams,
    responses: { 200: { description: "The file", file: "application/octet-stream" } },
    errors: [
      ...(["not_found", "artifact_corrupt", "vault_sealed", "prover_keys_missing", "conflict"] as const),
      ...(["prover_unsupported", "insufficient_memory", "overloaded", "deadline_exceeded", "storage_full"] as const),
    ],
  }),
  listProverArtifacts: defineRoute({
    id: "listProverArtifacts",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/artifacts",
    summary: "List the artifacts of a prover",
    auth: READ,
    description:
      "The files that can be downloaded, with their hashes; those that are made when they are first downloaded have no hash until then. Of an import that waits for files: those that were announced, and how much of each has come.",
    params: ProverParams,
    responses: { 200: { description: "The files", schema: Type.Array(ProverArtifact) } },
    errors: ["not_found"],
  }),
  uploadProverArtifact: defineRoute({
    id: "uploadProverArtifact",
    area: "prover",
    method: "PUT",
    path: "/api/v1/provers/:id/artifacts/:name",
    summary: "Upload a file of an import",
    auth: CREATE,
    description:
      "A file that `import` announced when the prover was created: circuit.r1cs, circuit.wasm, circuit.sym, proving_key.zkey, verification_key.json. Whole, or in parts in their order, each with Content-Range. After an interruption the list of artifacts tells where to go on; a request without Content-Range begins again. With the last file provisioning starts. Files that are not complete after 24 hours, and uploads that get nothing for an hour, are dropped.",
    params: UploadParams,
    streamedBody: true,
    bodyBytesMax: UPLOAD_BYTES_MAX,
    deadlineMs: UPLOAD_DEADLINE_MS,
    responses: {
      200: { description: "The part has come; others are missing", schema: ProverArtifact },
      201: { description: "The file is complete", schema: ProverArtifact },
    },
    errors: [
      "not_found",
      "upload_not_expected",
      "upload_out_of_order",
      "upload_digest_mismatch",
      "overloaded",
      "storage_full",
    ],
  }),
  listProofs: defineRoute({
    id: "listProofs",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/proofs",
    summary: "List the proofs of a prover",
    auth: READ,
    list: true,
    description:
      "Proofs with this hash are the same bytes; those with this statement hash prove the same, as anyone can re-randomise a proof.",
    params: ProverParams,
    query: ProofFilters,
    responses: { 200: { description: "Proof records, oldest first", schema: Type.Array(ProofRecord) } },
    errors: ["not_found"],
  }),
  getProof: defineRoute({
    id: "getProof",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/proofs/:proof_id",
    summary: "Read a proof's record",
    auth: READ,
    params: ProofParams,
    responses: { 200: { description: "The record", schema: ProofRecord } },
    errors: ["not_found"],
  }),
  getNote: defineRoute({
    id: "getNote",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/notes/:index",
    summary: "Read a note",
    auth: READ,
    needsUnsealed: true,
    description: "The note at the index (from 0) of the prover's note store, decrypted.",
    params: NoteParams,
    responses: { 200: { description: "The note", schema: Note } },
    errors: ["not_found", "vault_sealed", "data_corrupt"],
  }),
} as const;
