/** Binds the routes of jobs and batches to their services, and prove where it answers with a job. */
import { keepingAnswer, type Once } from "../../platform/contract/once.js";
import type { HandlerRequest, HandlersFor } from "../../platform/contract/route.js";
import { RefusedItem } from "../../platform/contract/refused-item.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import type { Labelling } from "../labels/labelling.js";
import { RECEIPT_INTERRUPTED, type KeptAlong, type MadeProof } from "../proofs/kept-along.js";
import type { AskedProof, ProveRequests } from "../proofs/prove-requests.js";
import { PROVE_DEADLINE_MS } from "../routes.js";
import type { ProveBody, ProveResult } from "../schemas.js";
import { PROVE_BATCH_DEADLINE_MS, type proofJobRoutes } from "./proof-job-routes.js";
import type { AcceptedBatch, ProofJobs } from "./proof-jobs.js";
import { PROVE_BATCH_WAITS_MAX, type Job } from "./proof-job-schemas.js";

export interface ProofJobHandlersDependencies {
  readonly jobs: ProofJobs;
  readonly requests: ProveRequests;
  readonly labelling: Pick<Labelling, "idOf">;
}

type ProveReply =
  | { readonly status: 201; readonly body: ProveResult; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly status: 202;
      readonly body: Job;
      readonly headers: Readonly<Record<string, string>>;
    };

interface BatchReply {
  readonly status: 202;
  readonly body: {
    readonly batch_id: string;
    readonly batch: (Job | { readonly errors: AppError["details"][number][] })[];
  };
  readonly headers: Readonly<Record<string, string>>;
}

/** What prove gets, as far as it is used here. */
type ProveRequest = Pick<
  HandlerRequest<(typeof proofJobRoutes)["proveBatch"]>,
  "principal" | "params" | "signal" | "requestId" | "address" | "preferWaitSec" | "prefersAsync" | "query" | "once"
>;

const APPLIED = { "Preference-Applied": "respond-async" } as const;
/** What the work of a request leaves of its time for the answer. */
const ANSWER_MS = 5_000;
/** The longest wait, in seconds, of `respond-async, wait=N`: the client learns of its job before its time is up. */
const ASYNC_WAIT_SEC_MAX = (PROVE_DEADLINE_MS - ANSWER_MS) / 1000;

/** Returns the handlers of all routes in proof-job-routes.ts. */
export function proofJobHandlers(dependencies: ProofJobHandlersDependencies): HandlersFor<typeof proofJobRoutes> {
  const { jobs, requests, labelling } = dependencies;
  return {
    proveBatch: async (request) => {
      const { principal, params, query, body, signal, once } = request;
      const id = labelling.idOf(principal.subject, params.id);
      requests.requireProver(principal.subject, id);
      const { batch: bodies = [] } = body;
      const items = bodies.map((item) => itemOf(request, id, item));
      if (request.prefersAsync === true || items.length > PROVE_BATCH_WAITS_MAX) {
        const { deadline_sec: deadlineSec } = query;
        const keep = keepingAnswer(once, (batch: AcceptedBatch) => batchReply(batch, request));
        return batchReply(await jobs.acceptBatch(principal, items, { deadlineSec, keep }), request);
      }
      if (query.deadline_sec !== undefined) throw deadlineWithoutJob();
      // Each proof has a commit of its own.
      await once?.begin();
      const deadlineMs = PROVE_BATCH_DEADLINE_MS - ANSWER_MS;
      const batch = await Promise.all(
        items.map(async (asked) => {
          try {
            if (asked instanceof AppError) throw asked;
            // One of its own for each, because all of them listen.
            return await requests.make(asked, { signal: AbortSignal.any([signal]), deadlineMs });
          } catch (error) {
            if (error instanceof AppError) return { errors: [...error.details] };
            throw error;
          }
        }),
      );
      return { status: 200, body: { batch } };
    },
    listJobs: ({ principal, query }) => ({ status: 200, ...jobs.list(principal.subject, query) }),
    getJob: async ({ principal, params, preferWaitSec, signal }) => ({
      status: 200,
      body: await jobs.get(principal.subject, params.id, { waitSec: preferWaitSec, signal }),
    }),
    deleteJob: async ({ principal, params }) => {
      await jobs.delete(principal.subject, params.id);
      return { status: 204 };
    },
  };
}

/** Answers prove: with the proof, or with a job where the client prefers that and the proof takes longer. */
export async function proveReply(
  { jobs, requests, labelling }: ProofJobHandlersDependencies,
  request: ProveRequest & { readonly body: ProveBody | undefined },
): Promise<ProveReply> {
  const { principal, params, query, signal, preferWaitSec, once } = request;
  const id = labelling.idOf(principal.subject, params.id);
  const asked = askedOf(request, id, request.body ?? {});
  if (request.prefersAsync !== true) {
    if (query.deadline_sec !== undefined) throw deadlineWithoutJob();
    const along = once === undefined ? {} : { along: answering(once, asked.body) };
    return madeReply(await requests.make(asked, { signal, ...along }), {});
  }
  const job = await jobs.accept(asked, { deadlineSec: query.deadline_sec, keep: keepingAnswer(once, jobReply) });
  const waitSec = Math.min(preferWaitSec, ASYNC_WAIT_SEC_MAX);
  const made = await jobs.answer(principal.subject, job.id, { waitSec, signal });
  if (made !== undefined) return madeReply(made, APPLIED);
  return jobReply(job);
}

/**
 * What goes into the commit of a proof that is answered at once: its answer. A receipt is signed after it, when what it
 * says has happened; a repeat of a request that was cut off in between is answered as a job is, without one.
 */
function answering(once: Once, { receipt = false }: ProveBody): KeptAlong {
  let made: MadeProof | undefined;
  return {
    prepare: async (proof) => {
      made = await Promise.resolve(proof);
    },
    read: () => undefined,
    commit: ({ noteIndex, spent }) => {
      if (made === undefined) return once.begun();
      const kept = { ...made, note_index: noteIndex, ...(spent.length === 0 ? {} : { spent: [...spent] }) };
      return receipt
        ? once.cutOff(madeReply({ ...kept, receipt_error: RECEIPT_INTERRUPTED }, {}))
        : once.answered(madeReply(kept, {}));
    },
  };
}

function jobReply(job: Job): Extract<ProveReply, { status: 202 }> {
  return { status: 202, body: job, headers: { Location: `/api/v1/jobs/${job.id}`, ...APPLIED } };
}

function batchReply(
  { batchId, jobs }: AcceptedBatch,
  { prefersAsync }: Pick<ProveRequest, "prefersAsync">,
): BatchReply {
  const batch = jobs.map((job) => (job instanceof AppError ? { errors: [...job.details] } : job));
  const headers = { Location: `/api/v1/jobs?batch_id=${batchId}`, ...(prefersAsync === true ? APPLIED : {}) };
  return { status: 202, body: { batch_id: batchId, batch }, headers };
}

function madeReply(made: ProveResult, headers: Readonly<Record<string, string>>): ProveReply {
  const Location = `/api/v1/provers/${made.prover_id}/proofs/${made.id}`;
  return { status: 201, body: made, headers: { Location, ...headers } };
}

function itemOf(request: ProveRequest, id: string, item: ProveBody | RefusedItem): AskedProof | AppError {
  if (!(item instanceof RefusedItem)) return askedOf(request, id, item);
  const [first] = item.refused;
  return new AppError("invalid_request", { message: first?.message ?? "the item is malformed", details: item.refused });
}

function askedOf(
  { principal, params, query, requestId, address }: ProveRequest,
  proverId: string,
  body: ProveBody,
): AskedProof {
  return { principal, requestId, address, proverId, reference: params.id, format: query.format, body };
}

function deadlineWithoutJob(): AppError {
  return invalidMember("deadline_sec", "`deadline_sec` is for jobs: send `Prefer: respond-async` with it");
}
