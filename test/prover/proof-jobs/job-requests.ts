/** Requests about jobs as any subject, and a compute that holds its proofs until the test lets them go. */
import type { Principal, Subject } from "../../../src/platform/auth/principal.js";
import { newId } from "../../../src/platform/ids.js";
import type { ProveValue, TaskResult } from "../../../src/engine/protocol.js";
import type { ComputeOptions, ProveInput } from "../../../src/prover/compute/compute.js";
import type { Job, JobDetail } from "../../../src/prover/proof-jobs/proof-job-schemas.js";
import type { ProveBody, ProveResult } from "../../../src/prover/schemas.js";
import { untilAborted } from "../../support/aborted.js";
import { LocalCompute } from "../local-compute.js";
import { never, principalOf, type TestRegistry } from "../support.js";

export const INPUTS = { X: "3", Y: "35" };
/** Longest time that a test waits for a job's end; a proof takes some tens of milliseconds. */
const WAIT_SEC = 300;

interface AskedJob {
  readonly body?: ProveBody;
  readonly deadlineSec?: number;
  readonly waitSec?: number;
  readonly principal?: Principal;
}

interface Reply {
  readonly status: number;
  readonly body: Job | ProveResult;
  readonly headers?: Readonly<Record<string, string>>;
}

const PARTS = { requestId: "r-1", address: "127.0.0.1", signal: never, query: {}, bearer: undefined } as const;

/** Asks for a proof with `Prefer: respond-async`. */
export async function askAsync(
  { registry }: TestRegistry,
  owner: Subject,
  id: string,
  { body = { witness: INPUTS }, deadlineSec, waitSec = 0, principal = principalOf(owner) }: AskedJob = {},
): Promise<Reply> {
  const query = deadlineSec === undefined ? {} : { deadline_sec: deadlineSec };
  const request = { ...PARTS, principal, params: { id }, body, query, preferWaitSec: waitSec, prefersAsync: true };
  return await registry.handlers.prove(request);
}

/** Asks for a proof as a job; returns the job. */
export async function jobOf(test: TestRegistry, owner: Subject, id: string, asked: AskedJob = {}): Promise<Job> {
  const { status, body } = await askAsync(test, owner, id, asked);
  if (status !== 202) throw new Error(`prove answered ${String(status)}`);
  return body as Job;
}

/** Reads a job, at its end unless told otherwise. */
export async function readJob(
  { registry }: TestRegistry,
  owner: Subject,
  id: string,
  waitSec = WAIT_SEC,
): Promise<JobDetail> {
  const { signal } = new AbortController();
  const request = { ...PARTS, principal: principalOf(owner), params: { id }, body: undefined, signal };
  return (await registry.handlers.getJob({ ...request, preferWaitSec: waitSec })).body;
}

/** Lists all jobs of an owner. */
export async function listJobs(
  { registry }: TestRegistry,
  owner: Subject,
  filters: object = {},
): Promise<readonly Job[]> {
  const query = { page: 1, rpp: 1000, ...filters };
  const request = { ...PARTS, principal: principalOf(owner), params: {}, query, body: undefined, preferWaitSec: 0 };
  return (await registry.handlers.listJobs(request)).body;
}

/** Cancels a job, or deletes its record. */
export async function deleteJob({ registry }: TestRegistry, owner: Subject, id: string): Promise<void> {
  const request = { ...PARTS, principal: principalOf(owner), params: { id }, body: undefined, preferWaitSec: 0 };
  await registry.handlers.deleteJob(request);
}

/** How many records of sealed inputs an owner has. */
export function inputParts({ store }: TestRegistry, { kind, id }: Subject): number {
  return store.count(["proof_job_input", kind, id]);
}

/** An id that is nobody's. */
export const NOBODYS = newId();

export class HeldCompute extends LocalCompute {
  /** Whose proofs were begun, in their order. */
  readonly begun: string[] = [];
  #open: () => void = () => undefined;
  #gate = this.#closed();

  /** Lets all proofs go on that are held, and those that come. */
  open(): void {
    this.#open();
  }

  /** Holds what comes from now on. */
  hold(): void {
    this.#gate = this.#closed();
  }

  override async prove(
    message: ProveInput,
    { owner = "", signal }: ComputeOptions = {},
  ): Promise<TaskResult<ProveValue>> {
    this.begun.push(owner);
    await (signal === undefined ? this.#gate : Promise.race([this.#gate, untilAborted(signal)]));
    return await super.prove(message);
  }

  #closed(): Promise<void> {
    return new Promise((resolve) => {
      this.#open = resolve;
    });
  }
}
