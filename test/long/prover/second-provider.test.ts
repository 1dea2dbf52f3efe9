/**
 * A second provider beside circom's, over HTTP on a real server: what the registry promises of every prover holds for
 * one whose programs, keys and proofs it knows nothing of, also across a kill.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiError } from "../../../src/sdk/errors.js";
import { PROVIDERS } from "../../../src/prover/providers/table.js";
import { verifyReceipt } from "../../../src/verify-receipt.js";
import { startServer, type Api, type TestServer } from "../../support/server.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { writeTwoProvidersServer, type TwoProvidersServer } from "../../support/two-providers.js";

const SIGMA = { provider: "sigma", proving_scheme: "schnorr", curve: "secp256k1" } as const;
/** A Pedersen commitment to the secret key of a public point. */
const PROGRAM = ['base H "second"', "secret x", "secret r", "point Y = x*G", "point C = x*G + r*H"].join("\n");
const WITNESS = { x: "5", r: "12345678901234567890" };
const FIVE = secp256k1.Point.BASE.multiply(5n);
const ORDER = secp256k1.Point.Fn.ORDER;

let folder: string;
let two: TwoProvidersServer;
let server: TestServer;
let token: string;
let api: Api;
let id: string;

beforeAll(async () => {
  folder = newFolder("second-provider");
  two = await writeTwoProvidersServer();
  server = await start();
  ({ api, token } = await server.newUser());
  ({ id } = (await api.createProver({ body: { ...SIGMA, source: PROGRAM, name: "sigma" }, preferWaitSec: 300 })).body);
});
afterAll(async () => {
  await server.dispose();
  two.remove();
  removeFolder(folder);
});

async function start(stopAt?: string): Promise<TestServer> {
  const env = { PROOFWRIGHT_ANALYSIS_SECONDS: "20", ...(stopAt === undefined ? {} : { SIGMA_STOP_AT: stopAt }) };
  return await startServer({
    dataDir: `${folder}/data`,
    program: two.program,
    flags: ["--provider-aliases=schnorr-tools:sigma"],
    env,
  });
}

/** Kills the server and starts it again on the same data. */
async function restart(stopAt?: string): Promise<void> {
  await server.end("SIGKILL");
  server = await start(stopAt);
  api = server.as(token);
}

async function refusalOf(call: Promise<unknown>): Promise<ApiError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("the call was not refused");
}

async function artifact(name: string): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}` };
  return await fetch(`${server.url}/api/v1/provers/${id}/artifacts/${name}`, { headers });
}

async function proven(proverId = id): Promise<{ proof: string; public_signals: string[]; note_index: number }> {
  return (await api.prove({ params: { id: proverId }, body: { witness: WITNESS } })).body;
}

function publicWitness(signals: readonly string[]): Record<string, unknown> {
  return { Y: signals.slice(0, 2), C: signals.slice(2) };
}

describe("a prover of a second provider", () => {
  it("has receipts, and no verifiers of others", async () => {
    const { body } = await api.prove({ params: { id }, body: { witness: WITNESS, receipt: true } });
    const { body: keys } = await server.anonymous.getReceiptKeySet({ params: { id } });
    const own = { proof: body.proof, publicSignals: body.public_signals, proverId: id };
    await expect(verifyReceipt(body.receipt ?? "", keys, own)).resolves.toMatchObject({
      ...{ iss: expect.stringMatching(/^http/) as string, scheme: "schnorr", curve: "secp256k1" },
      ...{ circuit: { r1cs_sha256: null }, setup: { kind: "transparent" } },
    });
    const refused = await refusalOf(api.prove({ params: { id }, body: { witness: WITNESS, assurance: "triple" } }));
    expect([refused.status, refused.errors[0]?.path]).toEqual([422, "assurance"]);
  });

  it("is provisioned like any other, and says that nobody had to be trusted", async () => {
    const { body } = await api.getProver({ params: { id } });
    expect(body).toMatchObject({
      ...SIGMA,
      status: "provisioned",
      errors: [],
      warnings: [],
      options: null,
      setup: null,
    });
    expect(body).toMatchObject({ trusted_setup: "transparent", analysis: null, compiler: "sigma 1" });
    expect(body.proving_key_id).not.toBeNull();
    const listed = await api.listProvers({ query: { provider: "SIGMA", curve: "SECP256K1" } });
    expect(listed.body.map((prover) => prover.id)).toEqual([id]);
  });

  it("takes any spelling of its names, an alias of the settings included, and lists its systems in a refusal", async () => {
    const spelled = { provider: "Schnorr-Tools", proving_scheme: "SCHNORR", curve: "SECP256K1" };
    const { body } = await api.createProver({ body: { ...spelled, source: PROGRAM }, preferWaitSec: 300 });
    expect(body).toMatchObject({ ...SIGMA, status: "provisioned" });
    await api.deleteProver({ params: { id: body.id } });
    for (const other of [
      { ...SIGMA, provider: "circom" },
      { ...SIGMA, curve: "BN254" },
    ])
      expect(await refusalOf(api.createProver({ body: { ...other, source: PROGRAM } }))).toMatchObject({
        ...{ status: 422, code: "prover_unsupported" },
        message: expect.stringContaining("sigma/schnorr/secp256k1") as string,
      });
  });

  it("fails with the lines that are wrong in its program", async () => {
    const source = "secret x\npoint Y = x*Q\nsecret x\nfoo";
    const { body } = await api.createProver({ body: { ...SIGMA, source }, preferWaitSec: 300 });
    expect(body).toMatchObject({ status: "failed", errors: [{ line: 2 }, { line: 3 }, { line: 4 }] });
    expect((await refusalOf(api.prove({ params: { id: body.id }, body: { witness: WITNESS } }))).code).toBe(
      "prover_not_provisioned",
    );
  });

  it("serves its files under its own names, and those of circom not at all", async () => {
    const { body } = await api.listProverArtifacts({ params: { id } });
    expect(body.map(({ name }) => name).sort()).toEqual([
      ...["program.sigma", "proving_key", "relation.json", "verifying_key.json"],
    ]);
    expect(await (await artifact("program.sigma")).text()).toBe(PROGRAM);
    expect((await artifact("program.sigma")).headers.get("content-type")).toBe("text/plain; charset=UTF-8");
    expect(await (await artifact("verifying_key.json")).json()).toMatchObject({
      protocol: "schnorr",
      secrets: ["x", "r"],
    });
    expect((await (await artifact("proving_key")).arrayBuffer()).byteLength).toBe(66);
    for (const name of ["circuit.r1cs", "verifier.sol", "proving_key.zkey", "source.json", "constructor"])
      expect((await artifact(name)).status, name).toBe(404);
  });
});

describe("proofs of a second provider", () => {
  it("hold for their public signals in every form, and for no others", async () => {
    const { proof, public_signals } = await proven();
    expect(public_signals.slice(0, 2)).toEqual([String(FIVE.x), String(FIVE.y)]);
    const [challenge = "", ...responses] = proof.match(/.{64}/g) ?? [];
    const forms = [proof, `0x${proof}`, { challenge, responses }];
    const params = { id };
    for (const form of forms)
      for (const body of [
        { proof: form, public_signals },
        { proof: form, witness: publicWitness(public_signals) },
      ])
        expect((await api.verify({ params, body })).body).toEqual({ result: true });
    const other = [...public_signals.slice(2), ...public_signals.slice(0, 2)];
    expect((await api.verify({ params, body: { proof, public_signals: other } })).body).toEqual({ result: false });
    const changed = [challenge, ...[...responses].reverse()].join("");
    expect((await api.verify({ params, body: { proof: changed, public_signals } })).body).toEqual({ result: false });
  });

  it("are refused when they are malformed", async () => {
    const { proof, public_signals } = await proven();
    const order = ORDER.toString(16);
    const otherProof = proof.slice(0, -1) + (proof.endsWith("0") ? "1" : "0");
    const bodies: [string, NonNullable<Parameters<Api["verify"]>[0]["body"]>][] = [
      ["proof_malformed", { proof: proof.slice(2), public_signals }],
      ["proof_malformed", { proof: `${proof}00`, public_signals }],
      ["proof_malformed", { proof: proof.slice(0, 128) + order, public_signals }],
      ["proof_malformed", { proof: { challenge: proof.slice(0, 64) }, public_signals }],
      ["proof_malformed", { proof, snarkjs: { proof: otherProof }, public_signals: [] }],
      ["witness_invalid", { proof, public_signals: public_signals.slice(1) }],
      ["witness_invalid", { proof, public_signals: ["1", ...public_signals.slice(1)] }],
      ["witness_invalid", { proof, public_signals, witness: { Y: ["1", "2"] } }],
    ];
    for (const [code, body] of bodies)
      expect(await refusalOf(api.verify({ params: { id }, body })), code).toMatchObject({ status: 422, code });
  });

  it("are not made of inputs that are wrong", async () => {
    const prove = async (witness: Record<string, unknown>): Promise<unknown> =>
      await refusalOf(api.prove({ params: { id }, body: { witness } }));
    const wrong = [{ x: "5" }, { ...WITNESS, z: "1" }, { ...WITNESS, x: -1 }, { ...WITNESS, x: String(ORDER) }];
    for (const witness of wrong) expect(await prove(witness)).toMatchObject({ status: 422, code: "witness_invalid" });
    expect(await prove({ x: "0", r: "1" })).toMatchObject({ status: 422, code: "constraints_unsatisfied" });
    expect(await prove({ x: String(ORDER - 1n), r: "0" }).catch(() => "made")).toBe("made");
  });

  it("are verified in batches across slices, each item by itself", async () => {
    const { proof, public_signals } = await proven();
    const good = { proof, public_signals };
    const bad = { proof, public_signals: [...public_signals.slice(2), ...public_signals.slice(0, 2)] };
    const malformed = { proof: "00", public_signals };
    const batch = [good, good, bad, good, malformed, good];
    const { body } = await api.verify({ params: { id }, body: { batch } });
    expect(body.result).toBe(false);
    expect(body.batch?.map((item) => ("result" in item ? item.result : item.errors[0]?.code))).toEqual([
      ...[true, true, false, true, "proof_malformed", true],
    ]);
  });

  it("leave records and notes, and share a note store with a prover of circom's", async () => {
    const { proof, public_signals, note_index } = await proven();
    const { body: note } = await api.getNote({ params: { id, index: String(note_index) } });
    const value = JSON.parse(Buffer.from(note.value, "base64").toString("utf8")) as Record<string, unknown>;
    expect(value).toEqual({ prover_id: id, proof, public_signals });
    const { body: stored } = await api.verify({ params: { id }, body: { proof, public_signals, store: true } });
    expect(stored.result).toBe(true);
    const { body: records } = await api.listProofs({ params: { id }, query: { origin: "verify" } });
    expect(records).toMatchObject([{ note_index: note_index + 1, public_signals, timings: null, bytes: 96 }]);
    const { body: prover } = await api.getProver({ params: { id } });
    const source =
      "pragma circom 2.1.0; template A() { signal input a; signal output b; b <== a * a; } component main = A();";
    const circom = { proving_scheme: "groth16", curve: "BN254", note_store_id: prover.note_store_id };
    const { body: made } = await api.createProver({ body: { ...circom, source }, preferWaitSec: 300 });
    expect(made).toMatchObject({ status: "provisioned", provider: "circom", note_store_id: prover.note_store_id });
    const { body: mixed } = await api.prove({ params: { id: made.id }, body: { witness: { a: 3 } } });
    expect(mixed.note_index).toBe(note_index + 2);
  });
});

describe("what a second provider does not have", () => {
  it("is refused by name when a prover is created", async () => {
    const imported = { "circuit.r1cs": {}, "circuit.wasm": {}, "circuit.sym": {} };
    const asked: [string, string, object][] = [
      ["identifier_unknown", "identifier", { identifier: "cubic" }],
      ["source_invalid", "source", { source: { "main.circom": PROGRAM } }],
      ["source_invalid", "main", { source: PROGRAM, main: "main.circom" }],
      ["source_invalid", "options", { source: PROGRAM, options: { optimization: 1 } }],
      ["source_invalid", "import", { import: imported }],
      ["invalid_request", "strict", { source: PROGRAM, strict: true }],
    ];
    for (const [code, path, body] of asked) {
      const refusal = await refusalOf(api.createProver({ body: { ...SIGMA, ...body } }));
      expect(refusal, path).toMatchObject({ status: 422, code });
      expect(refusal.errors, path).toMatchObject([{ path }]);
    }
  });

  it("is refused by name when a proof is made, and its analysis is none", async () => {
    const params = { id };
    for (const format of ["snarkjs", "solidity"] as const)
      expect(await refusalOf(api.prove({ params, query: { format }, body: { witness: WITNESS } }))).toMatchObject({
        ...{ status: 422, code: "invalid_request" },
      });
    expect(await refusalOf(api.prove({ params, body: { witness_file: "d3RucwI=" } }))).toMatchObject({
      ...{ status: 422, code: "witness_invalid" },
    });
    expect((await api.getProverAnalysis({ params })).body.state).toBe("none");
  });
});

describe("a kill", () => {
  it("in the middle of its provisioning costs a step, and neither keys nor notes of others", async () => {
    const before = await proven();
    await restart("setup");
    const source = `# killed\n${PROGRAM}`;
    const { body: created } = await api.createProver({ body: { ...SIGMA, source } });
    const params = { id: created.id };
    await expect.poll(() => server.output()).toContain("stopped at setup");
    expect((await api.getProverStatus({ params })).body).toMatchObject({ status: "compiled", finished: false });
    await restart();
    await expect.poll(async () => (await api.getProverStatus({ params })).body.status).toBe("provisioned");
    const after = await proven(created.id);
    for (const [of, { proof, public_signals }] of [[created.id, after] as const, [id, before] as const])
      expect((await api.verify({ params: { id: of }, body: { proof, public_signals } })).body.result).toBe(true);
    expect((await api.getNote({ params: { id, index: String(before.note_index) } })).status).toBe(200);
  });
});

describe("a server that has lost the provider", () => {
  it("reads and deletes its provers, and says why they do not prove", async () => {
    await server.end("SIGKILL");
    server = await startServer({ dataDir: `${folder}/data` });
    api = server.as(token);
    const params = { id };
    expect((await api.getProver({ params })).body).toMatchObject({ ...SIGMA, status: "provisioned" });
    expect((await api.listProvers({})).body.map((prover) => prover.id)).toContain(id);
    expect(await refusalOf(api.prove({ params, body: { witness: WITNESS } }))).toMatchObject({
      ...{ status: 422, code: "prover_unsupported", message: "this server has no provider sigma" },
    });
    expect((await api.deleteProver({ params })).status).toBe(204);
    expect((await refusalOf(api.getProver({ params }))).status).toBe(404);
    expect(PROVIDERS).toHaveLength(1);
  });
});
