/**
 * The durable jobs of analyses: one at a time, in turns of the owners. An analysis takes a processor for up to minutes,
 * and nothing but a strict prover waits for it.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { newId } from "../../platform/ids.js";
import type { Job } from "../../platform/jobs/job.js";
import type { Jobs } from "../../platform/jobs/jobs.js";
import { mergeCommits } from "../../platform/store/tables.js";
import type { StatusWatch } from "../provisioning/status-watch.js";
import type { ProverRepository } from "../repository.js";
import type { AnalysisQueue } from "../service.js";
import { Analyses, type AnalysesDependencies } from "./analyses.js";

export const ANALYSIS_JOB = "analyze_circuit";
const PHASE = "analyze";
const END = "end";

interface AnalysisJobsDependencies extends AnalysesDependencies {
  /** Wakes requests that wait for a prover: a strict one may have failed with its analysis. */
  readonly watch: Pick<StatusWatch, "notify">;
}

/** Registers the runner of analyses; call it before the jobs start. */
export function registerAnalyses(jobs: Jobs, dependencies: AnalysisJobsDependencies): void {
  const analyses = new Analyses(dependencies);
  jobs.register(ANALYSIS_JOB, {
    concurrency: 1,
    ownerOf: (job) => dependencies.turnOf(subjectOf(job).owner),
    run: async (job, context) => {
      await analyses.run(subjectOf(job), {
        signal: context.signal,
        commit: async (commit) => {
          await context.setPhase(END, commit);
        },
      });
    },
    onFailed: (job) => analyses.failure(subjectOf(job)),
  });
  jobs.subscribe(({ job, progress }) => {
    if (job.kind === ANALYSIS_JOB && progress === undefined) dependencies.watch.notify(subjectOf(job).proverId);
  });
}

/** Returns the queue of analyses; each has a record with the id of its job. */
export function analysisQueue(jobs: Jobs, repository: ProverRepository): AnalysisQueue {
  return {
    prepare: (owner, proverId) => {
      const { job, commit } = jobs.enqueueCommit({
        id: newId(),
        kind: ANALYSIS_JOB,
        subject_key: ["prover", owner.kind, owner.id, proverId],
        phase: PHASE,
        input: { kind: owner.kind, id: owner.id, prover_id: proverId },
      });
      const { id, created_at } = job;
      const pending = { state: "pending", verdict: null, reason: null, analyzed_at: null, artifacts: {} } as const;
      return mergeCommits(
        repository.insertAnalysis({ ...pending, owner, id, created_at, prover_id: proverId }),
        commit,
      );
    },
    cancel: async (jobId) => {
      await jobs.cancel(jobId);
    },
  };
}

/** The input is what `analysisQueue` queued. */
function subjectOf(job: Job): { readonly owner: Subject; readonly proverId: string } {
  const { kind, id, prover_id } = job.input as unknown as Subject & { readonly prover_id: string };
  return { owner: { kind, id }, proverId: prover_id };
}
