/**
 * Makes the proof of one job. The proof, its note, what it spends and the job's end are one commit, so that a job that
 * a crash cut off is done again and answered once. What prove would answer as a failure ends the job with it; what
 * passes (a sealed vault, full queues) is waited for until the job's deadline.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, notFound } from "../../platform/errors.js";
import type { JobContext } from "../../platform/jobs/job-runner.js";
import type { Job as DurableJob, JobFault } from "../../platform/jobs/job.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/commits.js";
import type { Store, StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { RECEIPT_INTERRUPTED, type KeptAlong } from "../proofs/kept-along.js";
import type { ProveRequests } from "../proofs/prove-requests.js";
import type { ProveResult } from "../schemas.js";
import type { ProverVault } from "../vault-port.js";
import type { ProofJobEnds } from "./proof-job-ends.js";
import type { ProofJobRecords, StoredFailure, StoredProofJob, StoredResult } from "./proof-job-records.js";
import type { ProofJobSeal } from "./proof-job-seal.js";

export interface ProofJobRunnerDependencies {
  readonly store: Store;
  readonly records: ProofJobRecords;
  readonly seal: ProofJobSeal;
  readonly ends: ProofJobEnds;
  readonly requests: Pick<ProveRequests, "make">;
  readonly vault: Pick<ProverVault, "untilUnsealed">;
  readonly clock: Clock;
}

/** A proof that nobody waits for may take this long, waiting for a thread included; a synchronous one two minutes. */
const PROVE_MS_MAX = 600_000;
/** Failures of the moment, which prove answers with Retry-After and a job tries again. */
const PASSING: ReadonlySet<string> = new Set(["overloaded", "vault_sealed", "storage_full", "shutting_down"]);
const RETRY_MS_MAX = 10_000;

export class ProofJobRunner {
  readonly #with: ProofJobRunnerDependencies;

  constructor(dependencies: ProofJobRunnerDependencies) {
    this.#with = dependencies;
  }

  /** Runs a job to its end. Resolves early when it was aborted. */
  async run(job: DurableJob, context: JobContext): Promise<void> {
    const key = { owner: ownerOf(job), id: job.id };
    const found = this.#with.records.find(key);
    // Ended or deleted between the lease and now.
    if (found === undefined || found.value.finished_at !== null) return;
    if (found.value.state === "proven") {
      await this.#finish(found.value, context, { receipt_error: RECEIPT_INTERRUPTED });
      return;
    }
    const isOver = (): boolean => context.signal.aborted;
    while (!isOver()) {
      try {
        await this.#with.vault.untilUnsealed(context.signal);
        if (await this.#endIfLate(found.value, context)) return;
        await this.#prove(found.value, context);
        return;
      } catch (error) {
        if (isOver()) return;
        if (!(error instanceof AppError)) throw error;
        if (await this.#endIfLate(found.value, context)) return;
        if (!PASSING.has(error.code)) {
          await this.#fail(found.value, context, failureOf(error));
          return;
        }
        await pause(error, context.signal);
      }
    }
  }

  /** Returns what goes with the durable job's failure: it ended its process, or failed as a program, too often. */
  failure(job: DurableJob, { message }: JobFault): StoreCommit {
    const record = this.#with.records.find({ owner: ownerOf(job), id: job.id });
    if (record === undefined || record.value.finished_at !== null) return {};
    const failure = failureOf(new AppError("internal_error", { message: `the proof was given up: ${message}` }));
    return this.#with.ends.prepare(record, "failed", { failure });
  }

  async #prove(job: StoredProofJob, context: JobContext): Promise<void> {
    const { records, seal, requests, clock, ends } = this.#with;
    const parts = records.input(job);
    // Another process has ended the job.
    if (parts === undefined) return;
    const asked = await seal.openInput(job, parts);
    const wantsReceipt = asked.body.receipt === true;
    const leftMs = Date.parse(job.deadline) - clock.nowMs();
    const made = await requests.make(asked, {
      signal: context.signal,
      deadlineMs: Math.max(1, Math.min(PROVE_MS_MAX, leftMs)),
      along: this.#along(job, context, { wantsReceipt }),
    });
    if (wantsReceipt) await this.#finish(job, context, attestedOf(made));
    else ends.told(job.id);
  }

  /** What the commit of the proof says of its job. */
  #along(job: StoredProofJob, context: JobContext, { wantsReceipt }: { readonly wantsReceipt: boolean }): KeptAlong {
    const { records, seal, ends, clock } = this.#with;
    let sealed = "";
    let proofId = "";
    let record: StoreRecord<StoredProofJob> | undefined;
    let ending: StoreCommit = {};
    return {
      prepare: async (made) => {
        proofId = made.id;
        sealed = await seal.sealResult(job, made);
      },
      read: () => {
        record = records.find(job);
        if (record?.value.state !== "open") throw notFound("job");
        // The lease is checked in either case; without a receipt the durable job ends here, too.
        ending = context.ending();
      },
      commit: ({ noteIndex, spent }) => {
        if (record === undefined) throw notFound("job");
        const result = records.putResult(job, { sealed, note_index: noteIndex, spent });
        if (!wantsReceipt)
          return mergeCommits(result, ends.prepare(record, "succeeded", { proof_id: proofId }), ending);
        const change = { state: "proven", proof_id: proofId, updated_at: isoTimestamp(clock.nowMs()) } as const;
        return mergeCommits(result, records.update(record, change), { checks: ending.checks ?? [] });
      },
    };
  }

  /** Ends a job whose proof is kept. */
  async #finish(
    job: StoredProofJob,
    context: JobContext,
    attested: Pick<StoredResult, "receipt" | "receipt_error">,
  ): Promise<void> {
    const { records, ends } = this.#with;
    await this.#end(job, context, (record) => {
      const result = records.result(job);
      return mergeCommits(
        result === undefined ? {} : records.putResult(job, { ...result, ...attested }),
        ends.prepare(record, "succeeded"),
      );
    });
  }

  async #fail(job: StoredProofJob, context: JobContext, failure: StoredFailure): Promise<void> {
    await this.#end(job, context, (record) => this.#with.ends.prepare(record, "failed", { failure }));
  }

  async #endIfLate(job: StoredProofJob, context: JobContext): Promise<boolean> {
    if (Date.parse(job.deadline) > this.#with.clock.nowMs()) return false;
    await this.#end(job, context, (record) => this.#with.ends.prepare(record, "expired"));
    return true;
  }

  /** Commits an end, unless there is one already. */
  async #end(
    job: StoredProofJob,
    context: JobContext,
    prepare: (record: StoreRecord<StoredProofJob>) => StoreCommit,
  ): Promise<void> {
    await retryOnConflict(async () => {
      const record = this.#with.records.find(job);
      if (record === undefined || record.value.finished_at !== null) return;
      await this.#with.store.commit(mergeCommits(prepare(record), context.ending()));
    });
    this.#with.ends.told(job.id);
  }
}

/** Waits as long as a failure of the moment asks for; resolves early when the signal fires. */
async function pause({ retryAfterSec = 1 }: AppError, signal: AbortSignal): Promise<void> {
  await delay(Math.min(RETRY_MS_MAX, retryAfterSec * 1000), undefined, { signal }).catch(() => undefined);
}

function attestedOf({ receipt, receipt_error }: ProveResult): Pick<StoredResult, "receipt" | "receipt_error"> {
  return {
    ...(receipt === undefined ? {} : { receipt }),
    ...(receipt_error === undefined ? {} : { receipt_error }),
  };
}

/** Returns a failure as the answer to a request has it. */
export function failureOf({ status, code, message, details }: AppError): StoredFailure {
  return { status, code, message: details[0]?.message ?? message, errors: [...details] };
}

/** The input is what `ProofJobs` queued. */
export function ownerOf(job: DurableJob): Subject {
  return job.input as unknown as Subject;
}
