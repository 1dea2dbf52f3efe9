/** Builds the part of the registry that holds ceremonies, and hands its durable jobs to the runner. */
import type { Subject } from "../../platform/auth/principal.js";
import type { BodyLimitsOf, HandlersFor } from "../../platform/contract/route.js";
import { assert } from "../../platform/errors.js";
import { JobFailure } from "../../platform/jobs/job-runner.js";
import type { Job } from "../../platform/jobs/job.js";
import type { Jobs } from "../../platform/jobs/jobs.js";
import type { Nodes } from "../../platform/nodes/nodes.js";
import type { StoreCommit } from "../../platform/store/store.js";
import type { CeremonyCompute } from "../compute/ceremony-compute.js";
import type { Provisioning } from "../provisioning/provisioning.js";
import type { ProverRepository } from "../repository.js";
import { Ceremonies, type CeremoniesDependencies, type EndingQueue } from "./ceremonies.js";
import { CeremonyAccess } from "./ceremony-access.js";
import { CeremonyEndings } from "./ceremony-endings.js";
import { ceremonyHandlers, contributionLimits } from "./ceremony-handlers.js";
import { CEREMONY_TABLE, type CeremonyRecords } from "./ceremony-records.js";
import type { ceremonyRoutes } from "./ceremony-routes.js";
import { CeremonySweep } from "./ceremony-sweep.js";
import { Contributions, type ContributionsDependencies } from "./contributions.js";
import { NewCeremonies } from "./new-ceremonies.js";
import { Participants } from "./participants.js";

type Given = Pick<CeremoniesDependencies, "watch" | "clock" | "events"> &
  Pick<ContributionsDependencies, "artifacts" | "log" | "store" | "turnOf"> &
  Pick<ConstructorParameters<typeof CeremonyEndings>[0], "files" | "findPowers"> &
  Pick<ContributionsDependencies, "files" | "github">;

interface CreateCeremoniesDependencies extends Given {
  readonly records: CeremonyRecords;
  readonly repository: ProverRepository;
  readonly jobs: Jobs;
  /** The nodes that share the store; without it there is no other. */
  readonly nodes?: Nodes;
  readonly compute: CeremonyCompute;
  readonly provisioning: Pick<Provisioning, "run" | "failure">;
}

export interface CeremoniesPart {
  readonly handlers: HandlersFor<typeof ceremonyRoutes>;
  readonly bodyLimits: { readonly contributeToCeremony: BodyLimitsOf };
  readonly sweep: CeremonySweep;
  /** What the registration and the deletion of provers do with ceremonies. */
  readonly registration: NewCeremonies;
  /** Prepares the end of a ceremony whose prover becomes provisioned. */
  readonly ended: CeremonyEndings["ended"];
}

export const END_JOB = "end_ceremony";
const END_PHASES = ["beacon", "provision"] as const;
/**
 * Ends that run at once: beacons of several owners, which may take minutes each, hold up no other owner's. The budget
 * of memory is shared by turns of the owners, the processor by the system, so that more places take no more of either.
 */
const CONCURRENCY = 8;
const GIVE_WAY_MS = 10_000;

/** Builds the part; call it before `jobs.start`. */
export function createCeremonies(
  options: { readonly uploadBytesMax: number },
  dependencies: CreateCeremoniesDependencies,
): CeremoniesPart {
  const { jobs, nodes, provisioning, records, watch } = dependencies;
  const access = new CeremonyAccess(dependencies);
  const endings = new CeremonyEndings(dependencies);
  const contributions = new Contributions(options, { ...dependencies, access });
  nodes?.onChange(CEREMONY_TABLE, (keys) => {
    contributions.follow(keys);
  });
  const ceremonies = new Ceremonies({
    ...dependencies,
    access,
    contributions,
    queue: endingQueue(jobs),
    failure: (owner, id, reason) => provisioning.failure(owner, id, reason),
  });
  const participants = new Participants({ ...dependencies, access, contributions });
  registerEndings(jobs, { ...dependencies, endings });
  jobs.subscribe(({ job, progress }) => {
    if (job.kind === END_JOB && progress === undefined) watch.notify(inputOf(job).id);
  });
  const services = { ceremonies, participants, contributions };
  return {
    handlers: ceremonyHandlers(services),
    bodyLimits: { contributeToCeremony: contributionLimits(services) },
    sweep: new CeremonySweep({ ...dependencies, records, ...services }),
    registration: new NewCeremonies({
      ...dependencies,
      contributions,
      cancelEnding: async (owner, id) => {
        for (const job of jobs.ofSubject(subjectKeyOf(owner, id))) await jobs.cancel(job.id);
      },
    }),
    ended: (prover) => endings.ended(prover),
  };
}

function registerEndings(
  jobs: Jobs,
  {
    endings,
    provisioning,
    watch,
    turnOf,
  }: Pick<CreateCeremoniesDependencies, "provisioning" | "turnOf"> & {
    readonly endings: CeremonyEndings;
    readonly watch: CeremoniesDependencies["watch"];
  },
): void {
  jobs.register(END_JOB, {
    ...{ concurrency: CONCURRENCY, giveWayMs: GIVE_WAY_MS },
    ownerOf: (job) => turnOf(inputOf(job).owner),
    run: async (job, context) => {
      const { owner, id } = inputOf(job);
      const progress = (share: number): void => {
        context.progress(share);
      };
      const errors = await endings.run(owner, id, {
        ...{ signal: context.signal, owner: turnOf(owner), onProgress: progress },
        commit: async (commit) => {
          await context.setPhase(END_PHASES[1], commit);
        },
      });
      const [error] = errors ?? [];
      if (error !== undefined) throw new JobFailure({ code: error.code, message: error.message });
      watch.notify(id);
      await provisioning.run(owner, id, {
        signal: context.signal,
        progress,
        commit: async (phase, commit) => {
          await context.setPhase(phase, commit);
        },
      });
    },
    onFailed: (job, fault) => {
      const { owner, id } = inputOf(job);
      return provisioning.failure(owner, id, fault);
    },
  });
}

function endingQueue(jobs: Jobs): EndingQueue {
  return {
    prepare: (owner: Subject, proverId: string): StoreCommit =>
      jobs.enqueueCommit({
        kind: END_JOB,
        subject_key: subjectKeyOf(owner, proverId),
        phase: END_PHASES[0],
        input: { kind: owner.kind, owner_id: owner.id, id: proverId },
      }).commit,
    wake: () => {
      jobs.wake();
    },
  };
}

function subjectKeyOf(owner: Subject, proverId: string): Job["subject_key"] {
  return ["ceremony", owner.kind, owner.id, proverId];
}

/** The input is what `endingQueue` queued. */
function inputOf({ kind, input }: Job): { readonly owner: Subject; readonly id: string } {
  assert(kind === END_JOB, "only endings have this input");
  const said = input as unknown as { readonly kind: Subject["kind"]; readonly owner_id: string; readonly id: string };
  return { owner: { kind: said.kind, id: said.owner_id }, id: said.id };
}
