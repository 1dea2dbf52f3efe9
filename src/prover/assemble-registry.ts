/**
 * Puts the prover registry together and hands its durable jobs to the runner. The only file of this area that builds
 * the others.
 */
import { join } from "node:path";
import type { Subject } from "../platform/auth/principal.js";
import type { Clock } from "../platform/clock.js";
import type { HandlersFor } from "../platform/contract/route.js";
import type { Events } from "../platform/events/events.js";
import type { Jobs } from "../platform/jobs/jobs.js";
import type { Job } from "../platform/jobs/job.js";
import type { Log } from "../platform/log.js";
import { PACKAGE_ROOT } from "../platform/files/package-root.js";
import type { ResidentBytes } from "./compute/resident-bytes.js";
import type { Artifacts } from "../platform/store/artifacts.js";
import type { Store } from "../platform/store/store.js";
import type { VaultService } from "../vault/service.js";
import { Catalog, parseProviderAliases } from "./catalog.js";
import { CircuitInterfaces } from "./proofs/circuit-interfaces.js";
import type { ProverCompute } from "./compute/compute.js";
import { proverHandlers } from "./handlers.js";
import { KeyPins } from "./provisioning/key-pins.js";
import { NoteStores } from "./proofs/note-stores.js";
import { Proofs } from "./proofs/proofs.js";
import { Provisioning, PROVISIONING_PHASES } from "./provisioning/provisioning.js";
import { ProverRepository } from "./repository.js";
import { PROVE_DEADLINE_MS, WAIT_SEC_MAX, type proverRoutes } from "./routes.js";
import { ProverService } from "./service.js";
import { BuiltInCircuits } from "./provisioning/sources.js";
import { StatusWatch } from "./provisioning/status-watch.js";
import { proverVault } from "./vault-port.js";

export interface ProverRegistryOptions {
  /** Other names of providers, as `alias:provider,alias:provider`. */
  readonly providerAliases: string;
  /**
   * Provers that are provisioned at a time: one that loops for its whole time limit must not stop the others. 2 unless
   * given.
   */
  readonly provisioningConcurrency?: number;
  /** Provers of one owner in provisioning, running and waiting (security 4.3: 2 and 20). 22 unless given. */
  readonly pendingPerOwnerMax?: number;
  /** Provers of all owners in provisioning. 500 unless given. */
  readonly pendingMax?: number;
}

export interface ProverRegistryDependencies {
  readonly store: Store;
  readonly artifacts: Artifacts;
  readonly vault: VaultService;
  /** Not started yet: the runner of this area's jobs is registered here. */
  readonly jobs: Jobs;
  /** Proving keys and witness programs in shared memory. */
  readonly resident: ResidentBytes;
  readonly compute: ProverCompute;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ProverRegistry {
  readonly service: ProverService;
  readonly handlers: HandlersFor<typeof proverRoutes>;
  /** Deletes files that no record names; at start, before anything is put. Returns how many. */
  readonly removeOrphans: () => Promise<number>;
}

export const PROVISION_JOB = "provision_prover";
const CONCURRENCY = 2;
const PENDING_PER_OWNER_MAX = 22;
const PENDING_MAX = 500;
/** Verification takes milliseconds; a caller that has waited this long for its lane is better told. */
const VERIFY_DEADLINE_MS = 15_000;
/** A file is written before the record that names it: younger ones may still be named (security 5.5). */
const ORPHAN_AGE_MS = 3_600_000;

/** Builds the registry and registers the runner of its jobs. */
export function assembleProverRegistry(
  options: ProverRegistryOptions,
  dependencies: ProverRegistryDependencies,
): ProverRegistry {
  const { store, artifacts, jobs, compute, resident, events, clock, log } = dependencies;
  const repository = new ProverRepository({ store });
  const watch = new StatusWatch();
  const vault = proverVault(dependencies.vault);
  const pins = new KeyPins({ vault });
  const notes = new NoteStores({ store, clock, appendNotes: async (message) => await compute.appendNotes(message) });
  const interfaces = new CircuitInterfaces({ read: async (sha256) => await artifacts.read(sha256) });
  const proofs = new Proofs(
    { proveDeadlineMs: PROVE_DEADLINE_MS, verifyDeadlineMs: VERIFY_DEADLINE_MS },
    { repository, notes, compute, resident, interfaces, pins, vault, events, clock },
  );
  const builtIns = new BuiltInCircuits({ folder: join(PACKAGE_ROOT, "circuits") });
  const provisioning = new Provisioning({ repository, artifacts, compute, builtIns, pins, vault, events, clock, log });
  registerJobs(jobs, provisioning, watch, options.provisioningConcurrency ?? CONCURRENCY);
  const service = new ProverService(
    {
      pendingPerOwnerMax: options.pendingPerOwnerMax ?? PENDING_PER_OWNER_MAX,
      pendingMax: options.pendingMax ?? PENDING_MAX,
      waitSecMax: WAIT_SEC_MAX,
      compilerName: compute.compilerName,
    },
    {
      store,
      repository,
      artifacts,
      vault,
      notes,
      proofs,
      watch,
      clock,
      builtIns,
      catalog: new Catalog({ providerAliases: parseProviderAliases(options.providerAliases) }),
      jobs: {
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
      },
    },
  );
  return {
    service,
    handlers: proverHandlers({ provers: service }),
    removeOrphans: async () => await removeOrphans(artifacts, repository),
  };
}

/** A job has the id of its prover, so that either finds the other. */
function registerJobs(jobs: Jobs, provisioning: Provisioning, watch: StatusWatch, concurrency: number): void {
  jobs.register(PROVISION_JOB, {
    concurrency,
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

/** The input is what this file queued. */
function ownerOf(job: Job): Subject {
  return job.input as unknown as Subject;
}

async function removeOrphans(artifacts: Artifacts, repository: ProverRepository): Promise<number> {
  const orphans = await artifacts.orphans(repository.referencedArtifacts(), ORPHAN_AGE_MS);
  for (const { sha256 } of orphans) await artifacts.remove(sha256);
  return orphans.length;
}
