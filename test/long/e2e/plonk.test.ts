/** PLONK over HTTP on a real server: threads and processes as in production, snarkjs and a real node as judges. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { primeSnarkjs } from "../../../src/engine/backends/snarkjs.js";
import { ApiError } from "../../../src/sdk/errors.js";
import { startAnvil, type Anvil } from "../../support/anvil.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";
import { deployVerifier } from "../../support/verifier-contract.js";

/** 300 rounds: with its domain of 2^10 gates, idle threads help a proof. */
const CHAIN =
  "pragma circom 2.1.0; template Chain() { signal input a; signal input b; signal output c; signal x[301]; x[0] <== a; for (var i = 0; i < 300; i++) { x[i + 1] <== x[i] * x[i] + b; } c <== x[300]; } component main { public [b] } = Chain();";
const PLONK = { proving_scheme: "plonk", curve: "BN254", provider: "circom" } as const;

/** The part of snarkjs that this test calls, on this thread. */
const { plonk } = (await primeSnarkjs()) as unknown as {
  plonk: { verify(key: object, publicSignals: readonly string[], proof: object): Promise<boolean> };
};

let server: TestServer;
let api: Api;
let token: string;
let anvil: Anvil;
let id: string;

beforeAll(async () => {
  [server, anvil] = await Promise.all([startServer({ flags: ["--log-level=info"] }), startAnvil()]);
  ({ api, token } = await server.newUser());
  id = await provisioned(api, { ...PLONK, name: "chain", source: CHAIN });
});
afterAll(async () => {
  await server.dispose();
  await anvil.stop();
});

async function artifact(name: string): Promise<Response> {
  return await fetch(`${server.url}/api/v1/provers/${id}/artifacts/${name}`, {
    headers: { Authorization: `Bearer ${token}` },
  });
}

async function statusOf(call: Promise<{ readonly status: number }>): Promise<number> {
  try {
    return (await call).status;
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
}

describe("a PLONK prover over HTTP", () => {
  it("says from which string its keys follow, and serves its key and its contract", async () => {
    const { body } = await api.getProver({ params: { id } });
    expect(body).toMatchObject({ status: "provisioned", trusted_setup: "universal", setup: { origin: "development" } });
    expect(await (await artifact("verifying_key.json")).json()).toMatchObject({ protocol: "plonk", nPublic: 2 });
    expect(await (await artifact("verifier.sol")).text()).toMatch(/^contract \w+Verifier \{$/m);
    expect(Buffer.from(await (await artifact("proving_key")).arrayBuffer()).toString("latin1", 0, 4)).toBe("pwpk");
    const zkey = Buffer.from(await (await artifact("proving_key.zkey")).arrayBuffer());
    expect(zkey.toString("latin1", 0, 4)).toBe("zkey");
  });

  it("makes proofs that snarkjs takes, several at once", async () => {
    const key = (await (await artifact("verifying_key.json")).json()) as object;
    const made = await Promise.all(
      ["1", "2", "3"].map(async (a) => {
        const { body } = await api.prove({
          params: { id },
          query: { format: "snarkjs" },
          body: { witness: { a, b: "1" } },
        });
        return body;
      }),
    );
    for (const { snarkjs: form } of made)
      expect(await plonk.verify(key, form?.public_signals ?? [], form?.proof ?? {})).toBe(true);
    const batch = made.map(({ proof, public_signals }) => ({ proof, public_signals }));
    const [first, second] = [made[0]?.public_signals, made[1]?.proof];
    const checked = await api.verify({
      params: { id },
      body: { batch: [...batch, { proof: second ?? "", public_signals: first ?? [] }] },
    });
    expect(checked.body).toEqual({
      result: false,
      batch: [{ result: true }, { result: true }, { result: true }, { result: false }],
    });
  });

  it("makes proofs that its contract takes on a chain", async () => {
    const { body } = await api.prove({
      params: { id },
      query: { format: "solidity" },
      body: { witness: { a: "5", b: "7" } },
    });
    const { solidity } = body;
    if (solidity === undefined || !("proof" in solidity)) throw new Error("the answer has no arguments of PLONK");
    const verify = await deployVerifier(anvil, await (await artifact("verifier.sol")).text(), 1_000_000n);
    expect(await verify([solidity.proof, solidity.input])).toBe(true);
    expect(await verify([solidity.proof, solidity.input.with(0, "0x1")])).toBe(false);
  });

  it("stores a verified proof on demand, and keeps its note", async () => {
    const { body } = await api.prove({ params: { id }, body: { witness: { a: "8", b: "9" } } });
    const { proof, public_signals } = body;
    expect(await statusOf(api.verify({ params: { id }, body: { proof, public_signals, store: true } }))).toBe(200);
    const { body: records } = await api.listProofs({ params: { id }, query: { hash: body.hash } });
    expect(records.map(({ origin, bytes }) => [origin, bytes])).toEqual([
      ["prove", 480],
      ["verify", 480],
    ]);
  });

  it("refuses triples that are not offered, and bodies that mean another scheme", async () => {
    const source = CHAIN;
    expect(await statusOf(api.createProver({ body: { ...PLONK, curve: "secp256k1", source } }))).toBe(422);
    expect(await statusOf(api.createProver({ body: { ...PLONK, proving_scheme: "stark", source } }))).toBe(422);
    const witness = { a: "1", b: "1" };
    expect(await statusOf(api.prove({ params: { id }, body: { witness, proving_scheme: "groth16" } }))).toBe(422);
  });

  it("has made one string, and says so in its log", () => {
    expect(server.output().match(/made a reference string for development/g)).toHaveLength(1);
  });
});
