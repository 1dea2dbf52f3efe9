/**
 * The routes of the prover registry, as plain values (SPEC 4.1; what SPEC does not name: DECISIONS 'Prover registry').
 */
import Type from "typebox";
import { defineRoute } from "../platform/contract/route.js";
import {
  ArtifactParams,
  CreateProver,
  Note,
  NoteParams,
  ProofParams,
  ProofRecord,
  ProveBody,
  ProveQuery,
  ProveResult,
  Prover,
  ProverFilters,
  ProverIdParams,
  ProverProgress,
  VerifyBody,
  VerifyResult,
} from "./schemas.js";

/** Witness bodies: thousands of field elements as text; security: 4.2. */
const WITNESS_BODY_BYTES_MAX = 2 * 1024 * 1024;
const WITNESS_TOKENS_MAX = 200_000;
/** Source of 256 KiB, with room for JSON's escapes (every line break takes two bytes). */
const CREATE_BODY_BYTES_MAX = 1024 * 1024;
/** A proof may wait for its lane and take a minute on a large circuit. */
export const PROVE_DEADLINE_MS = 120_000;
/** `Prefer: wait=N` is honoured up to this many seconds; the deadline of create leaves room for it. */
export const WAIT_SEC_MAX = 60;
const CREATE_DEADLINE_MS = (WAIT_SEC_MAX + 15) * 1000;

/** A batch of a thousand proofs, all of them wrong, on a busy server. */
const VERIFY_DEADLINE_MS = 60_000;

const READ = { permissions: ["read"] } as const;
const CREATE = { permissions: ["create"] } as const;
const DELETE = { permissions: ["delete"] } as const;
const proverJson = { description: "The prover", schema: Prover } as const;

export const proverRoutes = {
  listProvers: defineRoute({
    id: "listProvers",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers",
    summary: "List provers",
    auth: READ,
    list: true,
    description: "The provers of the token's subject, oldest first. All filters compare for equality.",
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
    description:
      "Answers at once; the circuit is compiled and set up afterwards. With `Prefer: wait=N` the answer waits up to N (at most 60) seconds for the end of provisioning.",
    body: CreateProver,
    bodyBytesMax: CREATE_BODY_BYTES_MAX,
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
    ],
    example: {
      body: {
        identifier: "cubic",
        proving_scheme: "groth16",
        curve: "BN254",
        provider: "circom",
        name: "my first prover",
      },
    },
  }),
  getProver: defineRoute({
    id: "getProver",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id",
    summary: "Read a prover",
    auth: READ,
    params: ProverIdParams,
    responses: { 200: proverJson },
    errors: ["not_found"],
  }),
  getProverStatus: defineRoute({
    id: "getProverStatus",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/status",
    summary: "How far provisioning is",
    auth: READ,
    params: ProverIdParams,
    responses: { 200: { description: "Progress", schema: ProverProgress } },
    errors: ["not_found"],
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
      "Removes the prover, its vault, its keys, its proof records and the stores that were made with it. Stores that other provers use stay.",
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
    params: ProverIdParams,
    query: ProveQuery,
    body: ProveBody,
    bodyOptional: true,
    bodyBytesMax: WITNESS_BODY_BYTES_MAX,
    jsonTokensMax: WITNESS_TOKENS_MAX,
    deadlineMs: PROVE_DEADLINE_MS,
    errorMembers: { proof: null },
    responses: { 201: { description: "The proof; Location names its record", schema: ProveResult } },
    errors: [
      "not_found",
      "prover_not_provisioned",
      "prover_keys_missing",
      "witness_missing",
      "witness_invalid",
      "constraints_unsatisfied",
      "proof_self_check_failed",
      "artifact_corrupt",
      "note_store_full",
      "vault_sealed",
      "overloaded",
      "deadline_exceeded",
      "storage_full",
    ],
    example: { body: { witness: { X: "3", Y: "35" } } },
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
      "Public members of the witness are compared, private ones ignored. `store` needs the permission to create. With `batch`, up to 1000 proofs are answered in order under `batch`, together much faster than one by one; an item that is malformed holds its `errors` and does not affect the others.",
    params: ProverIdParams,
    body: VerifyBody,
    bodyOptional: true,
    bodyBytesMax: WITNESS_BODY_BYTES_MAX,
    jsonTokensMax: WITNESS_TOKENS_MAX,
    deadlineMs: VERIFY_DEADLINE_MS,
    errorMembers: { result: false },
    responses: { 200: { description: "True when the proof is valid for the public signals", schema: VerifyResult } },
    errors: [
      "not_found",
      "forbidden",
      "prover_not_provisioned",
      "prover_keys_missing",
      "witness_missing",
      "witness_invalid",
      "proof_malformed",
      "artifact_corrupt",
      "note_store_full",
      "vault_sealed",
      "overloaded",
      "storage_full",
    ],
    example: { body: { proof: "00", witness: { Y: "35" } } },
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
      "verifying_key.json, proving_key (also as proving_key.zkey), circuit.wasm, circuit.r1cs, circuit.sym, interface.json, verifier.sol. ETag is the SHA-256.",
    params: ArtifactParams,
    responses: { 200: { description: "The file", file: "application/octet-stream" } },
    errors: ["not_found", "artifact_corrupt", "vault_sealed"],
  }),
  listProofs: defineRoute({
    id: "listProofs",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/proofs",
    summary: "List the proofs of a prover",
    auth: READ,
    list: true,
    params: ProverIdParams,
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
