/**
 * Builds the prover registry, each part after those that it uses, and hands its durable jobs to the runner. The only
 * file of this area that builds the others.
 */
import { join } from "node:path";
import { formatSubject, type Subject } from "../platform/auth/principal.js";
import { requireSaidOwner, type RequireTenant } from "../platform/auth/said-owner.js";
import { SOURCE_FILES_DEFAULT, SOURCE_MEGABYTES_DEFAULT } from "../engine/circuit/source-limits.js";
import type { Clock } from "../platform/clock.js";
import type { HandlersFor } from "../platform/contract/route.js";
import type { Events } from "../platform/events/events.js";
import type { Jobs } from "../platform/jobs/jobs.js";
import type { Job } from "../platform/jobs/job.js";
import type { Log } from "../platform/log.js";
import { PACKAGE_ROOT } from "../platform/files/package-root.js";
import type { ResidentBytes } from "./compute/resident-bytes.js";
import type { Artifacts } from "../platform/store/artifacts.js";
import type { VaultService } from "../vault/service.js";
import type { StrictEnd } from "./analysis/analyses.js";
import { analysisQueue, registerAnalyses } from "./analysis/analysis-jobs.js";
import type { CircuitAnalyzer } from "./compute/analysis-task.js";
import type { Store } from "../platform/store/store.js";
import { Catalog, parseProviderAliases } from "./catalog.js";
import { CircuitInterfaces } from "./proofs/circuit-interfaces.js";
import type { ProverCompute } from "./compute/compute.js";
import { proverBodyLimits, proverHandlers } from "./handlers.js";
import { KeyPins } from "./provisioning/key-pins.js";
import { NoteStores } from "./proofs/note-stores.js";
import { Proofs } from "./proofs/proofs.js";
import { Provisioning, PROVISIONING_PHASES } from "./provisioning/provisioning.js";
import { ReferenceStrings } from "./provisioning/reference-strings.js";
import { ProverRepository } from "./repository.js";
import { PROVE_DEADLINE_MS, WAIT_SEC_MAX, type proverRoutes } from "./routes.js";
import { ProverService, type ProvisioningQueue } from "./service.js";
import { BuiltInCircuits, type SourceLimits } from "./provisioning/sources.js";
import { StatusWatch } from "./provisioning/status-watch.js";
import { proverVault } from "./vault-port.js";

interface ProverRegistryOptions {
  /** Other names of providers, as `alias:provider,alias:provider`. */
  readonly providerAliases: string;
  /**
   * Provers that are provisioned at a time: one that loops for its whole time limit must not stop the others. 2 unless
   * given.
   */
  readonly provisioningConcurrency?: number;
  /** How long one owner may provision more than its share while another's prover waits. 2 s unless given. */
  readonly provisioningGiveWayMs?: number;
  /** Provers of one owner in provisioning, 2 that run and 20 that wait. 22 unless given. */
  readonly pendingPerOwnerMax?: number;
  /** Provers of all owners in provisioning. 500 unless given. */
  readonly pendingMax?: number;
  /** Of the source of one circuit; 8 MiB and 2,000 files unless given. */
  readonly source?: SourceLimits;
}

interface ProverRegistryDependencies {
  readonly store: Store;
  readonly artifacts: Artifacts;
  readonly vault: VaultService;
  /** Not started yet: the runner of this area's jobs is registered here. */
  readonly jobs: Jobs;
  /** Proving keys and witness programs in shared memory. */
  readonly resident: ResidentBytes;
  readonly compute: ProverCompute;
  /** Absent when the server analyses no circuits. */
  readonly analyzer?: CircuitAnalyzer;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
  readonly log: Log;
  /** Throws unless the caller holds the permissions on an application or organization that a body names. */
  readonly requireTenant: RequireTenant;
}

export interface ProverRegistry {
  readonly service: ProverService;
  readonly handlers: HandlersFor<typeof proverRoutes>;
  readonly bodyLimits: ReturnType<typeof proverBodyLimits>;
  /** Deletes files that no record names; at start, before any is written. Returns how many. */
  readonly removeOrphans: () => Promise<number>;
}

const SOURCE_LIMITS: SourceLimits = {
  bytesMax: SOURCE_MEGABYTES_DEFAULT * 2 ** 20,
  filesMax: SOURCE_FILES_DEFAULT,
};
const PROVISION_JOB = "provision_prover";
const CONCURRENCY = 2;
/** Small circuits take about as long; of a larger one that gives way, at most this much and one step are lost. */
const GIVE_WAY_MS = 2_000;
const PENDING_PER_OWNER_MAX = 22;
const PENDING_MAX = 500;
/** Verification takes milliseconds; a caller that has waited this long for a thread gets an answer instead. */
const VERIFY_DEADLINE_MS = 15_000;
/** A file is written before the record that names it, so that a young file may still get its record. */
const ORPHAN_AGE_MS = 3_600_000;

/** Builds the registry and registers the runner of its jobs; call it before `jobs.start`. */
export function createProverRegistry(
  options: ProverRegistryOptions,
  dependencies: ProverRegistryDependencies,
): ProverRegistry {
  const { store, artifacts, jobs, compute, resident, events, clock, log } = dependencies;
  const vault = proverVault(dependencies.vault);
  const repository = new ProverRepository({ store });
  const catalog = new Catalog({ providerAliases: parseProviderAliases(options.providerAliases) });
  const builtIns = new BuiltInCircuits({ folder: join(PACKAGE_ROOT, "circuits") });
  const interfaces = new CircuitInterfaces({ read: async (sha256) => await artifacts.read(sha256) });
  const notes = new NoteStores({
    store,
    clock,
    appendNotes: async (message, owner) => await compute.appendNotes(message, { owner }),
  });
  const pins = new KeyPins({ vault });
  const strings = new ReferenceStrings({ store, repository, artifacts, compute, clock, log });
  const watch = new StatusWatch();
  const proofs = new Proofs(
    { proveDeadlineMs: PROVE_DEADLINE_MS, verifyDeadlineMs: VERIFY_DEADLINE_MS },
    { repository, notes, compute, resident, interfaces, pins, vault, events, clock },
  );
  const queue = provisioningQueue(jobs);
  const analyses = dependencies.analyzer === undefined ? undefined : analysisQueue(jobs, repository);
  const provisioning = new Provisioning({
    ...{ repository, artifacts, compute, builtIns, pins, strings, vault, events, clock, log },
    followUp: ({ id, build }) => (build.is_strict === true ? {} : (analyses?.prepare(build.owner, id) ?? {})),
  });
  registerJobs(jobs, options, { provisioning, watch });
  if (dependencies.analyzer !== undefined)
    registerAnalyses(jobs, {
      ...{ repository, artifacts, analyzer: dependencies.analyzer, builtIns, events, clock, watch },
      strict: strictEnd(queue, provisioning),
    });
  const source = options.source ?? SOURCE_LIMITS;
  const service = new ProverService(
    {
      source,
      pendingPerOwnerMax: options.pendingPerOwnerMax ?? PENDING_PER_OWNER_MAX,
      pendingMax: options.pendingMax ?? PENDING_MAX,
      waitSecMax: WAIT_SEC_MAX,
      compilerName: compute.compilerName,
    },
    {
      ...{ store, repository, artifacts, vault, catalog, builtIns, notes, proofs, watch, clock, queue, analyses },
      requireTenant: dependencies.requireTenant,
    },
  );
  return {
    service,
    handlers: proverHandlers({
      provers: service,
      requireOwner: (principal, said) => {
        requireSaidOwner(principal, said, dependencies.requireTenant);
      },
    }),
    bodyLimits: proverBodyLimits({ source }, { provers: service }),
    removeOrphans: async () => await removeOrphans(artifacts, repository),
  };
}

/** A job has the id of its prover, so that either leads to the other. */
function registerJobs(
  jobs: Jobs,
  options: ProverRegistryOptions,
  { provisioning, watch }: { readonly provisioning: Provisioning; readonly watch: StatusWatch },
): void {
  jobs.register(PROVISION_JOB, {
    concurrency: options.provisioningConcurrency ?? CONCURRENCY,
    ownerOf: (job) => formatSubject(ownerOf(job)),
    giveWayMs: options.provisioningGiveWayMs ?? GIVE_WAY_MS,
    run: async (job, context) => {
      await provisioning.run(ownerOf(job), job.id, {
        signal: context.signal,
        commit: async (phase, commit) => {
          await context.setPhase(phase, commit);
        },
        progress: (share) => {
          context.progress(share);
        },
      });
    },
    onFailed: (job, fault) => provisioning.failure(ownerOf(job), job.id, fault),
  });
  jobs.subscribe(({ job, progress }) => {
    if (job.kind !== PROVISION_JOB) return;
    if (progress === undefined) watch.notify(job.id);
    else watch.setShare(job.id, progress);
  });
}

function strictEnd(queue: ProvisioningQueue, provisioning: Provisioning): StrictEnd {
  return {
    provision: (owner, proverId) => queue.prepare(owner, proverId),
    fail: (owner, proverId, reason) => provisioning.failure(owner, proverId, reason),
  };
}

function provisioningQueue(jobs: Jobs): ProvisioningQueue {
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

async function removeOrphans(artifacts: Artifacts, repository: ProverRepository): Promise<number> {
  const orphans = await artifacts.orphans(repository.referencedArtifacts(), ORPHAN_AGE_MS);
  for (const { sha256 } of orphans) await artifacts.remove(sha256);
  return orphans.length;
}
