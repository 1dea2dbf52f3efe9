/** Composes proofs as jobs, and registers what runs them; call it before `jobs.start`. */
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import type { CallerEncryptionDependencies } from "../proofs/caller-encryption.js";
import { ProofJobEnds } from "./proof-job-ends.js";
import { ProofJobRecords } from "./proof-job-records.js";
import { JOB_WAIT_SEC_MAX } from "./proof-job-routes.js";
import { ownerOf, ProofJobRunner, type ProofJobRunnerDependencies } from "./proof-job-runner.js";
import { ProofJobSeal } from "./proof-job-seal.js";
import { ProofJobSweep } from "./proof-job-sweep.js";
import { PROOF_JOB_KIND, ProofJobs, type ProofJobsDependencies } from "./proof-jobs.js";

type Made = "records" | "seal" | "ends";
type CreateProofJobsDependencies = Omit<ProofJobRunnerDependencies, Made> &
  Omit<ProofJobsDependencies, Made | "turnOf"> &
  Omit<ConstructorParameters<typeof ProofJobEnds>[0], Made> &
  Omit<ConstructorParameters<typeof ProofJobSweep>[0], Made> &
  CallerEncryptionDependencies & { readonly turnOf?: (subject: Subject) => string };

export interface ProofJobLimits {
  /** Proofs of jobs that are made at a time: the threads that prove. */
  readonly concurrency: number;
  /** Jobs of one owner, or parts of 192 KiB of their inputs, that have not ended. 1,024 unless given: 192 MiB. */
  readonly partsPerOwnerMax?: number;
  /** The same of all owners. 8,192 unless given: 1.5 GiB. */
  readonly partsMax?: number;
}

const PARTS_PER_OWNER_MAX = 1024;
const PARTS_MAX = 8192;
/** How long an owner may prove more than its share of jobs while another's waits; what was computed is lost. */
const GIVE_WAY_MS = 10_000;

export interface ProofJobsPart {
  readonly jobs: ProofJobs;
  readonly sweep: ProofJobSweep;
}

/** Creates the services. */
export function createProofJobs(
  { concurrency, partsPerOwnerMax = PARTS_PER_OWNER_MAX, partsMax = PARTS_MAX }: ProofJobLimits,
  dependencies: CreateProofJobsDependencies,
): ProofJobsPart {
  const { jobs, turnOf = formatSubject } = dependencies;
  const records = new ProofJobRecords(dependencies);
  const seal = new ProofJobSeal(dependencies);
  const ends = new ProofJobEnds({ ...dependencies, records });
  const runner = new ProofJobRunner({ ...dependencies, records, seal, ends });
  jobs.register(PROOF_JOB_KIND, {
    concurrency,
    giveWayMs: GIVE_WAY_MS,
    isAnnounced: true,
    ownerOf: (job) => turnOf(ownerOf(job)),
    run: async (job, context) => {
      await runner.run(job, context);
    },
    onFailed: (job, fault) => runner.failure(job, fault),
  });
  jobs.subscribe(({ job }) => {
    if (job.kind === PROOF_JOB_KIND && job.state === "failed") ends.told(job.id);
  });
  const limits = { partsPerOwnerMax, partsMax, waitSecMax: JOB_WAIT_SEC_MAX };
  return {
    jobs: new ProofJobs(limits, { ...dependencies, records, seal, ends, turnOf }),
    sweep: new ProofJobSweep({ ...dependencies, records, ends }),
  };
}
