/** Proofs that wait as jobs: any node with the label makes them, and each is made and kept once, whichever node dies. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestCluster } from "../support/cluster.js";
import { eventually } from "../support/eventually.js";
import { seededRandom } from "../support/seeded.js";
import { provisioned, startServer, type Api } from "../support/server.js";

const BATCHES = 5;
const BATCH = 100;
const KILLS = 6;
/** How long a question for a job is held that nothing wakes: many times what a busy machine needs for all jobs here. */
const HELD_SEC = 300;
const CUBIC = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "jobs" } as const;
const ASYNC = { Prefer: "respond-async" };

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.make();
});
afterAll(async () => {
  await cluster.dispose();
});

function witnessOf(x: number): { readonly X: string; readonly Y: string } {
  return { X: String(x), Y: String(BigInt(x) ** 3n + BigInt(x) + 5n) };
}

/** Asks for so many proofs in one request. Returns the ids of their jobs. */
async function ask(api: Api, prover: string, first: number, count: number): Promise<string[]> {
  const batch = Array.from({ length: count }, (_, index) => ({ witness: witnessOf(first + index) }));
  const { body } = await api.proveBatch({ params: { id: prover }, body: { batch }, headers: ASYNC });
  return (body.batch as readonly { readonly id: string }[]).map(({ id }) => id);
}

/** Waits until a job has succeeded. Fails when its end did not wake the question, which is then answered at its own end. */
async function succeed(api: Api, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const asked = performance.now();
    const { body: job } = await api.getJob({ params: { id }, preferWaitSec: HELD_SEC });
    expect(job).toMatchObject({ status: "succeeded", error: null });
    expect(performance.now() - asked, "answered before the wait is over").toBeLessThan(HELD_SEC * 1000);
  }
}

async function countOf(api: Api, status: "succeeded" | "failed"): Promise<number> {
  return (await api.listJobs({ query: { status, rpp: 1 } })).total;
}

describe("a worker", () => {
  it("compiles and proves for a server that does neither, has no duties, and gives back what it has when it ends", async () => {
    const server = await cluster.start("asked", { PROOFWRIGHT_LABELS: "none" });
    const { token } = await server.newUser();
    const api = server.as(token);
    const created = await api.createProver({ body: CUBIC });
    const worker = await cluster.startWorker("works", { PROOFWRIGHT_METRICS_PORT: "0" });
    const prover = await provisioned(api, { ...CUBIC, name: "compiled elsewhere" });
    await eventually(async () => {
      const { body: status } = await api.getProverStatus({ params: { id: created.body.id } });
      expect(status.status).toBe("provisioned");
    });
    const ids = await ask(api, prover, 1, 20);
    await succeed(api, ids);
    const database = new URL(cluster.databaseUrl).pathname.slice(1);
    const rows = await cluster.postgres.query(
      database,
      "SELECT name, role, duties <> '' AS has FROM pw_node ORDER BY 1",
    );
    expect(rows).toEqual([
      { name: "asked", role: "server", has: true },
      { name: "works", role: "worker", has: false },
    ]);
    const metrics = /^Proofwright serves metrics on (http:\S+)$/m.exec(worker.output())?.[1] ?? "";
    expect(await (await fetch(`${metrics}/readyz`)).text()).toBe("ready\n");

    const late = await ask(api, prover, 100, 100);
    expect(await worker.end("SIGTERM")).toBe(0);
    const made = await countOf(api, "succeeded");
    expect(await countOf(api, "failed")).toBe(0);
    expect(made).toBeLessThan(120);
    const again = await cluster.startWorker("works");
    await succeed(api, late);
    expect((await api.listProofs({ params: { id: prover }, query: { rpp: 1 } })).total).toBe(120);
    await again.end("SIGTERM");
    await server.end("SIGTERM");
  });

  it("that is sealed leaves the proofs to nodes that are not", async () => {
    const server = await cluster.start("unsealed");
    const worker = await cluster.startWorker("stays-sealed");
    const { token } = await server.newUser();
    const api = server.as(token);
    const prover = await provisioned(api, CUBIC);
    const before = await ask(api, prover, 1, 60);
    const key = { body: { key: cluster.phrase } };
    await api.seal(key);
    await api.unseal(key);
    await succeed(api, [...before, ...(await ask(api, prover, 100, 20))]);
    await worker.end("SIGTERM");
    await server.end("SIGTERM");
  });

  it("says what it lacks", async () => {
    const { PROOFWRIGHT_DATABASE_URL: _url, ...alone } = cluster.env;
    const { SEAL_UNSEAL_KEY: _key, ...sealed } = cluster.env;
    const refused = async (env: Readonly<Record<string, string>>): Promise<unknown> =>
      await startServer({ command: "worker", env }).catch((error: unknown) => error);
    expect(String(await refused(alone))).toContain("a worker is a node of a cluster: set PROOFWRIGHT_DATABASE_URL");
    expect(String(await refused(sealed))).toContain("set SEAL_UNSEAL_PROVIDER, so that it unseals itself");
    expect(String(await refused({ ...cluster.env, PROOFWRIGHT_LABELS: "none" }))).toContain("nothing to do");
  });
});

describe(`${String(BATCHES * BATCH)} proofs over three nodes`, () => {
  it("are each made and kept once, while nodes are killed", async () => {
    const random = seededRandom();
    const note = `seed ${String(random.seed)}`;
    const starts = [
      async () => await cluster.start("one"),
      async () => await cluster.start("two"),
      async () => await cluster.startWorker("three"),
    ];
    const nodes = await Promise.all(starts.map(async (start) => await start()));
    const { token } = await nodes[0]!.newUser();
    const asked = (): Api => nodes[random.below(2)]!.as(token);
    const prover = await provisioned(asked(), CUBIC);
    const ids: string[] = [];
    const more = async (): Promise<void> => {
      if (ids.length < BATCHES * BATCH) ids.push(...(await ask(asked(), prover, ids.length + 1, BATCH)));
    };
    await more();
    for (let kill = 0; kill < KILLS; kill += 1) {
      await more();
      const before = await countOf(asked(), "succeeded");
      const enough = Math.min(ids.length, before + 5 + random.below(30));
      await eventually(async () => {
        expect(await countOf(asked(), "succeeded")).toBeGreaterThanOrEqual(enough);
      });
      const dies = random.below(nodes.length);
      await nodes[dies]!.end("SIGKILL");
      nodes[dies] = await starts[dies]!();
    }
    expect(ids).toHaveLength(BATCHES * BATCH);
    await expectEachOnce({ api: asked(), prover, ids, note });
  });
});

/** Every job has succeeded with a proof of its own, which is valid, and no other proof was kept. */
async function expectEachOnce(parts: {
  readonly api: Api;
  readonly prover: string;
  readonly ids: readonly string[];
  readonly note: string;
}): Promise<void> {
  const { api, prover, ids, note } = parts;
  const proofs = new Map<string, string>();
  for (const [index, id] of ids.entries()) {
    const { body: job } = await api.getJob({ params: { id }, preferWaitSec: 120 });
    expect(job, note).toMatchObject({ status: "succeeded", error: null });
    expect(job.result?.id).toBe(job.proof_id);
    proofs.set(job.proof_id ?? "", job.result?.proof ?? "");
    expect(job.result?.public_signals[0], note).toBe(witnessOf(index + 1).Y);
  }
  expect(proofs.size, note).toBe(ids.length);
  const batch = [...proofs.values()].map((proof, index) => ({ proof, witness: { Y: witnessOf(index + 1).Y } }));
  const verified = await api.verify({ params: { id: prover }, body: { batch } });
  expect(
    (verified.body as { batch: { result: boolean }[] }).batch.every(({ result }) => result),
    note,
  ).toBe(true);
  expect((await api.listProofs({ params: { id: prover }, query: { rpp: 1 } })).total, note).toBe(ids.length);
  expect(await countOf(api, "failed"), note).toBe(0);
}
