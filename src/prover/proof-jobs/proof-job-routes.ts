/** The routes of proofs that are made as jobs and of batches, as plain values. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import { ProverParams } from "../schemas.js";
import {
  Job,
  JobDetail,
  JobFilters,
  JobParams,
  PROVE_BATCH_ITEMS_MAX,
  PROVE_BATCH_WAITS_MAX,
  ProveBatchBody,
  ProveBatchJobs,
  ProveBatchQuery,
  ProveBatchResult,
} from "./proof-job-schemas.js";

/** Many small witnesses, or one large. */
const BATCH_BODY_BYTES_MAX = 16 * 1024 * 1024;
const BATCH_TOKENS_MAX = 400_000;
/** As long as one proof may take; the items share it. */
export const PROVE_BATCH_DEADLINE_MS = 120_000;
/** The longest wait, in seconds, of `Prefer: wait=N`. */
export const JOB_WAIT_SEC_MAX = 300;
const JOB_DEADLINE_MS = (JOB_WAIT_SEC_MAX + 15) * 1000;

export const proofJobRoutes = {
  proveBatch: defineRoute({
    id: "proveBatch",
    area: "prover",
    method: "POST",
    path: "/api/v1/provers/:id/prove/batch",
    summary: "Make many proofs",
    auth: { permissions: ["create"] },
    needsUnsealed: true,
    creates: true,
    keepsOnce: true,
    description: `Each item is a body of prove, and fails alone: its \`errors\` stand in its place. Up to ${String(PROVE_BATCH_WAITS_MAX)} items are answered when all are done; more, up to ${String(PROVE_BATCH_ITEMS_MAX)}, and any number with \`Prefer: respond-async\`, become jobs, one for each, and are answered with 202. Location lists them. No batch waits for its jobs.`,
    params: ProverParams,
    query: ProveBatchQuery,
    body: ProveBatchBody,
    itemsFailAlone: true,
    bodyBytesMax: BATCH_BODY_BYTES_MAX,
    jsonTokensMax: BATCH_TOKENS_MAX,
    userNames: true,
    deadlineMs: PROVE_BATCH_DEADLINE_MS,
    responses: { 200: { description: "The proofs, or why an item has none", schema: ProveBatchResult } },
    respondsAsync: { description: "The jobs, or why an item has none", schema: ProveBatchJobs },
    errors: [
      ...(["not_found", "forbidden", "prover_not_provisioned", "prover_verifies_only", "prover_busy"] as const),
      ...(["vault_sealed", "too_many_requests", "overloaded", "deadline_exceeded", "storage_full"] as const),
    ],
    example: { body: { batch: [{ witness: { X: "3", Y: "35" } }, { witness: { X: "2", Y: "15" } }] } },
  }),
  listJobs: defineRoute({
    id: "listJobs",
    area: "prover",
    method: "GET",
    path: "/api/v1/jobs",
    summary: "List jobs",
    auth: { permissions: ["read"] },
    list: true,
    description:
      "Those of the token's subject, oldest first, without their results. Ended ones are kept for 24 hours, the last 10,000 of each subject.",
    query: JobFilters,
    responses: { 200: { description: "Jobs", schema: Type.Array(Job) } },
  }),
  getJob: defineRoute({
    id: "getJob",
    area: "prover",
    method: "GET",
    path: "/api/v1/jobs/:id",
    summary: "Read a job",
    auth: { permissions: ["read"] },
    description:
      "With `result`, which is sealed with the caller's key for the prover: of a job that has succeeded the answer needs an unsealed vault. With `Prefer: wait=N` it waits up to N seconds (at most 300) for the end.",
    params: JobParams,
    waits: true,
    deadlineMs: JOB_DEADLINE_MS,
    responses: { 200: { description: "The job", schema: JobDetail } },
    errors: ["not_found", "vault_sealed"],
  }),
  deleteJob: defineRoute({
    id: "deleteJob",
    area: "prover",
    method: "DELETE",
    path: "/api/v1/jobs/:id",
    summary: "Cancel or delete a job",
    auth: { permissions: ["delete"] },
    description:
      "Cancels a job that waits or runs: its thread is free when this is answered, and no proof is kept. Deletes the record of one that has ended, with its result; the proof and its note stay.",
    params: JobParams,
    responses: { 204: { description: "Cancelled, or deleted" } },
    errors: ["not_found", "conflict"],
  }),
} as const;
