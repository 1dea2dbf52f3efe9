/** The durable jobs of connectors: how they are queued and waited for, and which code runs them. */
import type { Subject } from "../../../platform/auth/principal.js";
import type { Job } from "../../../platform/jobs/job.js";
import type { JobContext } from "../../../platform/jobs/job-runner.js";
import type { Jobs } from "../../../platform/jobs/jobs.js";
import type { StoreCommit } from "../../../platform/store/store.js";
import type { ConnectorRepository } from "../connector-repository.js";
import type { ConnectorLease, Provisioning } from "./provisioning.js";

/** The kinds of jobs about connectors. */
type ConnectorJobKind = "provision_connector" | "deprovision_connector";

/** Provisioning waits for peers and providers and takes no processor time. */
const JOBS_AT_ONCE = 8;
/** How long one owner's connectors may take more than their share while another owner's wait. */
const GIVE_WAY_MS = 10_000;
const OPEN_STATES: readonly string[] = ["queued", "running"];

export class ConnectorJobs {
  readonly #jobs: Jobs;

  constructor(dependencies: { readonly jobs: Jobs }) {
    this.#jobs = dependencies.jobs;
  }

  /** Builds the commit that queues a job about a connector. Call `wake` after the commit. */
  prepare(
    kind: ConnectorJobKind,
    owner: Subject,
    connectorId: string,
  ): { readonly jobId: string; readonly commit: StoreCommit } {
    const { job, commit } = this.#jobs.enqueueCommit({
      kind,
      subject_key: ["connector", owner.kind, owner.id, connectorId],
      phase: "begin",
      input: { owner: { kind: owner.kind, id: owner.id }, id: connectorId },
    });
    return { jobId: job.id, commit };
  }

  /** Lets the jobs begin with what was committed. */
  wake(): void {
    this.#jobs.wake();
  }

  /** Returns true while a job waits or runs. */
  isOpen(jobId: string): boolean {
    return OPEN_STATES.includes(this.#jobs.get(jobId)?.state ?? "gone");
  }

  /** Cancels a job unless it has ended. */
  async cancel(jobId: string): Promise<void> {
    if (this.isOpen(jobId)) await this.#jobs.cancel(jobId);
  }

  /** Resolves when a job has ended or is gone, when the time is up, or when the signal fires. */
  async untilSettled(
    jobId: string,
    { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
  ): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        unsubscribe();
        resolve();
      };
      const unsubscribe = this.#jobs.subscribe(({ job }) => {
        if (job.id === jobId && !OPEN_STATES.includes(job.state)) end();
      });
      const timer = setTimeout(end, waitMs);
      signal.addEventListener("abort", end, { once: true });
      if (!this.isOpen(jobId) || signal.aborted) end();
    });
  }
}

interface ConnectorRunnersDependencies {
  readonly repository: ConnectorRepository;
  readonly provisioning: Provisioning;
  /** See ChainDependencies. */
  readonly hasVault: () => boolean;
  readonly turnOf: (subject: Subject) => string;
}

/** Registers the runners of both kinds of job. Must be called before the jobs start. */
export function registerConnectorJobs(
  jobs: Jobs,
  { repository, provisioning, hasVault, turnOf }: ConnectorRunnersDependencies,
): void {
  const turns = {
    concurrency: JOBS_AT_ONCE,
    // A connector without a secret waits for no vault.
    isFor: (job: Job): boolean => {
      const { owner, id } = connectorOfJob(job);
      return hasVault() || (repository.find(owner, id)?.value.secret ?? null) === null;
    },
    ownerOf: (job: Job): string => turnOf(connectorOfJob(job).owner),
    giveWayMs: GIVE_WAY_MS,
  };
  jobs.register("provision_connector" satisfies ConnectorJobKind, {
    ...turns,
    run: async (job, context) => {
      const { owner, id } = connectorOfJob(job);
      await provisioning.provision(owner, id, leaseOf(context));
    },
    onFailed: (job, fault) => {
      const { owner, id } = connectorOfJob(job);
      return provisioning.provisioningFailure(owner, id, fault);
    },
  });
  jobs.register("deprovision_connector" satisfies ConnectorJobKind, {
    ...turns,
    run: async (job, context) => {
      const { owner, id } = connectorOfJob(job);
      await provisioning.deprovision(owner, id, leaseOf(context));
    },
    onFailed: (job, fault) => {
      const { owner, id } = connectorOfJob(job);
      return provisioning.deprovisioningFailure(owner, id, fault);
    },
  });
}

function leaseOf(context: JobContext): ConnectorLease {
  return {
    signal: context.signal,
    commit: async (phase, commit) => {
      await context.setPhase(phase, commit);
    },
  };
}

/** Returns the connector that a job is about: the input is what `prepare` queued. */
function connectorOfJob(job: Job): { readonly owner: Subject; readonly id: string } {
  return job.input as unknown as { readonly owner: Subject; readonly id: string };
}
