/** The main job over HTTP on a real server: from circom source to a proof that independent software accepts. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { ApiError } from "../../src/sdk/errors.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { eventually } from "../support/eventually.js";
import { provisioned, startServer, type Api, type TestServer } from "../support/server.js";

const PRODUCT =
  "pragma circom 2.1.0; template Product() { signal input a; signal input b; signal output c; c <== a * b; } component main = Product();";
const GROTH16 = { proving_scheme: "groth16", curve: "BN254", provider: "circom" } as const;

/** The parts of snarkjs that a client would use. */
interface ClientSnarkjs {
  readonly groth16: {
    verify(key: object, publicSignals: readonly string[], proof: object): Promise<boolean>;
    fullProve(
      inputs: Record<string, bigint>,
      program: Uint8Array,
      key: Uint8Array,
    ): Promise<{ proof: object; publicSignals: string[] }>;
  };
}

let server: TestServer;
let api: Api;
let token: string;

async function failure(call: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error;
  throw error instanceof Error ? error : new Error("the call succeeded");
}

beforeAll(async () => {
  server = await startServer();
  ({ api, token } = await server.newUser());
});
afterAll(async () => {
  await server.dispose();
});

describe("a circuit from source", () => {
  let id: string;
  beforeAll(async () => {
    id = await provisioned(api, { ...GROTH16, name: "prove me", source: PRODUCT });
  });

  /** Ends what is still under way for a prover that has shown what it was made for. */
  const away = async (prover: { readonly id: string }) => {
    await api.deleteProver({ params: { id: prover.id } });
  };

  it("is accepted at once, then provisioned", async () => {
    const created = await api.createProver({ body: { ...GROTH16, name: "product", source: PRODUCT } });
    expect(created.status).toBe(202);
    expect(created.headers.get("location")).toBe(`/api/v1/provers/${created.body.id}`);
    await away(created.body);
    const waited = await api.createProver({ body: { ...GROTH16, name: "again", source: PRODUCT }, preferWaitSec: 300 });
    expect(waited.body.status).toBe("provisioned");
    expect(waited.body.proving_key_id).not.toBeNull();
    expect(waited.body.trusted_setup).toBe("single_party");
  });

  it("answers compiled for a circuit that has been compiled before", async () => {
    const again = await api.createProver({ body: { ...GROTH16, name: "third", source: PRODUCT } });
    expect(["compiled", "pending_setup", "running_setup"]).toContain(again.body.status);
    await away(again.body);
  });

  it("is proved and verified, and a changed statement or proof comes out false", async () => {
    const made = await api.prove({ params: { id }, body: { witness: { a: "3", b: "11" } } });
    expect(made.status).toBe(201);
    expect(made.body.proof).toMatch(/^[0-9a-f]{256}$/);
    expect(made.body.public_signals).toEqual(["33"]);
    const verify = async (witness: Record<string, unknown>, proof: unknown): Promise<boolean> =>
      (await api.verify({ params: { id }, body: { witness, proof: proof as string } })).body.result;
    expect(await verify({ c: "33" }, made.body.proof)).toBe(true);
    expect(await verify({ c: 33, a: "999" }, `0x${made.body.proof}`)).toBe(true);
    expect(await verify({ c: "34" }, made.body.proof)).toBe(false);
    const other = await api.prove({ params: { id }, body: { witness: { a: "3", b: "11" } } });
    expect(other.body.proof).not.toBe(made.body.proof);
    expect(await verify({ c: "33" }, other.body.proof.slice(0, 64) + made.body.proof.slice(64))).toBe(false);
  });

  it("is verified in batches, where each item has its own answer", async () => {
    const proofs = [];
    for (const [a, b] of [
      ["3", "11"],
      ["5", "7"],
      ["2", "2"],
    ] as const)
      proofs.push((await api.prove({ params: { id }, body: { witness: { a, b } } })).body);
    const items = proofs.map(({ proof, public_signals: [c] }) => ({ witness: { c }, proof }));
    const sound = await api.verify({ params: { id }, body: { batch: items } });
    expect(sound).toMatchObject({
      status: 200,
      body: { result: true, batch: [{ result: true }, { result: true }, { result: true }] },
    });
    const [first, second, third] = items as [(typeof items)[0], (typeof items)[0], (typeof items)[0]];
    const mixed = await api.verify({
      params: { id },
      body: {
        batch: [first, { ...second, witness: { c: "36" } }, { ...third, proof: "00" }, { witness: { c: "4" } }, third],
      },
    });
    expect(mixed.body.result).toBe(false);
    expect(mixed.body.batch).toMatchObject([
      { result: true },
      { result: false },
      { errors: [{ code: "proof_malformed", path: "proof" }] },
      { errors: [{ code: "proof_malformed", path: "proof" }] },
      { result: true },
    ]);
    await expect(api.verify({ params: { id }, body: { batch: [first], store: true } })).rejects.toMatchObject({
      status: 422,
    });
    await expect(api.verify({ params: { id }, body: { batch: [] } })).rejects.toMatchObject({ status: 422 });
  });

  it("gives proofs, keys and witness programs that snarkjs takes", async () => {
    const artifact = async (name: string): Promise<Uint8Array> =>
      (await api.getProverArtifact({ params: { id, name } })).bytes;
    const vk = JSON.parse(Buffer.from(await artifact("verifying_key.json")).toString("utf8")) as object;
    const ours = await api.prove({
      params: { id },
      query: { format: "snarkjs" },
      body: { witness: { a: "5", b: "7" } },
    });
    const form = ours.body.snarkjs;
    // Its curve is the process's, which the files of the suite share: threads of its own would be in their way.
    const { groth16 } = (await primeSnarkjs()) as unknown as ClientSnarkjs;
    expect(await groth16.verify(vk, form!.public_signals, form!.proof)).toBe(true);
    const theirs = await groth16.fullProve(
      { a: 4n, b: 9n },
      await artifact("circuit.wasm"),
      await artifact("proving_key.zkey"),
    );
    const verified = await api.verify({ params: { id }, body: { witness: { c: "36" }, proof: theirs.proof } });
    expect(verified.body.result).toBe(true);
    expect(Buffer.from(await artifact("verifier.sol")).toString("utf8")).toContain("verifyProof");
  });

  it("keeps a record and an encrypted note of each proof", async () => {
    const proofs = await api.listProofs({ params: { id } });
    expect(proofs.total).toBeGreaterThanOrEqual(3);
    const note = await api.getNote({ params: { id, index: "0" } });
    const value = JSON.parse(Buffer.from(note.body.value, "base64").toString("utf8")) as { public_signals: string[] };
    expect(value.public_signals).toEqual(["33"]);
    expect((await failure(api.getNote({ params: { id, index: String(proofs.total) } }))).status).toBe(404);
  });

  it("repeats the same answer for the same Idempotency-Key", async () => {
    const call = async () =>
      await api.createProver({ body: { ...GROTH16, name: "once", source: PRODUCT }, idempotencyKey: "create-once" });
    const [first, second] = [await call(), await call()];
    expect(second.body.id).toBe(first.body.id);
    await away(first.body);
  });

  it("serves artifacts with their hash as ETag, and ranges of them", async () => {
    const stranger = await server.newUser();
    expect(
      (
        await fetch(`${server.url}/api/v1/provers/${id}/artifacts/circuit.wasm`, {
          headers: { authorization: `bearer ${stranger.token}` },
        })
      ).status,
    ).toBe(404);
    const whole = await api.getProverArtifact({ params: { id, name: "circuit.r1cs" } });
    const etag = whole.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[0-9a-f]{64}"$/);
    const part = await api.getProverArtifact({
      params: { id, name: "circuit.r1cs" },
      headers: { range: "bytes=0-3" },
    });
    expect(part.status).toBe(206);
    expect(Buffer.from(part.bytes).toString("latin1")).toBe("r1cs");
  });
});

describe("a built-in circuit", () => {
  it("is registered by identifier, in any case and with curve aliases", async () => {
    const id = await provisioned(api, {
      identifier: "Cubic",
      proving_scheme: "Groth16",
      curve: "bn128",
      provider: "circom",
      name: "cubic",
    });
    const { satisfying, violating } = JSON.parse(
      readFileSync(join(PACKAGE_ROOT, "circuits/cubic/inputs.json"), "utf8"),
    ) as Record<string, Record<string, string>>;
    const made = await api.prove({ params: { id }, body: { witness: satisfying! } });
    expect(
      (await api.verify({ params: { id }, body: { witness: satisfying!, proof: made.body.proof } })).body.result,
    ).toBe(true);
    const refused = await failure(api.prove({ params: { id }, body: { witness: violating! } }));
    expect(refused.status).toBe(422);
    expect(refused.errors[0]).toMatchObject({ code: "constraints_unsatisfied" });
    expect(refused.message).toMatch(/line/i);
  });
});

describe("what breaks the rules", () => {
  let id: string;
  /** Of the same circuit, with other keys. */
  let otherId: string;
  beforeAll(async () => {
    const body = { ...GROTH16, identifier: "cubic", name: "cubic for rules" };
    // Both at once: a second one alone would take as long again.
    [id, otherId] = await Promise.all([provisioned(api, body), provisioned(api, { ...body, fresh_setup: true })]);
  });

  it.each([
    ["a missing member", { X: "3" }, "Y"],
    ["an unknown member", { X: "3", Y: "35", Z: "1" }, "Z"],
    ["a negative value", { X: "-3", Y: "35" }, "X"],
    [
      "a value out of the field",
      { X: "21888242871839275222246405745257275088548364400416034343698204186575808495617", Y: "35" },
      "X",
    ],
    ["text that is no number", { X: "three", Y: "35" }, "X"],
    ["a fraction", { X: 3.5, Y: "35" }, "X"],
    ["null", { X: null, Y: "35" }, "X"],
    ["an array for a single value", { X: ["3"], Y: "35" }, "X"],
  ])("refuses a witness with %s and names it", async (_case, witness, path) => {
    const refused = await failure(api.prove({ params: { id }, body: { witness } }));
    expect(refused.status).toBe(422);
    expect(refused.errors).toContainEqual(expect.objectContaining({ code: "witness_invalid", path }));
  });

  it("answers proof: null beside the errors when the witness is missing", async () => {
    for (const body of ["{}", ""]) {
      const answer = await fetch(`${server.url}/api/v1/provers/${id}/prove`, {
        method: "POST",
        headers: { authorization: `bearer ${token}`, "content-type": "application/json" },
        body,
      });
      expect(answer.status).toBe(422);
      expect(await answer.json()).toMatchObject({ proof: null, errors: [{ code: "witness_missing" }] });
    }
  });

  it("refuses proofs that are no proofs with 422 and wrong ones with false", async () => {
    const {
      body: { proof },
    } = await api.prove({ params: { id }, body: { witness: { X: "3", Y: "35" } } });
    const status = async (candidate: unknown): Promise<number | boolean> =>
      await api.verify({ params: { id }, body: { witness: { Y: "35" }, proof: candidate as string } }).then(
        ({ body }) => body.result,
        (error: unknown) => (error instanceof ApiError ? error.status : Promise.reject(error as Error)),
      );
    expect(await status(proof.slice(2))).toBe(422);
    expect(await status(`${proof}00`)).toBe(422);
    expect(await status("zz")).toBe(422);
    expect(await status("")).toBe(422);
    expect(await status(`${"f".repeat(64)}${proof.slice(64)}`)).toBe(422);
    expect(await status({ pi_a: ["1"] })).toBe(422);
    const foreign = await api.prove({ params: { id: otherId }, body: { witness: { X: "3", Y: "35" } } });
    expect(await status(foreign.body.proof)).toBe(false);
  });

  it("hides another tenant's prover on every path", async () => {
    const { api: stranger } = await server.newUser();
    const refused = await Promise.all(
      [
        stranger.getProver({ params: { id } }),
        stranger.getProverStatus({ params: { id } }),
        stranger.deleteProver({ params: { id } }),
        stranger.prove({ params: { id }, body: { witness: { X: "3", Y: "35" } } }),
        stranger.verify({ params: { id }, body: { witness: { Y: "35" }, proof: "00" } }),
        stranger.listProofs({ params: { id } }),
        stranger.getNote({ params: { id, index: "0" } }),
        stranger.getProverArtifact({ params: { id, name: "proving_key" } }),
      ].map(failure),
    );
    for (const { status } of refused) expect(status).toBe(404);
    expect((await stranger.listProvers()).total).toBe(0);
  });

  it("refuses unknown schemes, curves, providers and identifiers by listing what there is", async () => {
    const create = async (change: Record<string, string>) =>
      await failure(api.createProver({ body: { ...GROTH16, identifier: "cubic", ...change } }));
    for (const change of [{ proving_scheme: "stark" }, { curve: "BLS24_315" }, { provider: "zokrates" }]) {
      const refused = await create(change);
      expect([refused.status, refused.code]).toEqual([422, "prover_unsupported"]);
      expect(refused.message).toMatch(/groth16/);
    }
    const unknown = await create({ identifier: "nothing" });
    expect([unknown.status, unknown.code]).toEqual([422, "identifier_unknown"]);
    expect(unknown.message).toContain("cubic");
  });
});

describe("hostile source", () => {
  async function outcome(source: string | Record<string, string>): Promise<{
    status: string;
    errors: readonly { message: string; code: string; file?: string; line?: number; column?: number }[];
  }> {
    const { body } = await api.createProver({ body: { ...GROTH16, name: "hostile", source }, preferWaitSec: 300 });
    for (;;) {
      const { body: prover } = await api.getProver({ params: { id: body.id } });
      if (prover.status === "failed" || prover.status === "provisioned") return prover;
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      });
    }
  }

  it("fails with file, line and column when it does not parse", async () => {
    const { status, errors } = await outcome(
      "pragma circom 2.1.0;\ntemplate A() { signal input a\n signal output b; b <== a; }\ncomponent main = A();",
    );
    expect(status).toBe("failed");
    expect(errors[0]).toMatchObject({
      file: "main.circom",
      line: expect.any(Number) as number,
      column: expect.any(Number) as number,
    });
  });

  it("cannot read the server's files through an include", async () => {
    for (const path of ["/etc/passwd", "../../../../../../etc/passwd", "../package.json"]) {
      const { status, errors } = await outcome(
        `pragma circom 2.1.0; include "${path}"; template A() { signal input a; signal output b; b <== a; } component main = A();`,
      );
      expect(status).toBe("failed");
      expect(JSON.stringify(errors)).not.toMatch(/root:|proofwright/);
    }
  });

  it("that eats memory ends in a clear failure while others are served", async () => {
    const bomb = outcome(
      "pragma circom 2.1.0; template A() { signal input a[100000000]; signal output b; b <== a[0]; } component main = A();",
    );
    expect((await api.listProvers()).status).toBe(200);
    const { status, errors } = await bomb;
    expect(status).toBe("failed");
    expect(errors[0]?.message).toMatch(/large|memory/i);
  });

  it("that leaves an output unconstrained comes with a warning", async () => {
    const { body } = await api.createProver({
      body: {
        ...GROTH16,
        name: "loose",
        source:
          "pragma circom 2.1.0; template A() { signal input a; signal output b; b <-- a * a; } component main = A();",
      },
    });
    // From the compiler on; the keys are not waited for.
    await eventually(async () => {
      const { body: prover } = await api.getProver({ params: { id: body.id } });
      expect(prover.warnings.length).toBeGreaterThan(0);
    });
  });
});
