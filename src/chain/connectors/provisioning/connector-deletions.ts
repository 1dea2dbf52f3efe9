/** Deletes connectors: at once, or where containers run for one, by a durable job that removes them first. */
import type { Subject } from "../../../platform/auth/principal.js";
import { AppError } from "../../../platform/errors.js";
import type { Store, StoreRecord } from "../../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../../platform/store/tables.js";
import type { ConnectorCredentials } from "../connector-credentials.js";
import type { ConnectorJobs } from "./connector-jobs.js";
import type { ConnectorRepository, StoredConnector } from "../connector-repository.js";
import { providerOf } from "./container-specification.js";
import type { ContainerProvider } from "../providers/provider.js";
import type { StatusWriter } from "./status-writer.js";

interface ConnectorDeletionDependencies {
  readonly store: Store;
  readonly repository: ConnectorRepository;
  readonly credentials: ConnectorCredentials;
  readonly statuses: StatusWriter;
  readonly providers: ReadonlyMap<string, ContainerProvider>;
  readonly jobs: ConnectorJobs;
}

/** How long a deletion waits for the provider before it answers that the job continues. */
const DELETE_WAIT_MS = 30_000;
const PURGE_PAGE = { page: 1, rpp: 100 };

export class ConnectorDeletions {
  readonly #dependencies: ConnectorDeletionDependencies;

  constructor(dependencies: ConnectorDeletionDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Deletes a connector with its containers, when what provisions it has ended. Of several calls at once each waits for
   * that, and resolves alike. Resolves to false while the provider still removes the containers.
   * @throws AppError `connector_not_deleted` when the provider refused; the connector stays and may be deleted again
   */
  async delete(owner: Subject, id: string, signal: AbortSignal): Promise<boolean> {
    const { jobs, repository } = this.#dependencies;
    repository.require(owner, id);
    const jobId = await retryOnConflict(async () => await this.#begin(owner, id));
    if (jobId === undefined) return true;
    jobs.wake();
    await jobs.untilSettled(jobId, { waitMs: DELETE_WAIT_MS, signal });
    const remaining = repository.find(owner, id)?.value;
    if (remaining === undefined) return true;
    if (jobs.isOpen(jobId)) return false;
    const [reason] = remaining.errors;
    throw new AppError("connector_not_deleted", {
      message: `connector not deleted: ${reason?.message ?? "the provider did not remove its containers"}`,
    });
  }

  /**
   * Queues a job again for a connector that waits for one and has none: its provider refused to delete, or its
   * provisioning was cancelled by a deletion that did not follow.
   */
  async resume({ owner, id }: StoredConnector): Promise<void> {
    const { jobs, repository, statuses, store } = this.#dependencies;
    await retryOnConflict(async () => {
      const current = repository.find(owner, id);
      if (current === undefined || (current.value.job_id !== null && jobs.isOpen(current.value.job_id))) return;
      const { status } = current.value;
      if (status === "deprovisioning") await this.#queue(current);
      if (status !== "init" && status !== "provisioning") return;
      const job = jobs.prepare("provision_connector", owner, id);
      await store.commit(mergeCommits(statuses.change(current, { job_id: job.jobId }), job.commit));
    });
    jobs.wake();
  }

  /** Deletes all connectors of a subject that is deleted itself. May be repeated. */
  async purge(owner: Subject): Promise<void> {
    const { signal } = new AbortController();
    for (;;) {
      const { rows } = this.#dependencies.repository.list(owner, {}, PURGE_PAGE);
      if (rows.length === 0) return;
      for (const { id } of rows) {
        if (!(await this.delete(owner, id, signal)))
          throw new AppError("connector_not_deleted", {
            message: "a connector's containers are still being removed; try again",
          });
      }
    }
  }

  /** Deletes the record if it is there, or queues the job that removes the containers first and returns its id. */
  async #begin(owner: Subject, id: string): Promise<string | undefined> {
    const { credentials, jobs, providers, repository, statuses, store } = this.#dependencies;
    const current = repository.find(owner, id);
    if (current === undefined) return undefined;
    const { status, secret, runtime, job_id: jobId } = current.value;
    if (status === "deprovisioning") {
      if (jobId !== null && jobs.isOpen(jobId)) return jobId;
      return await this.#queue(current);
    }
    const isContained = providerOf(current.value, providers) !== undefined;
    if (!isContained && runtime !== null)
      throw new AppError("connector_not_deleted", {
        message: "connector not deleted: this server no longer has the provider that runs its containers",
      });
    // A sealed vault throws here, before the job is cancelled.
    const secretDeletion = isContained ? {} : credentials.deletion(owner, secret);
    // A provisioning job could start containers while the other job removes them.
    if (jobId !== null) await jobs.cancel(jobId);
    const settled = repository.find(owner, id);
    // Meanwhile another request has deleted it as well, or had it provisioned again.
    if (settled === undefined || settled.value.job_id !== jobId) return await this.#begin(owner, id);
    if (isContained) return await this.#queue(settled);
    await store.commit(mergeCommits(statuses.removal(settled), secretDeletion));
    return undefined;
  }

  async #queue(current: StoreRecord<StoredConnector>): Promise<string> {
    const { owner, id } = current.value;
    const { jobs, statuses, store } = this.#dependencies;
    const job = jobs.prepare("deprovision_connector", owner, id);
    await store.commit(
      mergeCommits(statuses.change(current, { status: "deprovisioning", errors: [], job_id: job.jobId }), job.commit),
    );
    return job.jobId;
  }
}
