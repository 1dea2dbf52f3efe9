/** Keys from a published file on a real server: the processes, and their threads, are those of the build. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import { primeSnarkjs } from "../../../src/engine/backends/snarkjs.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

/** 300 rounds, with domains of 2^9 and 2^10. */
const CHAIN =
  "pragma circom 2.1.0; template Chain() { signal input a; signal input b; signal output c; signal x[301]; x[0] <== a; for (var i = 0; i < 300; i++) { x[i + 1] <== x[i] * x[i] + b; } c <== x[300]; } component main { public [b] } = Chain();";
const CIRCUIT = { curve: "BN254", provider: "circom", name: "chain", source: CHAIN } as const;
const POWER = 10;

/** The part of snarkjs that this test calls, on this thread. */
const { groth16 } = (await primeSnarkjs()) as unknown as {
  groth16: { verify(key: object, publicSignals: readonly string[], proof: object): Promise<boolean> };
};

let folder: string;
let server: TestServer;
let api: Api;
let token: string;

beforeAll(async () => {
  folder = newFolder("ptau");
  writeFileSync(join(folder, "plain.ptau"), await makePowersOfTau(POWER, { isPrepared: false }));
  server = await startServer({ env: { PROOFWRIGHT_PTAU_DIR: folder } });
  ({ api, token } = await server.newUser());
});
afterAll(async () => {
  await server.dispose();
  removeFolder(folder);
});

describe("keys from an unprepared file, over HTTP", () => {
  it("are those of a Groth16 prover whose phase 1 is published, which proves and verifies", async () => {
    const id = await provisioned(api, { ...CIRCUIT, proving_scheme: "groth16", phase1: "published" });
    const { body: prover } = await api.getProver({ params: { id } });
    expect(prover).toMatchObject({
      ...{ status: "provisioned", trusted_setup: "single_party", errors: [] },
      setup: { origin: "ceremony", power: POWER },
    });
    const { body } = await api.prove({
      params: { id },
      query: { format: "snarkjs" },
      body: { witness: { a: "2", b: "1" } },
    });
    const claim = { proof: body.proof, public_signals: body.public_signals };
    expect((await api.verify({ params: { id }, body: claim })).body).toMatchObject({ result: true });
    const answer = await fetch(`${server.url}/api/v1/provers/${id}/artifacts/verifying_key.json`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    const key = (await answer.json()) as object;
    const { snarkjs: form } = body;
    expect(await groth16.verify(key, form?.public_signals ?? [], form?.proof ?? {})).toBe(true);
  });

  it("are those of a PLONK prover", async () => {
    const id = await provisioned(api, { ...CIRCUIT, proving_scheme: "plonk" });
    const { body: prover } = await api.getProver({ params: { id } });
    expect(prover).toMatchObject({ status: "provisioned", setup: { origin: "ceremony", power: POWER } });
  });
});
