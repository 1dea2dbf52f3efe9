/** Proofs that are made as jobs, on a real store and a real vault: what they answer, keep and leave. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import type { Job } from "../../../src/prover/proof-jobs/proof-job-schemas.js";
import { proverRoutes } from "../../../src/prover/routes.js";
import type { ProveResult } from "../../../src/prover/schemas.js";
import { JSON_HEADERS, startFront, type Front } from "../../platform/http/support.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { subject } from "../../vault/support.js";
import { eventually, failureOf, never, openTestRegistry, provision, type TestRegistry } from "../support.js";
import { INPUTS, NOBODYS, askAsync, deleteJob, inputParts, jobOf, listJobs, readJob } from "./job-requests.js";

/** Whom the token of the test's front belongs to. */
const FRONT = { kind: "user", id: "7a4c1f2e-0000-4000-8000-00000000000a" } as const;

let test: TestRegistry;
let front: Front;
let owner: Subject;
let cubic: string;
let named: string;

beforeAll(async () => {
  test = await openTestRegistry();
  front = await startFront({ routes: bindRoutes(proverRoutes, test.registry.handlers, test.registry.bodyLimits) });
  owner = subject();
  ({ id: cubic } = await provision(test.provers, owner));
  ({ id: named } = await provision(test.provers, FRONT));
});
afterAll(async () => {
  await front.server.stop({ graceMs: 0 });
  await test.close({ keep: true });
  removeFolder(test.folder);
});

async function post(
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly response: Response; readonly body: Record<string, unknown> }> {
  const response = await fetch(`${front.url}/api/v1/${path}`, {
    method: "POST",
    headers: { ...JSON_HEADERS, ...headers },
    body: JSON.stringify(body),
  });
  return { response, body: (await response.json()) as Record<string, unknown> };
}

async function read(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return await fetch(`${front.url}${path}`, { headers: { ...JSON_HEADERS, ...headers } });
}

describe("prove with `Prefer: respond-async`", () => {
  it("answers 202 with a job, whose result is what prove answers", async () => {
    const body = { witness: INPUTS, meta: { order: "7" } };
    const made = await post(`provers/${named}/prove?format=solidity`, body, { Prefer: "respond-async" });
    expect(made.response.status).toBe(202);
    expect(made.response.headers.get("preference-applied")).toBe("respond-async");
    const location = made.response.headers.get("location") ?? "";
    expect(location).toBe(`/api/v1/jobs/${String(made.body.id)}`);
    expect(made.body).toMatchObject({ kind: "prove", prover_id: named, error: null, proof_id: null });
    const ended = await read(location, { Prefer: "wait=300" });
    const job = (await ended.json()) as { result: ProveResult } & Job;
    expect(job).toMatchObject({ status: "succeeded", progress: 1, position: null, estimated_ms: null, error: null });
    expect(job.finished_at).not.toBeNull();
    expect(job.result).toMatchObject({ prover_id: named, meta: { order: "7" }, solidity: {}, public_signals: ["35"] });
    expect(job.result.id).toBe(job.proof_id);
    const verified = await post(`provers/${named}/verify`, { proof: job.result.proof, witness: { Y: "35" } });
    expect(verified.body).toMatchObject({ result: true });
    const record = (await (await read(`/api/v1/provers/${named}/proofs/${job.result.id}`)).json()) as ProveResult;
    expect(record.note_index).toBe(job.result.note_index);
  });

  it("answers 201 as ever when the proof is made within the wait, and with it alone", async () => {
    const prefer = { Prefer: "respond-async, wait=100" };
    const made = await post(`provers/${named}/prove`, { witness: INPUTS }, prefer);
    expect(made.response.status).toBe(201);
    expect(made.response.headers.get("location")).toBe(`/api/v1/provers/${named}/proofs/${String(made.body.id)}`);
    const plain = await post(`provers/${named}/prove`, { witness: INPUTS }, { Prefer: "wait=100" });
    expect([plain.response.status, plain.response.headers.get("preference-applied")]).toEqual([201, null]);
  });

  it("refuses at once what shows before anything is computed, and keeps nothing of it", async () => {
    const refused = [
      await failureOf(() => askAsync(test, owner, NOBODYS)),
      await failureOf(() => askAsync(test, owner, cubic, { body: {} })),
      await failureOf(() => askAsync(test, owner, cubic, { body: { witness: INPUTS, proving_scheme: "plonk" } })),
    ];
    expect(refused.map(({ code }) => code)).toEqual(["not_found", "witness_missing", "invalid_request"]);
    expect(inputParts(test, owner)).toBe(0);
  });

  it("takes a deadline only with a job", async () => {
    const body = { witness: INPUTS };
    const { response, body: failure } = await post(`provers/${named}/prove?deadline_sec=5`, body);
    expect([response.status, failure.errors]).toMatchObject([422, [{ path: "deadline_sec" }]]);
    for (const seconds of [0, 86_401])
      expect((await post(`provers/${named}/prove?deadline_sec=${String(seconds)}`, body)).response.status).toBe(422);
  });
});

describe("a job", () => {
  it("fails with what prove answers", async () => {
    const body = { witness: { X: "3", Y: "36" } };
    const wrong = await failureOf(() => askAsync(test, owner, cubic, { body, waitSec: 100 }));
    const { id } = await jobOf(test, owner, cubic, { body });
    const job = await readJob(test, owner, id);
    expect(job).toMatchObject({ status: "failed", proof_id: null, result: null, error: { code: wrong.code } });
    expect(job.error).toEqual({
      status: wrong.status,
      code: wrong.code,
      message: wrong.details[0]?.message,
      errors: [...wrong.details],
    });
  });

  it("has a receipt where one is asked for, and spends once what two ask to spend", async () => {
    const { id } = await jobOf(test, owner, cubic, { body: { witness: INPUTS, receipt: true } });
    const { result } = await readJob(test, owner, id);
    expect(result?.receipt).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    const body = { witness: INPUTS, nullifier: "Y" };
    const ids = [await jobOf(test, owner, cubic, { body }), await jobOf(test, owner, cubic, { body })];
    const jobs = await Promise.all(ids.map(async (job) => await readJob(test, owner, job.id)));
    expect(jobs.map(({ status }) => status).sort()).toEqual(["failed", "succeeded"]);
    expect(jobs.find(({ status }) => status === "succeeded")?.result?.spent).toHaveLength(1);
    expect(jobs.find(({ status }) => status === "failed")?.error).toMatchObject({
      status: 409,
      code: "note_double_spend",
    });
  });

  it("leaves no input, and its result in no other form than sealed", async () => {
    const { id } = await jobOf(test, owner, cubic);
    const { result } = await readJob(test, owner, id);
    expect(inputParts(test, owner)).toBe(0);
    expect(test.jobs.get(id)).toBeUndefined();
    const [stored] = test.store.range<{ sealed: string }>(["proof_job_result", owner.kind, owner.id, id]);
    expect(JSON.stringify(stored?.value)).not.toContain(result?.proof);
    expect(Buffer.from(stored?.value.sealed ?? "", "base64").includes(result?.proof ?? "")).toBe(false);
  });

  it("is nobody else's", async () => {
    const { id } = await jobOf(test, owner, cubic);
    const strangers = [subject(), subject("application"), { ...owner, kind: "application" } as const];
    for (const stranger of strangers) {
      const absent = await failureOf(() => readJob(test, stranger, NOBODYS, 0));
      expect(await failureOf(() => readJob(test, stranger, id, 0))).toMatchObject({
        code: "not_found",
        message: absent.message,
      });
      expect((await failureOf(() => deleteJob(test, stranger, id))).code).toBe("not_found");
      expect(await listJobs(test, stranger)).toEqual([]);
    }
    expect((await readJob(test, owner, id)).status).toBe("succeeded");
  });

  it("is listed by what it is, without results", async () => {
    const lister = subject();
    const { id: prover } = await provision(test.provers, lister);
    const good = await jobOf(test, lister, prover);
    const bad = await jobOf(test, lister, prover, { body: { witness: { X: "3", Y: "36" } } });
    for (const { id } of [good, bad]) await readJob(test, lister, id);
    const listed = await listJobs(test, lister);
    expect(listed.map(({ id, status }) => [id, status])).toEqual([
      [good.id, "succeeded"],
      [bad.id, "failed"],
    ]);
    expect(listed.some((job) => "result" in job)).toBe(false);
    expect((await listJobs(test, lister, { status: "failed" })).map(({ id }) => id)).toEqual([bad.id]);
    expect(await listJobs(test, lister, { prover_id: NOBODYS })).toEqual([]);
  });

  it("tells its end as an event, without what it proved", async () => {
    const { id } = await jobOf(test, owner, cubic);
    await readJob(test, owner, id);
    const rows = test.store.range<{ payload: { job_id?: string } }>(["events"]);
    const own = rows.map(({ value }) => value).filter(({ payload }) => payload.job_id === id);
    expect(own).toMatchObject([{ subjects: ["privacy.prover.job.succeeded"], to: [`user:${owner.id}`] }]);
    expect(JSON.stringify(own)).not.toContain("public_signals");
  });

  it("ends as failed when its prover is deleted, and its record can still be read and deleted", async () => {
    const leaving = subject();
    const { id: prover } = await provision(test.provers, leaving);
    const made = await jobOf(test, leaving, prover);
    await readJob(test, leaving, made.id);
    await test.provers.delete(leaving, prover);
    expect(await readJob(test, leaving, made.id)).toMatchObject({
      status: "succeeded",
      result: null,
      error: { code: "not_found" },
    });
    await deleteJob(test, leaving, made.id);
    expect((await failureOf(() => readJob(test, leaving, made.id, 0))).code).toBe("not_found");
    expect(test.store.count(["proof_job_result", leaving.kind, leaving.id])).toBe(0);
  });

  it("goes with its owner", async () => {
    const leaving = subject();
    const { id: prover } = await provision(test.provers, leaving);
    const { id } = await jobOf(test, leaving, prover);
    await readJob(test, leaving, id);
    await jobOf(test, leaving, prover);
    await test.registry.proofJobs.jobs.purge(leaving);
    for (const table of ["proof_job", "proof_job_input", "proof_job_result", "proof_job#owner"])
      expect(test.store.count([table, leaving.kind, leaving.id]), table).toBe(0);
    await eventually("the durable jobs are gone", () =>
      Object.values(test.jobs.figures()).every((f) => f.waiting === 0),
    );
  });
});

describe("a shared prover", () => {
  it("makes the caller's own job, which no grant that has ended lets through", async () => {
    const friend = subject();
    const { sharing } = test.registry;
    const { id: grant } = await sharing.grant(owner, cubic, { user_id: friend.id });
    const { id } = await jobOf(test, friend, cubic);
    expect(await readJob(test, friend, id)).toMatchObject({ status: "succeeded", result: { public_signals: ["35"] } });
    expect((await failureOf(() => readJob(test, owner, id, 0))).code).toBe("not_found");
    await sharing.revoke(owner, cubic, grant);
    expect((await failureOf(() => jobOf(test, friend, cubic))).code).toBe("not_found");
  });
});

describe("the time that proofs take", () => {
  it("is in the prover's record and in its jobs once one was made, and goes with the prover", async () => {
    const who = subject();
    const { id: prover, estimated_ms: before } = await provision(test.provers, who);
    expect(before).toBeNull();
    await test.provers.prove(who, prover, { inputs: INPUTS, signal: never });
    const after = test.provers.get(who, prover).estimated_ms;
    expect(after).toBeGreaterThan(0);
    expect((await jobOf(test, who, prover)).estimated_ms).not.toBeNull();
    await eventually("it is stored", () => test.store.count(["proof_pace", who.kind, who.id, prover]) === 1);
    await test.provers.delete(who, prover);
    expect(test.store.count(["proof_pace", who.kind, who.id])).toBe(0);
  });
});
