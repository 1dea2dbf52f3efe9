/** Kill -9 of a whole server while it makes jobs: each one that was accepted is made, and its proof is kept once. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { askUntilKilled } from "../../support/kill-while-asking.js";
import { seededRandom } from "../../support/seeded.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";
import { newFolder } from "../../support/temporary-folder.js";

const ROUNDS = 8;
const JOBS_A_ROUND = 24;
/** About what a server needs for all jobs of a round. */
const KILL_WITHIN_MS = 600;
/** Without it the issuer would be the address, and tokens would end with the first server. */
const ENV = { PROOFWRIGHT_ISSUER: "https://jobs.example.com", PROOFWRIGHT_MODE: "development" };

const folder = newFolder("job-kills");
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Asks for one job; the id of an answer goes to `accepted`. */
async function askForJob(api: Api, prover: string, index: number, accepted: string[]): Promise<void> {
  const x = BigInt(index + 1);
  const body = { witness: { X: String(x), Y: String(x ** 3n + x + 5n) }, receipt: index % 3 === 0 };
  const headers = { Prefer: "respond-async" };
  accepted.push((await api.prove({ params: { id: prover }, body, headers })).body.id);
}

/** Waits for the jobs that have not ended: those too whose answers never came. */
async function untilAllEnded(api: Api): Promise<void> {
  for (const status of ["running", "queued"] as const)
    for (const { id } of (await api.listJobs({ query: { status, rpp: JOBS_A_ROUND } })).body)
      await api.getJob({ params: { id }, preferWaitSec: 300 });
}

it(`makes every accepted job over ${String(ROUNDS)} kills, and keeps each proof once`, async () => {
  const random = seededRandom();
  const dataDir = join(folder, "data");
  let server: TestServer = await startServer({ dataDir, env: ENV });
  try {
    const { token } = await server.newUser();
    const prover = await provisioned(server.as(token), {
      ...{ identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "kills" },
    });
    const accepted: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const api = server.as(token);
      const jobs = Array.from({ length: JOBS_A_ROUND }, (_, index) => round * JOBS_A_ROUND + index);
      await askUntilKilled(server, jobs, async (index) => await askForJob(api, prover, index, accepted), {
        ...{ random, withinMs: KILL_WITHIN_MS, afterFirstAnswer: round % 2 === 0 },
      });
      server = await startServer({ dataDir, env: ENV });
    }
    const api = server.as(token);
    const proofs: (string | null)[] = [];
    for (const id of accepted) {
      const { body: job } = await api.getJob({ params: { id }, preferWaitSec: 300 });
      expect(job, `seed ${String(random.seed)}`).toMatchObject({ status: "succeeded", error: null });
      expect(job.result?.id).toBe(job.proof_id);
      proofs.push(job.proof_id);
    }
    expect(accepted.length).toBeGreaterThan(0);
    expect(new Set(proofs).size).toBe(accepted.length);
    // A job whose answer the kill cut off is made as well; only then do the two counts stand still.
    await untilAllEnded(api);
    const { total } = await api.listJobs({ query: { status: "succeeded", rpp: 1 } });
    const kept = await api.listProofs({ params: { id: prover }, query: { rpp: 1 } });
    expect(kept.total).toBe(total);
    expect(total).toBeGreaterThanOrEqual(accepted.length);
    expect((await api.listJobs({ query: { status: "failed", rpp: 1 } })).total).toBe(0);
  } finally {
    await server.dispose();
  }
});
