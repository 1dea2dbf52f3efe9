/** Many witnesses in one request, over HTTP, on a real store and a real vault. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { PROVE_BATCH_ITEMS_MAX, PROVE_BATCH_WAITS_MAX } from "../../../src/prover/proof-jobs/proof-job-schemas.js";
import { proverRoutes } from "../../../src/prover/routes.js";
import { JSON_HEADERS, startFront, type Front } from "../../platform/http/support.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { openTestRegistry, provision, type TestRegistry } from "../support.js";
import { INPUTS, NOBODYS, inputParts, listJobs, readJob } from "./job-requests.js";

/** Whom the token of the test's front belongs to. */
const FRONT = { kind: "user", id: "7a4c1f2e-0000-4000-8000-00000000000a" } as const;
const ASYNC = { Prefer: "respond-async" };
/** Each statement differs: x^3 + x + 5 = y. */
const good = (x: number): object => ({ witness: { X: String(x), Y: String(x ** 3 + x + 5) } });
const UNTRUE = { witness: { X: "3", Y: "36" } };
const MALFORMED = { witness: INPUTS, receipt: "yes" };

let test: TestRegistry;
let front: Front;
let cubic: string;

beforeAll(async () => {
  test = await openTestRegistry({ proofJobLimits: { partsPerOwnerMax: 64 } });
  front = await startFront({ routes: bindRoutes(proverRoutes, test.registry.handlers, test.registry.bodyLimits) });
  ({ id: cubic } = await provision(test.provers, FRONT));
});
afterAll(async () => {
  await front.server.stop({ graceMs: 0 });
  await test.close({ keep: true });
  removeFolder(test.folder);
});

interface Item {
  readonly id?: string;
  readonly proof?: string;
  readonly status?: string;
  readonly public_signals?: readonly string[];
  readonly errors?: readonly { readonly code: string; readonly path?: string }[];
}
interface Answer {
  readonly status: number;
  readonly location: string | null;
  readonly body: { readonly batch_id: string; readonly batch: readonly Item[]; readonly errors?: Item["errors"] };
}

async function post(
  batch: readonly object[],
  headers: Readonly<Record<string, string>> = {},
  id = cubic,
): Promise<Answer> {
  const response = await fetch(`${front.url}/api/v1/provers/${id}/prove/batch`, {
    method: "POST",
    headers: { ...JSON_HEADERS, ...headers },
    body: JSON.stringify({ batch }),
  });
  const body = (await response.json()) as Answer["body"];
  return { status: response.status, location: response.headers.get("location"), body };
}

describe("a batch of proofs", () => {
  it("is answered in its order, and each item fails alone", async () => {
    const { status, body } = await post([good(2), UNTRUE, MALFORMED, good(4)]);
    expect(status).toBe(200);
    expect(body.batch).toMatchObject([
      { public_signals: ["15"] },
      { errors: [{ code: "constraints_unsatisfied" }] },
      { errors: [{ path: "receipt" }] },
      { public_signals: ["73"] },
    ]);
    expect(body.batch[0]?.proof).toMatch(/^[0-9a-f]{256}$/);
  });

  it("becomes jobs when it is long, which are listed by the batch", async () => {
    const items = Array.from({ length: PROVE_BATCH_WAITS_MAX + 1 }, (_, index) => good(index + 10));
    const { status, location, body } = await post([...items, MALFORMED]);
    expect(status).toBe(202);
    expect(location).toBe(`/api/v1/jobs?batch_id=${body.batch_id}`);
    expect(body.batch.at(-1)).toMatchObject({ errors: [{ path: "receipt" }] });
    const jobs = body.batch.slice(0, -1);
    const ended = await Promise.all(jobs.map(async ({ id = "" }) => await readJob(test, FRONT, id)));
    expect(ended.map(({ result }) => result?.public_signals)).toEqual(
      items.map((_, index) => [String((index + 10) ** 3 + index + 15)]),
    );
    const listed = await listJobs(test, FRONT, { batch_id: body.batch_id });
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(jobs.map(({ id }) => id)));
    expect(listed.every(({ batch_id, status: state }) => batch_id === body.batch_id && state === "succeeded")).toBe(
      true,
    );
    expect(await listJobs(test, FRONT, { batch_id: NOBODYS })).toEqual([]);
  });

  it("becomes jobs where the client prefers that, however short it is", async () => {
    const { status, body } = await post([good(2), UNTRUE], ASYNC);
    expect(status).toBe(202);
    const ended = await Promise.all(body.batch.map(async ({ id = "" }) => await readJob(test, FRONT, id)));
    expect(ended).toMatchObject([
      { status: "succeeded" },
      { status: "failed", error: { code: "constraints_unsatisfied" } },
    ]);
  });

  it("is refused whole where it has no room, and leaves nothing", async () => {
    const before = (await listJobs(test, FRONT)).length;
    const { status, body } = await post(Array.from({ length: 65 }, () => good(2)));
    expect([status, body.errors?.[0]?.code]).toEqual([429, "too_many_requests"]);
    expect(await listJobs(test, FRONT)).toHaveLength(before);
    expect(inputParts(test, FRONT)).toBe(0);
  });

  it("has one item at least, and a bounded number, of a prover that is there", async () => {
    expect((await post([])).status).toBe(422);
    expect((await post(Array.from({ length: PROVE_BATCH_ITEMS_MAX + 1 }, () => good(2)))).status).toBe(422);
    expect((await post([good(2)], {}, NOBODYS)).status).toBe(404);
    expect((await post([good(2)], ASYNC, NOBODYS)).status).toBe(404);
  });
});
