/** Batches of proofs as the registry's service answers them: order, errors of single items, slices, limits. */
import Value from "typebox/value";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Subject } from "../../src/platform/auth/principal.js";
import { VERIFY_BATCH_ITEMS_MAX, VerifyBody, VerifyResult } from "../../src/prover/schemas.js";
import type { Prover } from "../../src/prover/schemas.js";
import type { VerifyBatchMessage } from "../../src/engine/protocol.js";
import { subject } from "../vault/support.js";
import { LocalCompute } from "./local-compute.js";
import { failureOf, never, openTestRegistry, provision, register, type TestRegistry } from "./support.js";

/** The real compute, which also keeps how many items each slice had. */
class SlicedCompute extends LocalCompute {
  readonly slices: number[] = [];
  onSlice: () => void = () => undefined;

  override async verifyBatch(message: VerifyBatchMessage) {
    this.slices.push(message.items.length);
    this.onSlice();
    return await super.verifyBatch({ ...message, backend: "wasm" });
  }
}

const compute = new SlicedCompute();
let test: TestRegistry;
let owner: Subject;
let cubic: Prover;
let proof: string;

beforeAll(async () => {
  test = await openTestRegistry({ compute });
  owner = subject();
  cubic = await provision(test.provers, owner);
  ({ proof } = await test.provers.prove(owner, cubic.id, { inputs: { X: "3", Y: "35" }, signal: never }));
});
afterAll(async () => {
  await test.close();
});

const verify = async (body: VerifyBody, signal: AbortSignal = never): Promise<VerifyResult> =>
  await test.provers.verifyBatch(owner, cubic.id, { body, signal });
const good = () => ({ witness: { Y: "35" }, proof });

describe("a batch of proofs", () => {
  it("is answered in order, with an answer of its own for each item", async () => {
    const answer = await verify({
      batch: [
        good(),
        { ...good(), witness: { Y: "36" } },
        { ...good(), proof: `0x${proof}` },
        { witness: { Y: "35" } },
        { proof },
        { ...good(), proof: "00" },
        { ...good(), witness: { Y: "x" } },
        { ...good(), witness: {} },
        good(),
      ],
    });
    expect(answer).toMatchObject({
      result: false,
      batch: [
        { result: true },
        { result: false },
        { result: true },
        { errors: [{ code: "proof_malformed", path: "proof" }] },
        { errors: [{ code: "witness_missing", path: "witness" }] },
        { errors: [{ code: "proof_malformed", path: "proof" }] },
        { errors: [{ path: "Y" }] },
        { errors: [{ path: "Y" }] },
        { result: true },
      ],
    });
    expect([...Value.Errors(VerifyResult, answer)]).toEqual([]);
  });

  it("is valid as a whole only when every proof is", async () => {
    expect(await verify({ batch: [good()] })).toEqual({ result: true, batch: [{ result: true }] });
    expect((await verify({ batch: [good(), good(), good()] })).result).toBe(true);
    expect((await verify({ batch: [good(), good(), { ...good(), proof: "" }] })).result).toBe(false);
  });

  it("stores nothing and refuses to", async () => {
    const before = test.provers.listProofs(owner, cubic.id, { page: 1, rpp: 25 }).total;
    await verify({ batch: [good()], store: false });
    expect(await failureOf(() => verify({ batch: [good()], store: true }))).toMatchObject({
      code: "invalid_request",
      details: [{ path: "store" }],
    });
    expect(test.provers.listProofs(owner, cubic.id, { page: 1, rpp: 25 }).total).toBe(before);
  });

  it("takes no single proof beside it", async () => {
    expect(await failureOf(() => verify({ batch: [good()], proof }))).toMatchObject({
      code: "invalid_request",
      details: [{ path: "proof" }],
    });
    expect(await failureOf(() => verify({ batch: [good()], witness: {} }))).toMatchObject({
      code: "invalid_request",
      details: [{ path: "witness" }],
    });
  });

  it("has one item at least and a thousand at most", () => {
    expect(Value.Check(VerifyBody, { batch: [] })).toBe(false);
    const most = Array.from({ length: VERIFY_BATCH_ITEMS_MAX }, good);
    expect(Value.Check(VerifyBody, { batch: most })).toBe(true);
    expect(Value.Check(VerifyBody, { batch: [...most, good()] })).toBe(false);
  });

  it("goes to the pool in slices, and stays in order across them", async () => {
    compute.slices.length = 0;
    const bad = new Set([0, 63, 64, 129]);
    const answer = await verify({
      batch: Array.from({ length: 130 }, (_, i) => (bad.has(i) ? { ...good(), witness: { Y: "34" } } : good())),
    });
    expect(answer.batch).toEqual(Array.from({ length: 130 }, (_, i) => ({ result: !bad.has(i) })));
    expect(compute.slices).toEqual([64, 64, 2]);
  });

  it("ends between two slices when the caller has gone", async () => {
    compute.slices.length = 0;
    const gone = new AbortController();
    compute.onSlice = () => {
      gone.abort(new Error("client has gone"));
    };
    await expect(verify({ batch: Array.from({ length: 130 }, good) }, gone.signal)).rejects.toThrow("client has gone");
    expect(compute.slices).toEqual([64]);
    compute.onSlice = () => undefined;
  });

  it("fails as a whole for a prover that is not there or not ready", async () => {
    expect(
      await failureOf(() =>
        test.provers.verifyBatch(subject(), cubic.id, { body: { batch: [good()] }, signal: never }),
      ),
    ).toMatchObject({ code: "not_found" });
    const early = await register(test.provers, owner);
    expect(
      await failureOf(() => test.provers.verifyBatch(owner, early.id, { body: { batch: [good()] }, signal: never })),
    ).toMatchObject({ code: "prover_not_provisioned" });
  });
});
