/**
 * Proofs that are made as jobs: accepted with their inputs sealed, listed, waited for and cancelled. What happens is in
 * the records; a durable job of the same id stands for each that has not ended (proof-job-runner.ts).
 */
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, notFound } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Job as DurableJob } from "../../platform/jobs/job.js";
import type { Jobs } from "../../platform/jobs/jobs.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/commits.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import type { Page } from "../../platform/store/tables.js";
import type { AskedProof, ProveRequests } from "../proofs/prove-requests.js";
import type { ProofPace } from "../proofs/proof-pace.js";
import type { StatusWatch } from "../provisioning/status-watch.js";
import type { Listed } from "../repository.js";
import type { ProveResult } from "../schemas.js";
import type { Admission, ProverAccess } from "../sharing/prover-access.js";
import type { ProofJobEnds } from "./proof-job-ends.js";
import type { ProofJobKey, ProofJobRecords, StoredProofJob } from "./proof-job-records.js";
import type { ProofJobSeal } from "./proof-job-seal.js";
import { DEADLINE_SEC_MAX, type Job, type JobDetail, type JobFilters } from "./proof-job-schemas.js";
import { progressOf } from "./proof-job-progress.js";

export interface ProofJobsOptions {
  /** Parts of inputs of one owner's jobs that have not ended; each job has one at least. */
  readonly partsPerOwnerMax: number;
  /** The same of all owners. */
  readonly partsMax: number;
  /** Longest wait of `Prefer: wait`, in seconds. */
  readonly waitSecMax: number;
}

export interface ProofJobsDependencies {
  readonly store: Store;
  readonly records: ProofJobRecords;
  readonly seal: ProofJobSeal;
  readonly ends: ProofJobEnds;
  readonly requests: Pick<ProveRequests, "require">;
  readonly jobs: Jobs;
  readonly access: Pick<ProverAccess, "find">;
  readonly pace: Pick<ProofPace, "estimateMs">;
  readonly watch: StatusWatch;
  readonly turnOf: (subject: Subject) => string;
  readonly clock: Clock;
}

/** A job that was accepted, or why it was not. */
type Accepted = StoredProofJob | AppError;

/** The jobs of a batch, or why an item has none. */
export interface AcceptedBatch {
  readonly batchId: string;
  readonly jobs: readonly (Job | AppError)[];
}

/** What a caller says of jobs beside what is to be proven. */
interface Given<Answer> {
  readonly deadlineSec?: number | undefined;
  readonly keep?: ((answer: Answer) => StoreCommit) | undefined;
}

interface JobPlace {
  readonly batchId: string | null;
  readonly deadlineSec: number;
}

/** How long a client waits, and until when. */
interface Wait {
  readonly waitSec: number;
  readonly signal: AbortSignal;
}

/** Of the durable jobs. */
export const PROOF_JOB_KIND = "prove";
/** Ended jobs of one owner; with each new one the two oldest beyond these go. */
const FINISHED_PER_OWNER_MAX = 10_000;
const TRIMMED = 2;
const RETRY_SEC_MAX = 120;
/** Jobs that a purge cancels between two looks. */
const PURGE_PAGE = 100;

export class ProofJobs {
  readonly #options: ProofJobsOptions;
  readonly #with: ProofJobsDependencies;

  constructor(options: ProofJobsOptions, dependencies: ProofJobsDependencies) {
    this.#options = options;
    this.#with = dependencies;
  }

  /**
   * Accepts a proof as a job; it is on disk when this resolves.
   * @param given.deadlineSec seconds from now; a day unless given
   * @param given.keep returns what else is kept in the job's commit
   * @throws AppError what shows before anything is computed, as `ProveRequests.require`; `too_many_requests`,
   *   `overloaded` for jobs beyond the limits, `vault_sealed`, `storage_full`
   */
  async accept(asked: AskedProof, given: Given<Job> = {}): Promise<Job> {
    const { deadlineSec = DEADLINE_SEC_MAX, keep } = given;
    const [accepted] = await this.#acceptAll(asked.principal.subject, [asked], {
      ...{ batchId: null, deadlineSec },
      keep: ([first]) => (first === undefined || first instanceof AppError ? {} : (keep?.(this.#onWire(first)) ?? {})),
    });
    if (accepted === undefined || accepted instanceof AppError) throw accepted ?? notFound("prover");
    return this.#onWire(accepted);
  }

  /**
   * Accepts the proofs of a batch, each as a job of its own, in one commit, with what `keep` returns.
   * @returns for each item its job, or why it has none
   * @throws AppError `too_many_requests`, `overloaded`, `vault_sealed`, `storage_full`, which concern all items
   */
  async acceptBatch(
    principal: Principal,
    items: readonly (AskedProof | AppError)[],
    { deadlineSec = DEADLINE_SEC_MAX, keep }: Given<AcceptedBatch> = {},
  ): Promise<AcceptedBatch> {
    const batchId = newId();
    const batchOf = (accepted: readonly Accepted[]): AcceptedBatch => ({
      batchId,
      jobs: accepted.map((one) => (one instanceof AppError ? one : this.#onWire(one))),
    });
    return batchOf(
      await this.#acceptAll(principal.subject, items, {
        ...{ batchId, deadlineSec },
        keep: (accepted) => keep?.(batchOf(accepted)) ?? {},
      }),
    );
  }

  /** Lists one page of the owner's jobs, oldest first; filters compare for equality. */
  list(owner: Subject, { status, prover_id, batch_id, ...page }: JobFilters & Page): Listed<Job> {
    const isFiltered = status !== undefined || prover_id !== undefined;
    const isWanted = (job: StoredProofJob): boolean =>
      (prover_id === undefined || job.prover_id === prover_id) &&
      (status === undefined || status === this.#status(job));
    const filter = isFiltered ? isWanted : undefined;
    const { rows, total } = this.#with.records.list(owner, { batchId: batch_id, filter, page });
    return { body: rows.map((job) => this.#onWire(job)), total };
  }

  /**
   * Returns a job with its result, at once or when it ends within the wait.
   * @throws AppError `not_found`, `vault_sealed` when it has a result
   */
  async get(owner: Subject, id: string, wait: Wait): Promise<JobDetail> {
    const key = { owner, id };
    this.#find(key);
    await this.#wait(key, wait);
    return await this.#detail(this.#find(key));
  }

  /**
   * Returns what the request would have been answered, when the job ends within the wait; undefined otherwise.
   * @throws AppError why there is no proof
   */
  async answer(owner: Subject, id: string, wait: Wait): Promise<ProveResult | undefined> {
    if (wait.waitSec <= 0) return undefined;
    const key = { owner, id };
    await this.#wait(key, wait);
    const job = this.#with.records.find(key)?.value;
    if (job === undefined || job.finished_at === null || job.state === "cancelled") return undefined;
    if (job.failure !== null) throw failureError(job.failure);
    return (await this.#detail(job)).result ?? undefined;
  }

  /**
   * Cancels a job that has not ended, or deletes one that has. When this resolves, nothing is computed for it any more.
   * @throws AppError `not_found`, `conflict` while the receipt of a finished proof is signed
   */
  async delete(owner: Subject, id: string): Promise<void> {
    const { records, store, ends } = this.#with;
    const key = { owner, id };
    await retryOnConflict(async () => {
      const record = records.find(key);
      if (record === undefined) throw notFound("job");
      if (record.value.state === "proven")
        throw new AppError("conflict", { message: "the proof is made and its receipt is being signed; try again" });
      if (record.value.finished_at === null) await ends.end(record, "cancelled");
      else await store.commit(records.deletion(record));
    });
  }

  /** Ends and deletes all jobs of an owner. Safe to repeat. */
  async purge(owner: Subject): Promise<void> {
    const { records, store, ends } = this.#with;
    for (let rows = records.next(owner, PURGE_PAGE); rows.length > 0; rows = records.next(owner, PURGE_PAGE)) {
      for (const { id } of rows) {
        await retryOnConflict(async () => {
          const record = records.find({ owner, id });
          if (record !== undefined)
            await store.commit(mergeCommits(records.deletion(record), this.#with.jobs.ending(id)));
        });
        await ends.abort(id);
      }
    }
  }

  async #acceptAll(
    owner: Subject,
    items: readonly (AskedProof | AppError)[],
    given: JobPlace & { readonly keep: (accepted: readonly Accepted[]) => StoreCommit },
  ): Promise<Accepted[]> {
    this.#requireRoom(owner, items);
    const prepared = await Promise.all(items.map(async (item) => await this.#prepare(owner, item, given)));
    const good = prepared.flatMap((one) => (one instanceof AppError ? [] : [one]));
    const accepted = prepared.map((one) => (one instanceof AppError ? one : one.job));
    if (good.length > 0) {
      const kept = given.keep(accepted);
      await this.#with.store.commit(mergeCommits(...good.map(({ commit }) => commit), this.#trimming(owner), kept));
      this.#with.jobs.announce(...good.map(({ durable }) => durable));
    }
    return accepted;
  }

  /** Seals an item and prepares its records; returns what is wrong with it. */
  async #prepare(
    owner: Subject,
    asked: AskedProof | AppError,
    { batchId, deadlineSec }: JobPlace,
  ): Promise<{ readonly job: StoredProofJob; readonly durable: DurableJob; readonly commit: StoreCommit } | AppError> {
    if (asked instanceof AppError) return asked;
    const { records, seal, jobs, clock } = this.#with;
    let admission: Admission;
    try {
      admission = this.#with.requests.require(asked);
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
    const id = newId();
    const { sealedBy, parts } = await seal.sealInput(id, asked, admission);
    const nowMs = clock.nowMs();
    const job: StoredProofJob = {
      ...{ id, created_at: isoTimestamp(nowMs), updated_at: isoTimestamp(nowMs), owner },
      ...{ prover_id: asked.proverId, batch_id: batchId, deadline: isoTimestamp(nowMs + deadlineSec * 1000) },
      ...{ state: "open" as const, input_parts: parts.length, sealed_by: sealedBy },
      ...{ finished_at: null, expires_at: null, proof_id: null, failure: null },
    };
    const queued = jobs.enqueueCommit({
      id,
      kind: PROOF_JOB_KIND,
      subject_key: ["proof_job", owner.kind, owner.id, id],
      phase: "prove",
      input: { ...owner },
    });
    return { job, durable: queued.job, commit: mergeCommits(records.insertion(job, parts), queued.commit) };
  }

  /** An owner's own work never displaces another's: what goes beyond the limits is refused. */
  #requireRoom(owner: Subject, items: readonly unknown[]): void {
    const { records, jobs, turnOf } = this.#with;
    const { partsPerOwnerMax, partsMax } = this.#options;
    const waitMs = jobs.expectedWaitMs(PROOF_JOB_KIND, turnOf(owner));
    const retryAfterSec = Math.min(RETRY_SEC_MAX, Math.max(1, Math.ceil(waitMs / 1000)));
    if (records.countParts(owner) + items.length > partsPerOwnerMax)
      throw new AppError("too_many_requests", {
        message: `at most ${String(partsPerOwnerMax)} jobs of one owner, or parts of their inputs, may wait; try again when some have ended`,
        retryAfterSec,
      });
    if (records.countParts() + items.length > partsMax)
      throw new AppError("overloaded", { message: "too many jobs wait; try again later", retryAfterSec });
  }

  #trimming(owner: Subject): StoreCommit {
    const { records } = this.#with;
    if (records.countFinished(owner) <= FINISHED_PER_OWNER_MAX) return {};
    return mergeCommits(...records.oldestFinished(owner, TRIMMED).map((record) => records.deletion(record)));
  }

  async #wait(key: ProofJobKey, { waitSec, signal }: Wait): Promise<void> {
    const hasEnded = (): boolean => (this.#with.records.find(key)?.value.finished_at ?? undefined) !== undefined;
    const isOver = (): boolean => this.#with.records.find(key) === undefined || hasEnded();
    const waitMs = Math.min(waitSec, this.#options.waitSecMax) * 1000;
    await this.#with.watch.waitUntil(key.id, isOver, { waitMs, signal });
  }

  async #detail(job: StoredProofJob): Promise<JobDetail> {
    const stored = job.state === "succeeded" ? this.#with.records.result(job) : undefined;
    if (stored === undefined) return { ...this.#onWire(job), result: null };
    const { sealed, note_index, spent, ...attested } = stored;
    try {
      const made = await this.#with.seal.openResult(job, sealed);
      const spends = spent.length === 0 ? {} : { spent: [...spent] };
      return { ...this.#onWire(job), result: { ...made, note_index, ...spends, ...attested } };
    } catch (error) {
      // With the prover its vault is gone, and what only its key opens.
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      const { status, code, message, details } = error;
      return { ...this.#onWire(job), result: null, error: { status, code, message, errors: [...details] } };
    }
  }

  #status(job: StoredProofJob): Job["status"] {
    if (job.state !== "open" && job.state !== "proven") return job.state;
    return this.#with.jobs.get(job.id)?.state === "running" ? "running" : "queued";
  }

  #onWire(job: StoredProofJob): Job {
    const { jobs, access, pace, clock } = this.#with;
    const { id, created_at, prover_id, batch_id, deadline, finished_at, expires_at, proof_id, failure } = job;
    const status = this.#status(job);
    const durable = finished_at === null ? jobs.get(id) : undefined;
    const prover = durable === undefined ? undefined : access.find(job.owner, prover_id, "prove");
    const ownMs = prover === undefined ? undefined : pace.estimateMs(prover);
    const place = durable === undefined ? undefined : jobs.placeOf(durable);
    const progress = progressOf({ status, ownMs, place, startedAt: durable?.updated_at }, clock.nowMs());
    return {
      ...{ id, created_at, kind: "prove", prover_id, batch_id, status, ...progress },
      ...{ deadline, finished_at, expires_at, proof_id },
      error: failure === null ? null : { ...failure, errors: [...failure.errors] },
    };
  }

  #find(key: ProofJobKey): StoredProofJob {
    const found = this.#with.records.find(key);
    if (found === undefined) throw notFound("job");
    return found.value;
  }
}

/** A failure that was stored is one of this server's own. */
function failureError({ code, message, errors }: NonNullable<StoredProofJob["failure"]>): AppError {
  return new AppError(code as AppError["code"], { message, details: errors });
}
