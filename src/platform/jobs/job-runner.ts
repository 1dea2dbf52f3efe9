/** What runs the jobs of one kind, and what it is given. Services implement runners and register them with `Jobs`. */
import type { StoreCommit, StoreValue } from "../store/store.js";
import type { Job, JobFault } from "./job.js";

/** What a runner gets beside its job. */
export interface JobContext {
  /** Aborts when the server stops, the job is cancelled, or the lease is lost. The runner must then return or throw. */
  readonly signal: AbortSignal;
  /** The job as last committed. */
  readonly job: Job;
  /**
   * Commits the phase, together with the results of the phase before it. After a crash, steps before the phase are not
   * repeated, and steps after it are.
   * @throws StoreConflict when a check of `commit` does not hold: read again and decide anew
   */
  setPhase(phase: string, commit?: StoreCommit): Promise<void>;
  /**
   * Hands the job over to the runner of another kind, which goes on in the same phase when its turn there has come. The
   * run must end then; it counts as no attempt.
   * @throws StoreConflict as `setPhase`
   */
  moveTo(kind: string): Promise<void>;
  /**
   * Queues the job again for a node that has what it needs, as `isFor` tells by the job's `needs` until the phase is
   * over. The run must end then; it counts as no attempt.
   * @throws StoreConflict as `setPhase`
   */
  leaveTo(needs: StoreValue): Promise<void>;
  /**
   * Returns what ends the job, for a commit of the runner's own: the job's record is deleted in the commit that makes
   * its result true. The commit conflicts when the lease is lost. Called for each try; the run must end after the
   * commit.
   * @throws the signal's reason when the run was aborted, or the lease is lost
   */
  ending(): StoreCommit;
  /** Reports to listeners the completed share of the phase, from 0 to 1. Not stored. */
  progress(fraction: number): void;
}

export interface JobRunner {
  /**
   * Does the work from `context.job.phase` on; each step must be safe to repeat. Returning means done. A thrown
   * JobFailure fails the job at once; after any other error it is tried again later.
   */
  readonly run: (job: Job, context: JobContext) => Promise<void>;
  /** Returns what to commit with the failure, such as the subject's status. Called again after a conflict. */
  readonly onFailed?: (job: Job, fault: JobFault) => StoreCommit | undefined;
  /** Whether changes of these jobs' states may take the room of a full disk: the jobs make room. */
  readonly isUrgent?: boolean;
  /** Jobs of this kind that run at a time. Default 1. */
  readonly concurrency?: number;
  /**
   * Whether this node can run a job of the kind; without it any can. One that no node can run waits. Asked before each
   * job is begun, and after a change of what a node takes.
   */
  readonly isFor?: (job: Job) => boolean;
  /** Whose turn a job takes, such as `user:<uuid>`. Without it all jobs of the kind are one owner's. */
  readonly ownerOf?: (job: Job) => string;
  /**
   * How long an owner may run more jobs than its share while another's waits. Then the one that was started last is
   * aborted and queued again; an owner's only running job never is. Without it no job gives way.
   */
  readonly giveWayMs?: number;
  /**
   * Whether each new job is told by `Jobs.announce`, so that a queue of thousands is read at the start only, and not
   * whenever a job ends.
   */
  readonly isAnnounced?: boolean;
}

/** Thrown by a runner when the job can never succeed. The text is sent to the client. */
export class JobFailure extends Error {
  override readonly name = "JobFailure";
  readonly code: string;

  constructor(fault: JobFault) {
    super(fault.message);
    this.code = fault.code;
  }
}
