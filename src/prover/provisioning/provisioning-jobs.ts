/** The durable jobs that provision provers: what queues them, what runs them, and who is told of them. */
import type { Subject } from "../../platform/auth/principal.js";
import type { Job } from "../../platform/jobs/job.js";
import type { JobContext, JobRunner } from "../../platform/jobs/job-runner.js";
import type { Jobs } from "../../platform/jobs/jobs.js";
import type { StrictEnd } from "../analysis/analyses.js";
import type { ProvisioningQueue } from "../service.js";
import { PROVISIONING_PHASES } from "./prover-steps.js";
import type { Provisioning, ProvisioningLease } from "./provisioning.js";
import type { ProvisioningPlace } from "./lifecycle.js";
import type { ProvisioningProgress } from "./provisioning-progress.js";
import type { NeededPowers } from "../reference-strings/node-folders.js";
import { StringElsewhere, type ReferenceStrings } from "./reference-strings.js";
import type { StatusWatch } from "./status-watch.js";

export interface ProvisioningJobsOptions {
  /**
   * Provers that are provisioned at a time: one that loops for its whole time limit must not stop the others. 2 unless
   * given.
   */
  readonly provisioningConcurrency?: number;
  /** How long one owner may provision more than its share while another's prover waits. 2 s unless given. */
  readonly provisioningGiveWayMs?: number;
}

export const PROVISION_JOB = "provision_prover";
/** Goes on with the jobs of large circuits, one at a time: each takes the memory and all cores for itself. */
export const PROVISION_LARGE_JOB = "provision_large_prover";
const CONCURRENCY = 2;
/** Small circuits take about as long; of a larger one that gives way, at most this much and one step are lost. */
const GIVE_WAY_MS = 2_000;

interface ProvisioningJobParts {
  readonly provisioning: Provisioning;
  readonly strings: Pick<ReferenceStrings, "isFor">;
  readonly progress: ProvisioningProgress;
  /** How far a prover has come; undefined where it is gone. */
  readonly placeOf: (owner: Subject, proverId: string) => ProvisioningPlace | undefined;
  readonly watch: StatusWatch;
  readonly turnOf: (subject: Subject) => string;
}

/**
 * Registers what runs them. A job has the id of its prover, so that either leads to the other. It begins in the first
 * line.
 */
export function registerProvisioning(
  jobs: Jobs,
  options: ProvisioningJobsOptions,
  { provisioning, strings, progress, placeOf, watch, turnOf }: ProvisioningJobParts,
): void {
  const leaseOf = (kind: string, job: Job, context: JobContext): ProvisioningLease => ({
    signal: context.signal,
    commit: async (phase, commit) => {
      await context.setPhase(phase, commit);
      progress.nextStep(job.id);
    },
    progress: (share) => {
      context.progress(share);
    },
    ...(kind === PROVISION_LARGE_JOB
      ? {}
      : {
          moveToLargeLine: async () => {
            await context.moveTo(PROVISION_LARGE_JOB);
          },
        }),
  });
  const runnerOf = (kind: string): JobRunner => ({
    ownerOf: (job) => turnOf(ownerOf(job)),
    isFor: ({ needs }) => needs === undefined || strings.isFor(needs as NeededPowers),
    run: async (job, context) => {
      const place = placeOf(ownerOf(job), job.id);
      if (place !== undefined) progress.begin(job.id, place);
      try {
        await provisioning.run(ownerOf(job), job.id, leaseOf(kind, job, context));
      } catch (error) {
        if (!(error instanceof StringElsewhere)) throw error;
        await context.leaveTo(error.needed);
      } finally {
        progress.end(job.id);
      }
    },
    onFailed: (job, fault) => provisioning.failure(ownerOf(job), job.id, fault),
  });
  jobs.register(PROVISION_JOB, {
    ...runnerOf(PROVISION_JOB),
    concurrency: options.provisioningConcurrency ?? CONCURRENCY,
    giveWayMs: options.provisioningGiveWayMs ?? GIVE_WAY_MS,
  });
  jobs.register(PROVISION_LARGE_JOB, runnerOf(PROVISION_LARGE_JOB));
  jobs.subscribe(({ job, progress: share }) => {
    if (job.kind !== PROVISION_JOB && job.kind !== PROVISION_LARGE_JOB) return;
    const place = job.state === "running" ? placeOf(ownerOf(job), job.id) : undefined;
    if (place === undefined) progress.end(job.id);
    else progress.follow(job.id, job.phase, place);
    if (share === undefined) {
      watch.notify(job.id);
      // The store may be closing; the next start removes what stays.
      provisioning.removeFailed(job.id).catch(() => undefined);
    } else progress.report(job.id, share);
  });
}

/** Returns how the analysis of a strict prover goes on. */
export function strictEnd(queue: ProvisioningQueue, provisioning: Provisioning): StrictEnd {
  return {
    provision: (owner, proverId) => queue.prepare(owner, proverId),
    fail: (owner, proverId, reason) => provisioning.failure(owner, proverId, reason),
  };
}

/** Returns the queue as the services see it. */
export function provisioningQueue(jobs: Jobs): ProvisioningQueue {
  return {
    prepare: (owner, proverId) =>
      jobs.enqueueCommit({
        id: proverId,
        kind: PROVISION_JOB,
        subject_key: ["prover", owner.kind, owner.id, proverId],
        phase: PROVISIONING_PHASES[0],
        input: { kind: owner.kind, id: owner.id },
      }).commit,
    wake: () => {
      jobs.wake();
    },
    cancel: async (proverId) => {
      await jobs.cancel(proverId);
    },
  };
}

/** The input is what `provisioningQueue` queued. */
function ownerOf(job: Job): Subject {
  return job.input as unknown as Subject;
}
