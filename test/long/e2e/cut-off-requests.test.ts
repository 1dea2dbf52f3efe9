/**
 * Kill -9 of a whole server while it answers requests with an Idempotency-Key, all of which are then sent again to the
 * next one: what was answered is answered alike, and what was cut off is done once.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { repeatOverKills, type Asked } from "../../support/repeat-over-kills.js";
import { seededRandom } from "../../support/seeded.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";
import { newFolder } from "../../support/temporary-folder.js";

const KILLS = { rounds: 8, requestsPerRound: 60, withinMs: 600 } as const;
/** Without it the issuer would be the address, and tokens would end with the first server. */
const ENV = { PROOFWRIGHT_ISSUER: "https://once.example.com", PROOFWRIGHT_MODE: "development" };
const KINDS = ["job", "batch", "proof", "prover"] as const;
type Kind = (typeof KINDS)[number];

const folder = newFolder("cut-off");
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Sends a request, the same each time, and returns what its answer names. */
async function send(api: Api, prover: string, { kind, index }: Asked<Kind>): Promise<string> {
  const x = BigInt(index + 1);
  const body = { witness: { X: String(x), Y: String(x ** 3n + x + 5n) } };
  const call = { params: { id: prover }, idempotencyKey: `${kind}-${String(index)}` };
  // Every other one has taken effect long before its answer.
  const preferWaitSec = index % 2 === 0 ? 10 : 0;
  const headers = { Prefer: preferWaitSec === 0 ? "respond-async" : "respond-async, wait=10" };
  switch (kind) {
    case "job":
      return (await api.prove({ ...call, body, headers })).body.id;
    case "batch": {
      const answer = await api.proveBatch({ ...call, body: { batch: [body, body] }, headers });
      return String("batch_id" in answer.body && answer.body.batch_id);
    }
    case "proof":
      return (await api.prove({ ...call, body: { ...body, receipt: index % 2 === 0 } })).body.id;
    case "prover":
      return (
        await api.createProver({
          body: { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: `once ${String(index)}` },
          ...{ idempotencyKey: call.idempotencyKey, preferWaitSec },
        })
      ).body.id;
  }
}

it(`does each request once over ${String(KILLS.rounds)} kills, and answers its repeat`, async () => {
  const random = seededRandom();
  const dataDir = join(folder, "data");
  let server: TestServer = await startServer({ dataDir, env: ENV });
  try {
    const { token } = await server.newUser();
    const first = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "kills" } as const;
    const prover = await provisioned(server.as(token), first);
    const start = async (): Promise<TestServer> => {
      await server.end();
      server = await startServer({ dataDir, env: ENV });
      return server;
    };
    const kills = { ...KILLS, kinds: KINDS, random, start };
    const all = await repeatOverKills(kills, async (running, one) => await send(running.as(token), prover, one));
    const api = server.as(token);
    const asked = (kind: Kind): number => all.filter((one) => one.kind === kind).length;
    const jobs = asked("job") + 2 * asked("batch");
    for (const status of ["running", "queued"] as const) {
      const next = async (): Promise<string | undefined> =>
        (await api.listJobs({ query: { status, rpp: 1 } })).body[0]?.id;
      for (let id = await next(); id !== undefined; id = await next())
        await api.getJob({ params: { id }, preferWaitSec: 300 });
    }
    expect((await api.listJobs({ query: { rpp: 1 } })).total, `seed ${String(random.seed)}`).toBe(jobs);
    expect((await api.listProvers({ query: { rpp: 1 } })).total).toBe(1 + asked("prover"));
    expect((await api.listProofs({ params: { id: prover }, query: { rpp: 1 } })).total).toBe(jobs + asked("proof"));
  } finally {
    await server.dispose();
  }
});
