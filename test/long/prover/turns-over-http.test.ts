/**
 * Turns of owners on a whole server with one thread that proves: who asks for one proof does not wait for another's
 * hundreds, and who asks for too many is told when to ask again. No time is measured, only the order of the ends.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Job } from "../../../src/prover/proof-jobs/proof-job-schemas.js";
import { openSse } from "../../support/event-streams.js";
import { eventually } from "../../support/eventually.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";

const CUBIC = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254" } as const;
const BODY = { witness: { X: "3", Y: "35" } };
/** Jobs of one batch, and synchronous requests at a time. */
const MANY = 200;
/** The most items of one batch; three of them are more than one owner may let wait. */
const BATCH_MAX = 500;

interface Tenant {
  readonly api: Api;
  readonly token: string;
  readonly prover: string;
}

let server: TestServer;
let busy: Tenant;
let modest: Tenant;

beforeAll(async () => {
  server = await startServer({ flags: ["--prove-threads=1", "--metrics-port=0"] });
  [busy, modest] = [await tenant("busy"), await tenant("modest")];
});
afterAll(async () => {
  await server.dispose();
});

async function tenant(name: string): Promise<Tenant> {
  const { api, token } = await server.newUser();
  return { api, token, prover: await provisioned(api, { ...CUBIC, name }) };
}

async function post({ token, prover }: Tenant, path: string, body: object, prefer?: string): Promise<Response> {
  return await fetch(`${server.url}/api/v1/provers/${prover}/${path}`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Authorization: `bearer ${token}`,
      ...(prefer === undefined ? {} : { Prefer: prefer }),
    },
    body: JSON.stringify(body),
  });
}

async function postBatch(who: Tenant, items: number): Promise<Response> {
  return await post(who, "prove/batch", { batch: Array.from({ length: items }, () => BODY) }, "respond-async");
}

async function allJobs({ api }: Tenant): Promise<Job[]> {
  const jobs: Job[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await api.listJobs({ query: { page, rpp: 100 } });
    jobs.push(...body);
    if (body.length < 100) return jobs;
  }
}

async function waitingProofs(): Promise<number> {
  const url = /^Proofwright serves metrics on (http:\S+)$/m.exec(server.output())?.[1] ?? "";
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^proofwright_lane_waiting\{lane="prove"\} (\d+)$/m.exec(text)?.[1]);
}

describe("owners take turns", () => {
  it("with jobs: one tenant's one ends before most of another's hundreds, and the event stream tells", async () => {
    const events = await openSse(server.url, { token: modest.token, subjects: ["privacy.prover.job.>"] });
    expect((await postBatch(busy, MANY)).status).toBe(202);
    const asked = await post(modest, "prove", BODY, "respond-async");
    expect(asked.status).toBe(202);
    const { id, position } = (await asked.json()) as Job;
    expect(position ?? 0).toBeLessThanOrEqual(1);
    const { body: one } = await modest.api.getJob({ params: { id }, preferWaitSec: 300 });
    expect(one).toMatchObject({ status: "succeeded", error: null });
    await events.until((reader) => reader.events().length > 0);
    expect(events.events()).toMatchObject([
      { subject: "privacy.prover.job.succeeded", payload: { job_id: id, status: "succeeded" } },
    ]);
    events.close();
    const seen = await allJobs(busy);
    expect(seen).toHaveLength(MANY);
    for (const job of seen) await busy.api.getJob({ params: { id: job.id }, preferWaitSec: 300 });
    const ended = await allJobs(busy);
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(["succeeded"]));
    const later = ended.filter(({ finished_at }) => (finished_at ?? "") >= (one.finished_at ?? ""));
    expect(later.length).toBeGreaterThan(MANY / 2);
  });

  it("with requests: one tenant's one is answered before most of another's hundreds", async () => {
    let answered = 0;
    const requests = Array.from({ length: MANY }, async () => {
      const { status } = await post(busy, "prove", BODY);
      answered += 1;
      return status;
    });
    await eventually(async () => {
      expect(await waitingProofs()).toBeGreaterThan(MANY / 2);
    });
    const before = answered;
    expect((await post(modest, "prove", BODY)).status).toBe(201);
    expect(answered - before).toBeLessThan(MANY / 2);
    const statuses = await Promise.all(requests);
    expect(new Set(statuses)).toEqual(new Set([201]));
  });
});

it("refuses jobs beyond an owner's limit with a time to ask again, and takes another owner's", async () => {
  const answers: Response[] = [];
  while (answers.at(-1)?.status !== 429 && answers.length < 20) answers.push(await postBatch(busy, BATCH_MAX));
  const refused = answers.at(-1);
  expect(answers.slice(0, 2).map(({ status }) => status)).toEqual([202, 202]);
  expect(refused?.status).toBe(429);
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
  const { errors } = (await refused?.json()) as { errors: { code: string; message: string }[] };
  expect(errors).toMatchObject([{ code: "too_many_requests" }]);
  expect(errors[0]?.message).toMatch(/at most 1024 jobs of one owner/);
  const asked = await post(modest, "prove", BODY, "respond-async, wait=100");
  expect(asked.status).toBe(201);
});
