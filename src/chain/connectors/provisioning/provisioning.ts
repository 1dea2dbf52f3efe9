/**
 * Provisions a connector, from `init` to a status that a probe decides, and removes one with its containers. Each step
 * stores its result in the record with a compare-and-set, so that it can be killed anywhere and run again: providers
 * continue with what an earlier try left.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Subject } from "../../../platform/auth/principal.js";
import { AppError, assert, type ErrorCode } from "../../../platform/errors.js";
import { JobFailure } from "../../../platform/jobs/job-runner.js";
import type { JobFault } from "../../../platform/jobs/job.js";
import type { Log } from "../../../platform/log.js";
import { StoreConflict, type StoreCommit, type StoreRecord } from "../../../platform/store/store.js";
import { mergeCommits } from "../../../platform/store/tables.js";
import { containerSpec, needsContainer, providerOf } from "./container-specification.js";
import type { Probe } from "../connector-schemas.js";
import type { ConnectorCredentials } from "../connector-credentials.js";
import type { ContainerProvider, ContainerRuntime, ContainerSpec } from "../providers/provider.js";
import { reachableStatus, type Reachability } from "../peers/reachability.js";
import type { ConnectorRepository, StoredConnector } from "../connector-repository.js";
import type { StatusWriter } from "./status-writer.js";

export interface ProvisioningOptions {
  /** How long a new container may take until it answers. 60 s by default. */
  readonly readyMs?: number;
}

export interface ProvisioningDependencies {
  readonly repository: ConnectorRepository;
  readonly credentials: ConnectorCredentials;
  readonly reachability: Reachability;
  readonly statuses: StatusWriter;
  /** By `provider_id`. */
  readonly providers: ReadonlyMap<string, ContainerProvider>;
  readonly log: Log;
}

/** What a run of a job may use: a commit also writes the job's phase, and fails once the job is cancelled. */
export interface ConnectorLease {
  readonly signal: AbortSignal;
  readonly commit: (phase: string, commit: StoreCommit) => Promise<void>;
}

const READY_MS = 60_000;
const READY_FIRST_PAUSE_MS = 250;
const READY_PAUSE_MAX_MS = 2_000;
/** Above the number of steps, to find a step that does not change the record. */
const STEPS_MAX = 8;
/** Failures that a later try cannot change. */
const FINAL_CODES: readonly ErrorCode[] = [
  "connector_config_invalid",
  "connector_provider_failed",
  "connector_unsupported",
];

export class Provisioning {
  readonly #readyMs: number;
  readonly #dependencies: ProvisioningDependencies;

  constructor(options: ProvisioningOptions, dependencies: ProvisioningDependencies) {
    this.#readyMs = options.readyMs ?? READY_MS;
    this.#dependencies = dependencies;
  }

  /** Runs the steps that are left. Rejects with JobFailure for a final failure, else with the failure itself. */
  async provision(owner: Subject, id: string, lease: ConnectorLease): Promise<void> {
    for (let step = 0; step < STEPS_MAX; step += 1) {
      lease.signal.throwIfAborted();
      const record = this.#dependencies.repository.find(owner, id);
      if (record === undefined) return;
      const { status } = record.value;
      if (status !== "init" && status !== "provisioning") return;
      try {
        await this.#step(record, lease);
      } catch (error) {
        // The connector was changed meanwhile: the next step is decided from the new record.
        if (!(error instanceof StoreConflict)) throw finalOr(error);
      }
    }
    assert(false, "every step of provisioning changes the connector");
  }

  /**
   * Builds the commit for provisioning that failed for good. Containers made by then are removed with the connector or
   * by the next try.
   */
  provisioningFailure(owner: Subject, id: string, fault: JobFault): StoreCommit | undefined {
    const record = this.#dependencies.repository.find(owner, id);
    if (record === undefined || (record.value.status !== "init" && record.value.status !== "provisioning"))
      return undefined;
    this.#dependencies.log.warn("connector failed", { kind: record.value.type, code: fault.code });
    return this.#dependencies.statuses.change(record, { status: "failed", errors: [fault] });
  }

  /**
   * Removes the containers, then the connector with its credentials. Rejects with JobFailure when the provider does not
   * remove them.
   */
  async deprovision(owner: Subject, id: string, lease: ConnectorLease): Promise<void> {
    const found = this.#dependencies.repository.find(owner, id);
    if (found === undefined || found.value.status !== "deprovisioning") return;
    const provider = providerOf(found.value, this.#dependencies.providers);
    try {
      await provider?.remove(id, lease.signal);
    } catch (error) {
      lease.signal.throwIfAborted();
      if (error instanceof AppError) throw new JobFailure({ code: error.code, message: error.message });
      throw error;
    }
    if (found.value.secret !== null) await this.#dependencies.credentials.untilUnsealed(lease.signal);
    const record = this.#dependencies.repository.find(owner, id);
    if (record !== undefined)
      await lease.commit(
        "end",
        mergeCommits(
          this.#dependencies.statuses.removal(record),
          this.#dependencies.credentials.deletion(owner, record.value.secret),
        ),
      );
  }

  /** Builds the commit for a removal that failed: the connector stays, with the reason, and may be deleted again. */
  deprovisioningFailure(owner: Subject, id: string, fault: JobFault): StoreCommit | undefined {
    const record = this.#dependencies.repository.find(owner, id);
    return record?.value.status === "deprovisioning"
      ? this.#dependencies.statuses.change(record, { errors: [fault] })
      : undefined;
  }

  /** Returns where the containers are published now; undefined when they are gone. */
  async locate(connector: StoredConnector, signal: AbortSignal): Promise<ContainerRuntime | undefined> {
    return await providerOf(connector, this.#dependencies.providers)?.locate(await this.#spec(connector), signal);
  }

  async #step(record: StoreRecord<StoredConnector>, lease: ConnectorLease): Promise<void> {
    const connector = record.value;
    if (connector.status === "init") {
      await lease.commit(
        "provision",
        this.#dependencies.statuses.change(
          record,
          connector.is_virtual ? { status: "active" } : { status: "provisioning", errors: [] },
        ),
      );
      return;
    }
    if (connector.secret !== null) await this.#dependencies.credentials.untilUnsealed(lease.signal);
    if (needsContainer(connector) && connector.runtime === null) {
      await this.#startContainer(record, lease);
      return;
    }
    const probe =
      connector.runtime === null
        ? await this.#dependencies.reachability.ask(connector, lease.signal)
        : await this.#untilReady(connector, lease.signal);
    // The vault was sealed before the probe: the next step waits for it again.
    if (probe.reachable === null) return;
    const status = probe.reachable ? reachableStatus(connector) : "unavailable";
    await lease.commit(
      "end",
      this.#dependencies.statuses.change(record, { status, errors: probe.error === null ? [] : [probe.error] }),
    );
  }

  async #startContainer(record: StoreRecord<StoredConnector>, lease: ConnectorLease): Promise<void> {
    const connector = record.value;
    const provider = providerOf(connector, this.#dependencies.providers);
    if (provider === undefined)
      throw new AppError("connector_config_invalid", {
        message: `this server has no provider of containers called ${connector.config.provider_id ?? ""}; for docker set PROOFWRIGHT_DOCKER_HOST`,
      });
    const runtime = await provider.provision(await this.#spec(connector), lease.signal);
    await lease.commit("probe", this.#dependencies.statuses.change(record, { runtime }));
  }

  /** Probes a new container until it answers or the time is up, and returns the last probe. */
  async #untilReady(connector: StoredConnector, signal: AbortSignal): Promise<Probe> {
    const endMs = performance.now() + this.#readyMs;
    for (let pauseMs = READY_FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, READY_PAUSE_MAX_MS)) {
      const probe = await this.#dependencies.reachability.ask(connector, signal);
      if (probe.reachable !== false) return probe;
      if ((await this.locate(connector, signal)) === undefined)
        throw new AppError("connector_provider_failed", {
          message: "the container ended by itself; its logs may show the reason",
        });
      if (performance.now() + pauseMs > endMs) return probe;
      await pause(pauseMs, undefined, { signal });
    }
  }

  async #spec(connector: StoredConnector): Promise<ContainerSpec> {
    return containerSpec(connector, await this.#dependencies.credentials.open(connector));
  }
}

/** Returns a final failure as JobFailure, any other unchanged. */
function finalOr(error: unknown): unknown {
  return error instanceof AppError && FINAL_CODES.includes(error.code)
    ? new JobFailure({ code: error.code, message: error.message })
    : error;
}
