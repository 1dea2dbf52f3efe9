/**
 * Kill -9 of a whole server while it answers requests with an Idempotency-Key, all of which are then sent again to the
 * next one: what was answered is answered alike, and what was cut off is done once.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { ApiError } from "../../../src/sdk/errors.js";
import { askUntilKilled } from "../../support/kill-while-asking.js";
import { seededRandom } from "../../support/seeded.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";
import { newFolder } from "../../support/temporary-folder.js";

const ROUNDS = 8;
const REQUESTS_A_ROUND = 60;
/** About what a server needs for all requests of a round. */
const KILL_WITHIN_MS = 600;
/** Without it the issuer would be the address, and tokens would end with the first server. */
const ENV = { PROOFWRIGHT_ISSUER: "https://once.example.com", PROOFWRIGHT_MODE: "development" };
const KINDS = ["job", "batch", "proof", "prover"] as const;

interface Asked {
  readonly kind: (typeof KINDS)[number];
  readonly index: number;
  /** What the first answer named; undefined when the kill cut it off. */
  id: string | undefined;
}

/** Of a request whose answer is known to nobody. */
const LOST = "lost";

const isSigned = ({ kind, index }: Pick<Asked, "kind" | "index">): boolean => kind === "proof" && index % 2 === 0;

const folder = newFolder("cut-off");
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Sends a request, the same each time, and returns what its answer names. */
async function send(api: Api, prover: string, { kind, index }: Asked): Promise<string> {
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
      return (await api.prove({ ...call, body: { ...body, receipt: isSigned({ kind, index }) } })).body.id;
    case "prover":
      return (
        await api.createProver({
          body: { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: `once ${String(index)}` },
          ...{ idempotencyKey: call.idempotencyKey, preferWaitSec },
        })
      ).body.id;
  }
}

it(`does each request once over ${String(ROUNDS)} kills, and answers its repeat`, async () => {
  const random = seededRandom();
  const dataDir = join(folder, "data");
  let server: TestServer = await startServer({ dataDir, env: ENV });
  try {
    const { token } = await server.newUser();
    const first = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "kills" } as const;
    const prover = await provisioned(server.as(token), first);
    const all: Asked[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const api = server.as(token);
      const asked = function* (): Generator<Asked> {
        for (let count = 0; count < REQUESTS_A_ROUND; count += 1) {
          const one: Asked = { kind: random.pick(KINDS), index: all.length, id: undefined };
          all.push(one);
          yield one;
        }
      };
      const ask = async (one: Asked): Promise<void> => {
        one.id = await send(api, prover, one);
      };
      const moment = { random, withinMs: KILL_WITHIN_MS, afterFirstAnswer: round % 2 === 0 };
      await askUntilKilled(server, asked(), ask, moment);
      server = await startServer({ dataDir, env: ENV });
      for (const one of all) {
        const again = await send(server.as(token), prover, one).catch((error: unknown) => {
          // A proof that was kept, and whose receipt was not signed.
          if (!isSigned(one) || (one.id ?? LOST) !== LOST || !(error instanceof ApiError)) throw error;
          expect([error.status, error.message]).toEqual([409, expect.stringContaining("took effect")]);
          return LOST;
        });
        expect(again, `seed ${String(random.seed)}, ${one.kind} ${String(one.index)}`).toBe(one.id ?? again);
        one.id = again;
      }
    }
    const api = server.as(token);
    const asked = (kind: Asked["kind"]): number => all.filter((one) => one.kind === kind).length;
    const jobs = asked("job") + 2 * asked("batch");
    for (const status of ["running", "queued"] as const) {
      const next = async (): Promise<string | undefined> =>
        (await api.listJobs({ query: { status, rpp: 1 } })).body[0]?.id;
      for (let id = await next(); id !== undefined; id = await next())
        await api.getJob({ params: { id }, preferWaitSec: 300 });
    }
    expect((await api.listJobs({ query: { rpp: 1 } })).total, `seed ${String(random.seed)}`).toBe(jobs);
    expect((await api.listProvers({ query: { rpp: 1 } })).total).toBe(1 + asked("prover"));
    // Each proof is kept once, the one too whose answer was lost.
    expect((await api.listProofs({ params: { id: prover }, query: { rpp: 1 } })).total).toBe(jobs + asked("proof"));
    expect(all.filter(({ id }) => id === LOST).length).toBeLessThanOrEqual(ROUNDS);
  } finally {
    await server.dispose();
  }
});
