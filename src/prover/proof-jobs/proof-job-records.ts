/**
 * The records of proofs that are made as jobs. What is asked for lies sealed in parts beside the record while the job
 * has not ended, and its result lies sealed until the record is deleted. Decides nothing; builds commits.
 *
 *   record   ["proof_job", owner, id]               -> StoredProofJob
 *   input    ["proof_job_input", owner, id, part]   -> base64, sealed; deleted by the commit that ends the job
 *   result   ["proof_job_result", owner, id]        -> StoredResult
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import type { ErrorDetail } from "../../platform/errors.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";
import { defineTable, type Page, type Table } from "../../platform/store/tables.js";
import type { SpentKey } from "../stores/pending-append.js";

/** Final states; without one the job waits or runs, as the record of the durable job says. */
export const PROOF_JOB_ENDS = ["succeeded", "failed", "cancelled", "expired"] as const;
export type ProofJobEnd = (typeof PROOF_JOB_ENDS)[number];

/** A failure as the synchronous answer gives it. */
export type StoredFailure = {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly errors: readonly ErrorDetail[];
};

export type StoredProofJob = {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  /** Who asked, and owns the proof. */
  readonly owner: Subject;
  readonly prover_id: string;
  /** The batch that it came with. */
  readonly batch_id: string | null;
  /** ISO 8601; without a proof by then the job expires. */
  readonly deadline: string;
  /** `open` until the end; `proven` while the proof is kept and its receipt is missing. */
  readonly state: "open" | "proven" | ProofJobEnd;
  readonly input_parts: number;
  /** The key of the caller's vault for the prover that input and result are sealed with. */
  readonly sealed_by: { readonly vault_id: string; readonly key_id: string };
  readonly finished_at: string | null;
  /** ISO 8601; the record is deleted afterwards. Null until the end. */
  readonly expires_at: string | null;
  readonly proof_id: string | null;
  readonly failure: StoredFailure | null;
};

/** What the job answers: the sealed part, and what its commit has decided. */
export type StoredResult = {
  /** Base64 of JSON; see `MadeProof`. */
  readonly sealed: string;
  readonly note_index: number;
  readonly spent: readonly Pick<SpentKey, keyof SpentKey>[];
  readonly receipt?: string;
  readonly receipt_error?: { readonly code: string; readonly message: string };
};

/** Name of a job in all of the server. */
export interface ProofJobKey {
  readonly owner: Subject;
  readonly id: string;
}

const TABLES = { job: "proof_job", input: "proof_job_input", result: "proof_job_result" } as const;

export class ProofJobRecords {
  readonly #store: Store;
  readonly #jobs: Table<StoredProofJob, "owner" | "batch" | "finished" | "due", never>;

  constructor(dependencies: { readonly store: Store }) {
    this.#store = dependencies.store;
    this.#jobs = defineTable<StoredProofJob, "owner" | "batch" | "finished" | "due">(
      {
        name: TABLES.job,
        key: ({ owner, id }) => keyOf({ owner, id }),
        indexes: {
          owner: ({ owner }) => ownerKey(owner),
          batch: ({ owner, batch_id }) => (batch_id === null ? undefined : [...ownerKey(owner), batch_id]),
          finished: ({ owner, finished_at }) => (finished_at === null ? undefined : ownerKey(owner)),
          due: ({ state, deadline, expires_at }) =>
            expires_at === null ? (state === "open" ? ["open", deadline] : undefined) : ["ended", expires_at],
        },
      },
      dependencies,
    );
  }

  /** Finds a job of the owner. */
  find(key: ProofJobKey): StoreRecord<StoredProofJob> | undefined {
    return this.#jobs.get(keyOf(key));
  }

  /** Lists one page of an owner's jobs, oldest first. */
  list(
    owner: Subject,
    {
      batchId,
      filter,
      page,
    }: {
      readonly batchId: string | undefined;
      readonly filter: ((job: StoredProofJob) => boolean) | undefined;
      readonly page: Page;
    },
  ): { readonly rows: readonly StoredProofJob[]; readonly total: number } {
    const options = { page, ...(filter === undefined ? {} : { filter }) };
    if (batchId === undefined) return this.#jobs.list("owner", ownerKey(owner), options);
    return this.#jobs.list("batch", [...ownerKey(owner), batchId], options);
  }

  /** Returns the next jobs of an owner, whatever their state. */
  next(owner: Subject, limit: number): StoredProofJob[] {
    return this.#jobs.list("owner", ownerKey(owner), { page: { page: 1, rpp: limit } }).rows;
  }

  /** Counts the parts of inputs that an owner, or that all owners, have in jobs that have not ended. */
  countParts(owner?: Subject): number {
    return this.#store.count([TABLES.input, ...(owner === undefined ? [] : ownerKey(owner))]);
  }

  /** Counts the ended jobs of an owner. */
  countFinished(owner: Subject): number {
    return this.#jobs.count("finished", ownerKey(owner));
  }

  /** Returns the oldest ended jobs of an owner. */
  oldestFinished(owner: Subject, limit: number): StoreRecord<StoredProofJob>[] {
    return this.#jobs.records("finished", ownerKey(owner), { page: 1, rpp: limit });
  }

  /** Returns the jobs that reach their deadline first, or the ended ones that are to be deleted first. */
  due(state: "open" | "ended", limit: number): StoreRecord<StoredProofJob>[] {
    return this.#jobs.records("due", [state], { page: 1, rpp: limit });
  }

  /** Prepares a new job with its sealed input. */
  insertion(job: StoredProofJob, parts: readonly string[]): StoreCommit {
    const puts = parts.map((value, index) => ({ key: [TABLES.input, ...keyOf(job), index], value }));
    return mergeCommits(this.#jobs.insertCommit(job), { puts });
  }

  /** Prepares a change; it conflicts when the record has changed since it was read. */
  update(current: StoreRecord<StoredProofJob>, change: Partial<StoredProofJob>): StoreCommit {
    return this.#jobs.updateCommit(current, { ...current.value, ...change });
  }

  /** Prepares the deletion of a job's input. */
  inputDeletion(job: StoredProofJob): StoreCommit {
    return { deletes: partKeys(job) };
  }

  /** Prepares the deletion of a job with its result, and with its input if it has not ended. */
  deletion(current: StoreRecord<StoredProofJob>): StoreCommit {
    const { value } = current;
    const rest = {
      deletes: [[TABLES.result, ...keyOf(value)], ...(value.finished_at === null ? partKeys(value) : [])],
    };
    return mergeCommits(this.#jobs.deleteCommit(current), rest);
  }

  /** Returns the sealed parts of a job's input, in their order; undefined when they are gone. */
  input(job: StoredProofJob): string[] | undefined {
    const parts = partKeys(job).flatMap((key) => this.#store.get<string>(key)?.value ?? []);
    return parts.length === job.input_parts ? parts : undefined;
  }

  /** Finds the result of a job. */
  result(key: ProofJobKey): StoredResult | undefined {
    return this.#store.get<StoredResult>([TABLES.result, ...keyOf(key)])?.value;
  }

  /** Prepares the result of a job. */
  putResult(key: ProofJobKey, result: StoredResult): StoreCommit {
    return { puts: [{ key: [TABLES.result, ...keyOf(key)], value: result }] };
  }
}

function keyOf({ owner, id }: ProofJobKey): StoreKey {
  return [...ownerKey(owner), id];
}

function partKeys(job: StoredProofJob): StoreKey[] {
  return Array.from({ length: job.input_parts }, (_, index) => [TABLES.input, ...keyOf(job), index]);
}
