/** What jobs are on the wire. */
import Type, { type Static, type TProperties } from "typebox";
import { BatchItemErrors, IdParams, Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";
import { ProveBody, ProveQuery, ProveResult } from "../schemas.js";

/** Proofs of one batch that are made while the request waits; more become jobs. */
export const PROVE_BATCH_WAITS_MAX = 16;
/** Proofs of one batch; one commit takes them all. */
export const PROVE_BATCH_ITEMS_MAX = 500;
/** The longest deadline of a job, and its deadline unless it says another: a day. */
export const DEADLINE_SEC_MAX = 86_400;

const JobStatus = Type.Enum(["queued", "running", "succeeded", "failed", "cancelled", "expired"], {
  description: "expired: not done by its deadline",
});

export const JobFailure = Type.Object(
  {
    status: Type.Integer({ description: "HTTP status that prove would have answered" }),
    code: Type.String(),
    message: Type.String(),
    errors: Type.Array(
      Type.Object({ message: Type.String(), code: Type.String(), path: Type.Optional(Type.String()) }),
    ),
  },
  { description: "what prove would have answered" },
);

const JOB_MEMBERS = {
  id: Uuid,
  created_at: Timestamp,
  kind: Type.Literal("prove"),
  prover_id: Uuid,
  batch_id: nullable(Uuid),
  status: JobStatus,
  position: nullable(
    Type.Integer({ minimum: 0, description: "jobs that begin before it, at most; null when it does not wait" }),
  ),
  progress: Type.Number({
    minimum: 0,
    maximum: 1,
    description: "0 while it waits; while it runs, by the time that earlier proofs of the prover took",
  }),
  estimated_ms: nullable(
    Type.Integer({ minimum: 0, description: "until the end, by what proofs took so far; null when it is not known" }),
  ),
  deadline: Timestamp,
  finished_at: nullable(Timestamp),
  expires_at: nullable(Timestamp),
  proof_id: nullable(Uuid),
  error: nullable(JobFailure),
} satisfies TProperties;

export const Job = Type.Object(JOB_MEMBERS, { description: "a proof that is made as a job" });
export type Job = Static<typeof Job>;

export const JobDetail = Type.Object(
  {
    ...JOB_MEMBERS,
    result: nullable(ProveResult),
  },
  { description: "a job with its result: what prove would have answered, null before the end and without a proof" },
);
export type JobDetail = Static<typeof JobDetail>;

export const JobFilters = closed({
  status: Type.Optional(JobStatus),
  prover_id: Type.Optional(Uuid),
  batch_id: Type.Optional(Uuid),
});
export type JobFilters = Static<typeof JobFilters>;

export const JobParams = IdParams;

const DeadlineSec = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: DEADLINE_SEC_MAX,
    description: "seconds from now by which a job must be done; 86400 unless given. Only with `Prefer: respond-async`",
  }),
);
export const ProveJobQuery = closed({ ...ProveQuery.properties, deadline_sec: DeadlineSec });

export const ProveBatchBody = closed({
  batch: Type.Array(ProveBody, {
    minItems: 1,
    maxItems: PROVE_BATCH_ITEMS_MAX,
    description: "bodies of prove; each fails alone",
  }),
});
export const ProveBatchQuery = closed({
  ...ProveQuery.properties,
  deadline_sec: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: DEADLINE_SEC_MAX,
      description: "seconds from now by which the jobs must be done; 86400 unless given",
    }),
  ),
});

export const ProveBatchResult = Type.Object(
  { batch: Type.Array(Type.Union([ProveResult, BatchItemErrors]), { maxItems: PROVE_BATCH_ITEMS_MAX }) },
  { description: "answers of prove, in the order of the items" },
);
export const ProveBatchJobs = Type.Object(
  {
    batch_id: Uuid,
    batch: Type.Array(Type.Union([Job, BatchItemErrors]), { maxItems: PROVE_BATCH_ITEMS_MAX }),
  },
  { description: "the jobs, in the order of the items" },
);
