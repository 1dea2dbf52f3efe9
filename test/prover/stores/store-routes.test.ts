/** The routes of stores over HTTP: what clients read, and that it can be checked without the server. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { readTreeProof, verifyTreeProof } from "../../../src/engine/merkle/proof-json.js";
import { proverRoutes } from "../../../src/prover/routes.js";
import type { Prover } from "../../../src/prover/schemas.js";
import { JSON_HEADERS, startFront, type Front } from "../../platform/http/support.js";
import { openTestRegistry, provision, type TestRegistry } from "../support.js";

/** Whom the tokens of the test server belong to. */
const OWNER = { kind: "user", id: "7a4c1f2e-0000-4000-8000-00000000000a" } as const;

let registry: TestRegistry;
let front: Front;
let prover: Prover;

beforeAll(async () => {
  registry = await openTestRegistry();
  const { handlers, bodyLimits } = registry.registry;
  front = await startFront({ routes: bindRoutes(proverRoutes, handlers, bodyLimits) });
  prover = await provision(registry.provers, OWNER);
});
afterAll(async () => {
  await front.server.stop({ graceMs: 0 });
  await registry.close();
});

type Body = Record<string, unknown> & { readonly errors?: readonly { code: string; path?: string }[] };
async function call(path: string, body?: unknown): Promise<{ status: number; body: Body; total: string | null }> {
  const response = await fetch(`${front.url}/api/v1/${path}`, {
    headers: JSON_HEADERS,
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  const total = response.headers.get("x-total-results-count");
  return { status: response.status, body: (await response.json()) as Body, total };
}
const checked = (body: unknown): boolean => verifyTreeProof(readTreeProof(body));

describe("stores over HTTP", () => {
  it("are listed and read, and prove what is in them", async () => {
    const made = await call(`provers/${prover.id}/prove`, { witness: { X: "3", Y: "35" } });
    await call(`provers/${prover.id}/prove`, { witness: { X: "3", Y: "35" } });
    const list = await call("stores");
    expect(list).toMatchObject({ status: 200, total: "2" });
    const notes = `stores/${prover.note_store_id}`;
    const store = await call(notes);
    expect(store).toMatchObject({
      status: 200,
      body: { kind: "notes", curve: "BN254", size: 2, provers: [prover.id] },
    });
    expect(list.body).toContainEqual(store.body);
    const now = await call(`${notes}/notes/${String(made.body["note_index"])}/proof`);
    expect(now).toMatchObject({ status: 200, body: { size: 2, root: store.body["root"], depth: 32 } });
    const then = await call(`${notes}/notes/0/proof?size=1`);
    const grown = await call(`${notes}/consistency?from=1&to=2`);
    expect(grown.body).toMatchObject({ from_root: then.body["root"], to_root: store.body["root"] });
    expect([now, then, grown].map(({ body }) => checked(body))).toEqual([true, true, true]);
    expect((now.body["inputs"] as { Siblings: unknown[] }).Siblings).toHaveLength(32);
    const roots = await call(`${notes}/roots?rpp=1`);
    expect(roots).toMatchObject({ status: 200, total: "2", body: [{ size: 2, root: store.body["root"] }] });
    for (const path of [
      "notes/2/proof",
      "notes/0/proof?size=3",
      "consistency?from=2&to=1",
      `nullifiers/${"0".repeat(64)}/proof`,
    ])
      expect((await call(`${notes}/${path}`)).status, path).toBeGreaterThanOrEqual(404);
  });

  it("spend by verify, which says what it has spent", async () => {
    const made = await call(`provers/${prover.id}/prove`, { witness: { X: "3", Y: "35" } });
    const body = { proof: made.body["proof"], witness: { Y: "35" }, nullifier: "Y", spends: made.body["note_index"] };
    const verified = await call(`provers/${prover.id}/verify`, body);
    expect(verified).toMatchObject({
      status: 200,
      body: { result: true, spent: [{ index: 0 }, { index: 1, size: 2 }] },
    });
    const again = await call(`provers/${prover.id}/verify`, body);
    expect(again).toMatchObject({ status: 409, body: { result: false, errors: [{ code: "note_double_spend" }] } });
    const key = `0x${(35).toString(16)}`;
    const known = await call(`provers/${prover.id}/nullifiers/${key}`);
    expect(known).toMatchObject({ status: 200, body: { spent: true, size: 2, key: "23".padStart(64, "0") } });
    for (const decimal of ["35", "35".padStart(65, "0")])
      expect((await call(`provers/${prover.id}/nullifiers/${decimal}`)).body).toEqual(known.body);
    const unknown = await call(`provers/${prover.id}/nullifiers/${"1".padStart(64, "0")}`);
    expect(unknown).toMatchObject({ status: 200, body: { spent: false, value: "", spent_at: null } });
    const nullifiers = `stores/${prover.nullifier_store_id}`;
    const proof = await call(`${nullifiers}/nullifiers/${key}/proof?levels=20`);
    const absent = await call(`${nullifiers}/nullifiers/0x24/proof?size=2`);
    const before = await call(`${nullifiers}/nullifiers/${key}/proof?size=0`);
    expect([proof, absent, before].map(({ body: each }) => [each["found"], checked(each)])).toEqual([
      [true, true],
      [false, true],
      [false, true],
    ]);
    const head = await call(`${nullifiers}/head`);
    expect(head).toMatchObject({ status: 200, body: { size: 2, root: proof.body["root"], kind: "nullifiers" } });
    expect(await call(`${nullifiers}/heads`)).toMatchObject({ status: 200, total: "0", body: [] });
    const malformed = [
      ["nullifiers/xyz/proof", 400],
      [`nullifiers/${"9".repeat(80)}/proof`, 422],
      [`nullifiers/${"f".repeat(64)}/proof`, 422],
      [`nullifiers/${key}/proof?size=1.5`, 422],
    ] as const;
    for (const [path, status] of malformed) expect(await call(`${nullifiers}/${path}`), path).toMatchObject({ status });
  });

  it("refuse what no request may say of spending", async () => {
    for (const part of [{ nullifier: "" }, { nullifier: 5 }, { spends: -1 }, { spends: "0" }, { spends: 1.5 }])
      expect(await call(`provers/${prover.id}/verify`, { proof: "00", witness: {}, ...part })).toMatchObject({
        status: 422,
      });
    const batch = [{ proof: "00", witness: { Y: "35" } }];
    expect(await call(`provers/${prover.id}/verify`, { batch, spends: 0 })).toMatchObject({
      ...{ status: 422, body: { errors: [{ path: "spends" }] } },
    });
  });
});
