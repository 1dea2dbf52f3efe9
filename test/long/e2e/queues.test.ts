/** What one owner's work may do to another's, over HTTP: the queue of proofs, and circuits that never end. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../support/eventually.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";

const THREADS = 2;
const QUEUE = 2;
/** Its witness program never ends for any x but 0. */
const MAY_LOOP = `pragma circom 2.1.0; template MayLoop() { signal input x; signal output y; var i = x; while (i != 0) { i = x; } y <== x * x; } component main = MayLoop();`;
const NEVER_COMPILES = (n: number): string =>
  `pragma circom 2.1.0; template Endless() { signal input x; signal output y; var i = 0; while (i == 0) { i = 0; } y <== x * ${String(n)}; } component main = Endless();`;
const ONE_LINE = `pragma circom 2.1.0; template Square() { signal input x; signal output y; y <== x * x; } component main = Square();`;

function circuit(source: string): Parameters<Api["createProver"]>[0]["body"] {
  return { source, proving_scheme: "groth16", curve: "BN254" };
}

let server: TestServer;
let one: Awaited<ReturnType<TestServer["newUser"]>>;
let other: Awaited<ReturnType<TestServer["newUser"]>>;
beforeAll(async () => {
  server = await startServer({ flags: [`--prove-threads=${String(THREADS)}`, `--prove-queue=${String(QUEUE)}`] });
  [one, other] = await Promise.all([server.newUser(), server.newUser()]);
});
afterAll(async () => {
  await server.dispose();
});

describe("the queue of proofs", () => {
  it("refuses what is beyond it at once, lets another owner in, and forgets clients that have gone", async () => {
    const [id, othersId] = await Promise.all(
      [one, other].map(async ({ api }) => await provisioned(api, circuit(MAY_LOOP))),
    );
    // Threads that open the keys ahead of the proofs have other tasks until then: their images are written after it.
    await eventually(() => {
      const names = readdirSync(join(server.dataDir, "key-images"));
      expect(names.filter((name) => name.endsWith(".mark"))).toHaveLength(2);
    });
    const clients = new AbortController();
    const refused: { status: number; code: unknown; retryAfterSec: number }[] = [];
    const calls = Array.from({ length: 12 }, async () => {
      const answer = await fetch(`${server.url}/api/v1/provers/${id!}/prove`, {
        method: "POST",
        headers: { authorization: `bearer ${one.token}`, "content-type": "application/json" },
        body: JSON.stringify({ witness: { x: "1" } }),
        signal: clients.signal,
      });
      const body = (await answer.json()) as { errors: { code: string; message: string }[] };
      refused.push({
        status: answer.status,
        code: body.errors[0]?.code,
        retryAfterSec: Number(answer.headers.get("retry-after")),
      });
      expect(body.errors[0]?.message).toMatch(/the queue is full, try again in \d+ s/);
    });
    const settled = Promise.allSettled(calls);
    await eventually(() => {
      expect(refused).toHaveLength(12 - THREADS - QUEUE);
    });
    const proof = other.api.prove({ params: { id: othersId! }, body: { witness: { x: "0" } } });
    await eventually(() => {
      expect(refused).toHaveLength(13 - THREADS - QUEUE);
    });
    for (const { status, code, retryAfterSec } of refused) {
      expect([status, code]).toEqual([503, "overloaded"]);
      expect(retryAfterSec).toBeGreaterThanOrEqual(1);
      expect(retryAfterSec).toBeLessThanOrEqual(120);
    }
    clients.abort();
    expect((await proof).status).toBe(201);
    await settled;
    expect((await one.api.prove({ params: { id: id! }, body: { witness: { x: "0" } } })).status).toBe(201);
  });
});

describe("circuits that never end", () => {
  it("of one owner leave a place to another's, however many they are", async () => {
    const endless = await Promise.all(
      Array.from({ length: 8 }, async (_, n) => await one.api.createProver({ body: circuit(NEVER_COMPILES(n)) })),
    );
    const statuses = async (): Promise<string[]> =>
      await Promise.all(
        endless.map(async ({ body }) => (await one.api.getProverStatus({ params: { id: body.id } })).body.status),
      );
    await eventually(async () => {
      expect((await statuses()).filter((status) => status === "compiling")).toHaveLength(2);
    });
    const { body } = await other.api.createProver({ body: circuit(ONE_LINE), preferWaitSec: 300 });
    expect(body.status).toBe("provisioned");
    expect(new Set(await statuses())).toEqual(new Set(["init", "compiling"]));
    await Promise.all(endless.map(async ({ body: { id } }) => await one.api.deleteProver({ params: { id } })));
  });
});
