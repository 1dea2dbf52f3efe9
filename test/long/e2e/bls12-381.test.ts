/** Groth16 on BLS12-381 over HTTP on a real server, beside provers on BN254. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { primeSnarkjs } from "../../../src/engine/backends/snarkjs.js";
import type { SnarkjsProof } from "../../../src/engine/protocol.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";

const GROTH16 = { proving_scheme: "groth16", curve: "BLS12_381", provider: "circom" } as const;
const SOURCE =
  "pragma circom 2.1.0; template Product() { signal input a; signal input b; signal output c; signal output d; c <== a * b; d <== -1; } component main = Product();";
/** -1 of the scalar field, where the field shows. */
const MINUS_ONE = "52435875175126190479447740508185965837690552500527637822603658699938581184512";

let server: TestServer;
let api: Api;
let id: string;

beforeAll(async () => {
  server = await startServer();
  ({ api } = await server.newUser());
  id = await provisioned(api, { ...GROTH16, curve: "bls12381", identifier: "cubic" });
});
afterAll(async () => {
  await server.dispose();
});

/** The status and first code of a refused call. */
async function refused(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => "accepted",
    (error: unknown) => error,
  );
}

describe("a prover on BLS12-381", () => {
  it("proves over its own field, in 192 bytes, and verifies one proof and many", async () => {
    const made = await api.prove({
      params: { id },
      query: { format: "snarkjs" },
      body: { witness: { X: "3", Y: "35" } },
    });
    const { proof, public_signals: signals, snarkjs } = made.body;
    expect(proof).toMatch(/^[0-9a-f]{384}$/);
    expect(signals).toEqual(["35"]);
    expect(snarkjs?.proof).toMatchObject({ protocol: "groth16", curve: "bls12381" });
    const verify = async (body: object): Promise<boolean> => (await api.verify({ params: { id }, body })).body.result;
    for (const form of [proof, `0x${proof}`, snarkjs!.proof])
      expect(await verify({ proof: form, public_signals: signals })).toBe(true);
    expect(await verify({ proof, witness: { Y: "35" } })).toBe(true);
    expect(await verify({ proof, public_signals: ["36"] })).toBe(false);
    const item = { proof, public_signals: signals };
    const batch = await api.verify({
      params: { id },
      body: { batch: [item, item, { ...item, public_signals: ["36"] }, item] },
    });
    expect(batch.body).toMatchObject({
      result: false,
      batch: [{ result: true }, { result: true }, { result: false }, { result: true }],
    });
  });

  it("publishes a key with which snarkjs verifies its proofs and proves", async () => {
    const snarkjs = await primeSnarkjs("BLS12_381");
    const made = await api.prove({
      params: { id },
      query: { format: "snarkjs" },
      body: { witness: { X: "5", Y: "135" } },
    });
    const bytesOf = async (name: string): Promise<Uint8Array> =>
      (await api.getProverArtifact({ params: { id, name } })).bytes;
    const key: unknown = JSON.parse(Buffer.from(await bytesOf("verifying_key.json")).toString("utf8"));
    expect(await snarkjs.groth16.verify(key, made.body.public_signals, made.body.snarkjs!.proof)).toBe(true);
    const witness: { type: "mem"; data?: Uint8Array } = { type: "mem" };
    await snarkjs.wtns.calculate({ X: 2, Y: 15 }, await bytesOf("circuit.wasm"), witness);
    const theirs = await snarkjs.groth16.prove(await bytesOf("proving_key"), witness.data!);
    const body = { proof: theirs.proof as unknown as SnarkjsProof, public_signals: theirs.publicSignals };
    expect((await api.verify({ params: { id }, body })).body.result).toBe(true);
  });

  it("keeps its notes in a tree of its own, and shares none with a prover on BN254", async () => {
    const { note_store_id: store } = (await api.getProver({ params: { id } })).body;
    const made = await api.prove({ params: { id }, body: { witness: { X: "2", Y: "15" } } });
    const note = await api.getNote({ params: { id, index: String(made.body.note_index) } });
    expect(note.body).toMatchObject({ index: made.body.note_index, size: made.body.note_index + 1 });
    const bn254 = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", note_store_id: store };
    expect(await refused(api.createProver({ body: bn254 }))).toMatchObject({ code: "store_unsuitable" });
  });

  it("has no Solidity verifier and no arguments for one", async () => {
    expect(await refused(api.getProverArtifact({ params: { id, name: "verifier.sol" } }))).toMatchObject({
      status: 404,
    });
    const call = api.prove({ params: { id }, query: { format: "solidity" }, body: { witness: { X: "3", Y: "35" } } });
    expect(await refused(call)).toMatchObject({ code: "invalid_request" });
  });

  it("refuses proofs of another curve, values beyond its field, and takes the largest", async () => {
    const bn254 = await provisioned(api, { identifier: "cubic", proving_scheme: "groth16", curve: "BN254" });
    const other = await api.prove({ params: { id: bn254 }, body: { witness: { X: "3", Y: "35" } } });
    expect(
      await refused(api.verify({ params: { id }, body: { proof: other.body.proof, public_signals: ["35"] } })),
    ).toMatchObject({ code: "proof_malformed" });
    const beyond = String(BigInt(MINUS_ONE) + 1n);
    expect(await refused(api.prove({ params: { id }, body: { witness: { X: beyond, Y: "5" } } }))).toMatchObject({
      code: "witness_invalid",
    });
    const largest = await api.prove({ params: { id }, body: { witness: { X: MINUS_ONE, Y: "3" } } });
    expect(largest.body.public_signals).toEqual(["3"]);
  });

  it("takes the built-in circuits that mean the same over every field, and names the others", async () => {
    expect((await api.getProver({ params: { id } })).body.curve).toBe("BLS12_381");
    expect(await refused(api.createProver({ body: { ...GROTH16, identifier: "mimc" } }))).toMatchObject({
      code: "prover_unsupported",
    });
    expect(
      await refused(api.createProver({ body: { ...GROTH16, source: SOURCE, options: { prime: "bn128" } } })),
    ).toMatchObject({ code: "prover_unsupported" });
  });
});
