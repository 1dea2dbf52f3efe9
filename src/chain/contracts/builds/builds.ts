/**
 * Contracts from source: a durable job compiles in a process of its own, and then deploys where a signer was named.
 * Each contract's plan is stored beside its record until the job has settled it, so that a kill at any point costs one
 * compile and nothing else.
 */
import type { Subject } from "../../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";
import type { Job } from "../../../platform/jobs/job.js";
import type { JobContext } from "../../../platform/jobs/job-runner.js";
import type { Jobs } from "../../../platform/jobs/jobs.js";
import type { Log } from "../../../platform/log.js";
import type { ProcessTaskLimits, ProcessTasks } from "../../../platform/pool/process-task.js";
import { compileSolidityInProcess } from "./solidity-task.js";
import type { Store, StoreCommit, StoreRecord, StoreValue } from "../../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../../platform/store/tables.js";
import { signerOf } from "../../accounts/signers.js";
import { typeByAbi } from "./detection.js";
import { artifactOfCompiled, type Artifact } from "./artifact.js";
import type { ContractFinding } from "../contract-schemas.js";
import type { Deployments } from "../deployments.js";
import { NO_ADDRESS, type ContractRepository } from "../contract-repository.js";
import type { BuildPlan, StoredContract } from "../contract-records.js";

export interface BuildOptions {
  /** Limits of one compile. */
  readonly limits?: ProcessTaskLimits;
}

interface BuildDependencies {
  readonly store: Store;
  readonly repository: ContractRepository;
  readonly deployments: Deployments;
  readonly jobs: Jobs;
  readonly tasks: ProcessTasks;
  readonly turnOf: (subject: Subject) => string;
  readonly clock: Clock;
  readonly log: Log;
}

const KIND = "contract_build";
/** Compiles at a time. Each takes a core for seconds, at low priority. */
const CONCURRENCY = 2;
/** How long one owner may compile more than its share while another waits; most sources take less. */
const GIVE_WAY_MS = 2_000;

type Compiled = ReturnType<typeof artifactOfCompiled>;

export class ContractBuilds {
  readonly #options: BuildOptions;
  readonly #dependencies: BuildDependencies;

  constructor(options: BuildOptions, dependencies: BuildDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    dependencies.jobs.register(KIND, {
      concurrency: CONCURRENCY,
      ownerOf: (job) => dependencies.turnOf(contractOf(job).owner),
      giveWayMs: GIVE_WAY_MS,
      run: async (job, context) => {
        await this.#run(job, context);
      },
      onFailed: (job, fault) => this.#givenUp(job, { message: fault.message, code: fault.code }),
    });
  }

  /** Builds the commit that plans a build, to be merged with the contract's own. Call `wake` after the commit. */
  prepare(contract: StoredContract, plan: BuildPlan): StoreCommit {
    const { jobs, repository } = this.#dependencies;
    const { owner, id } = contract;
    const job = jobs.enqueueCommit({
      kind: KIND,
      subject_key: [KIND, owner.kind, owner.id, id],
      phase: "compile",
      input: { owner: { ...owner }, id },
    });
    return mergeCommits(job.commit, repository.putBuild(contract, plan as unknown as StoreValue));
  }

  /** Lets the jobs begin with what was committed. */
  wake(): void {
    this.#dependencies.jobs.wake();
  }

  async #run(job: Job, { signal }: JobContext): Promise<void> {
    const { owner, id } = contractOf(job);
    const plan = this.#dependencies.repository.build(owner, id);
    // Without a plan, the contract was deleted, or settled by a run whose end was not recorded.
    if (plan === undefined) return;
    const outcome = await compileSolidityInProcess(this.#dependencies.tasks, plan.source, {
      signal,
      ...(this.#options.limits === undefined ? {} : { limits: this.#options.limits }),
    });
    if (!outcome.settled) {
      signal.throwIfAborted();
      this.#dependencies.log.error("process ended without an answer", { step: "solidity", code: outcome.failure.code });
      throw new AppError("internal_error", { message: "the compiler ended without an answer", cause: outcome.failure });
    }
    const { result } = outcome;
    if (!result.ok) {
      await this.#settle(owner, id, (current) =>
        this.#failed(
          current,
          result.diagnostics.map(({ severity: _severity, ...finding }) => finding),
        ),
      );
      return;
    }
    let compiled: Compiled;
    try {
      compiled = artifactOfCompiled(result, plan.source, plan.libraries);
    } catch (error) {
      const findings = findingsOf(error);
      await this.#settle(owner, id, (current) => this.#failed(current, findings));
      return;
    }
    await this.#conclude({ owner, id, plan, compiled, signal });
  }

  /** Deploys where a signer was named. The artifact is stored in any case, so that it can be deployed later. */
  async #conclude({
    owner,
    id,
    plan,
    compiled,
    signal,
  }: {
    owner: Subject;
    id: string;
    plan: BuildPlan;
    compiled: Compiled;
    signal: AbortSignal;
  }): Promise<void> {
    const current = this.#dependencies.repository.find(owner, id);
    if (current === undefined) return;
    if (current.value.address !== NO_ADDRESS || signerOf(plan.signing) === undefined) {
      await this.#settle(owner, id, (latest) =>
        this.#compiled(latest, compiled, latest.value.address === NO_ADDRESS ? "compiled" : "registered"),
      );
      return;
    }
    try {
      await retryOnConflict(async () => {
        await this.#deploy(owner, id, plan, compiled);
      });
    } catch (error) {
      signal.throwIfAborted();
      const findings = findingsOf(error);
      await this.#settle(owner, id, (latest) => this.#compiled(latest, compiled, "failed", findings));
    }
  }

  async #deploy(owner: Subject, id: string, { argv, signing }: BuildPlan, compiled: Compiled): Promise<void> {
    const { repository, deployments } = this.#dependencies;
    const current = repository.find(owner, id);
    if (current === undefined) return;
    const { abi, bytecode } = compiled;
    await deployments.submit({
      owner,
      networkId: current.value.network_id,
      contractId: id,
      abi,
      bytecode,
      argv,
      argvPath: "params.argv",
      signing,
      alongside: (submitted) =>
        mergeCommits(
          repository.update(current, {
            ...deployments.underWay(current.value, submitted),
            type: current.value.type ?? typeByAbi(abi) ?? null,
          }),
          this.#keep(current.value, compiled),
          repository.dropBuild(current.value),
        ),
    });
  }

  #compiled(
    current: StoreRecord<StoredContract>,
    compiled: Compiled,
    status: StoredContract["status"],
    errors: readonly ContractFinding[] = [],
  ): StoreCommit {
    const { repository } = this.#dependencies;
    const type = current.value.type ?? typeByAbi(compiled.abi) ?? null;
    return mergeCommits(
      repository.update(current, { ...current.value, type, status, errors, updated_at: this.#now() }),
      this.#keep(current.value, compiled),
      repository.dropBuild(current.value),
    );
  }

  #keep(
    contract: StoredContract,
    { abi, params, name }: Artifact & { readonly abi: NonNullable<Artifact["abi"]> },
  ): StoreCommit {
    return mergeCommits(
      this.#dependencies.repository.putAbi(contract, abi),
      this.#dependencies.repository.putParams(contract, { name: name ?? contract.name, ...params }),
    );
  }

  #failed(current: StoreRecord<StoredContract>, errors: readonly ContractFinding[]): StoreCommit {
    const { repository } = this.#dependencies;
    return mergeCommits(
      repository.update(current, { ...current.value, status: "failed", errors, updated_at: this.#now() }),
      repository.dropBuild(current.value),
    );
  }

  #givenUp(job: Job, finding: ContractFinding): StoreCommit | undefined {
    const { owner, id } = contractOf(job);
    const current = this.#dependencies.repository.find(owner, id);
    return current?.value.status === "compiling" ? this.#failed(current, [finding]) : undefined;
  }

  /** Commits a change that is computed from the current record; does nothing when the contract was deleted. */
  async #settle(
    owner: Subject,
    id: string,
    commitOf: (current: StoreRecord<StoredContract>) => StoreCommit,
  ): Promise<void> {
    await retryOnConflict(async () => {
      const current = this.#dependencies.repository.find(owner, id);
      if (current !== undefined) await this.#dependencies.store.commit(commitOf(current));
    });
  }

  #now(): string {
    return isoTimestamp(this.#dependencies.clock.nowMs());
  }
}

/** Returns the contract that a job builds: the input is what `prepare` queued. */
function contractOf(job: Job): { readonly owner: Subject; readonly id: string } {
  return job.input as unknown as { readonly owner: Subject; readonly id: string };
}

/** Returns an expected failure as findings of the contract; throws any other, which fails the job. */
function findingsOf(error: unknown): ContractFinding[] {
  if (error instanceof AppError) return error.details.map(({ message, code }) => ({ message, code }));
  throw error;
}
