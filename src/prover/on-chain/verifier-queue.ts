/** New verifiers and the durable jobs that work on them; and those that a prover is created with. */
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Subject } from "../../platform/auth/principal.js";
import { newId } from "../../platform/ids.js";
import type { Job } from "../../platform/jobs/job.js";
import type { Jobs } from "../../platform/jobs/jobs.js";
import type { StoreCommit, StoreKey } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import type { StatusWatch } from "../provisioning/status-watch.js";
import type { StoredProver } from "../repository.js";
import { contractName } from "./verifier-source.js";
import type { VerifierDeployments } from "./verifier-deployments.js";
import type { StoredPlan, StoredVerifier, VerifierKey, VerifierRecords } from "./verifier-records.js";

interface VerifierQueueDependencies {
  readonly records: VerifierRecords;
  /** Not started yet. */
  readonly jobs: Jobs;
  readonly watch: StatusWatch;
  readonly clock: Clock;
}

/** The kind of jobs that deploy verifiers. */
export const DEPLOY_JOB = "deploy_verifier";
/** They wait for nodes and blocks nearly all of the time. */
const CONCURRENCY = 16;
/** How long an owner may have more than its share of them while another's waits; only waiting is lost. */
const GIVE_WAY_MS = 10_000;

export class VerifierQueue {
  readonly #with: VerifierQueueDependencies;

  constructor(dependencies: VerifierQueueDependencies) {
    this.#with = dependencies;
  }

  /** Sets what runs the jobs; before they are started. */
  register(deployments: VerifierDeployments, turnOf: (subject: Subject) => string): void {
    const { jobs, watch } = this.#with;
    jobs.register(DEPLOY_JOB, {
      concurrency: CONCURRENCY,
      ownerOf: (job) => turnOf(keyOf(job).owner),
      giveWayMs: GIVE_WAY_MS,
      run: async (job, context) => {
        await deployments.run(keyOf(job), {
          signal: context.signal,
          commit: async (phase, commit) => {
            await context.setPhase(phase, commit);
          },
        });
      },
      onFailed: (job, fault) => deployments.failure(keyOf(job), fault),
    });
    jobs.subscribe(({ job, progress }) => {
      if (job.kind !== DEPLOY_JOB || progress !== undefined) return;
      const { id, prover_id } = keyOf(job);
      watch.notify(id);
      watch.notify(prover_id);
    });
  }

  /** Returns a verifier as it is stored first. */
  newVerifier(prover: StoredProver, plan: StoredPlan): StoredVerifier {
    const now = isoTimestamp(this.#with.clock.nowMs());
    const registry = plan.registry_contract_id;
    return {
      ...{ id: newId(), created_at: now, updated_at: now, owner: prover.build.owner, prover_id: prover.id },
      ...{ network_id: plan.network_id, signer: plan.signer, confirmations: plan.confirmations },
      ...{ name: contractName(prover.name, prover.id), scheme: prover.proving_scheme, status: "queued" as const },
      ...{ key_hash: null, contract_id: null, transaction_id: null, address: null, code_hash: null },
      ...{ expected: null, signal_count: 0, known_answer: null, checked_at: null, errors: [] },
      gas: { deployment: null, verification: null },
      registry: registry === null ? null : { contract_id: registry, transaction_id: null, status: "waiting" },
    };
  }

  /** Prepares the job that works on a verifier. Call `wake` after the commit. */
  prepare({ owner, prover_id, id }: VerifierKey): StoreCommit {
    return this.#with.jobs.enqueueCommit({
      kind: DEPLOY_JOB,
      subject_key: subjectKey({ owner, prover_id, id }),
      phase: "begin",
      input: { owner: { ...owner }, prover_id, id },
    }).commit;
  }

  /** Prepares the verifiers that a prover was created with. */
  planned(prover: StoredProver): { readonly ids: string[]; readonly commit: StoreCommit } {
    const verifiers = (prover.build.plans ?? []).map((plan): StoredVerifier => ({
      ...this.newVerifier(prover, plan),
      is_planned: true,
    }));
    const commits = verifiers.map((verifier) =>
      mergeCommits(this.#with.records.insertion(verifier), this.prepare(verifier)),
    );
    return { ids: verifiers.map(({ id }) => id), commit: mergeCommits(...commits) };
  }

  /** Starts queued jobs now. */
  wake(): void {
    this.#with.jobs.wake();
  }

  /** Ends and deletes the jobs of a verifier. */
  async cancel(key: VerifierKey): Promise<void> {
    const { jobs, watch } = this.#with;
    for (const { id } of jobs.ofSubject(subjectKey(key))) await jobs.cancel(id);
    watch.notify(key.id);
  }
}

function subjectKey({ owner, prover_id, id }: VerifierKey): StoreKey {
  return [DEPLOY_JOB, owner.kind, owner.id, prover_id, id];
}

/** The input is what `prepare` queued. */
function keyOf(job: Job): VerifierKey {
  return job.input as unknown as VerifierKey;
}
