/** FFLONK through the registry: from the circuit to proofs that snarkjs and this server take from each other. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import type { FflonkProofJson } from "../../src/engine/encoding/fflonk-proof.js";
import type { FflonkVerifyingKeyJson } from "../../src/engine/encoding/fflonk-verifying-key.js";
import type { SetupInput } from "../../src/prover/compute/compute.js";
import type { Prover, ProveResult } from "../../src/prover/schemas.js";
import { snarkjsFflonk } from "../support/fflonk-fixtures.js";
import { subject } from "../vault/support.js";
import { LocalCompute } from "./local-compute.js";
import { CUBIC, failureOf, never, openTestRegistry, provision, type TestRegistry } from "./support.js";
import { INPUTS, UniversalProver, changed, twoOutputs } from "./universal-prover.js";

const FFLONK_CUBIC = { ...CUBIC, proving_scheme: "fflonk" } as const;
const OTHER = twoOutputs("fflonk");
const universal = new UniversalProver("fflonk");
const { owner } = universal;
const prove: UniversalProver["prove"] = async (...asked) => await universal.prove(...asked);
const verify: UniversalProver["verify"] = async (...asked) => await universal.verify(...asked);
const artifact: UniversalProver["artifact"] = async (...asked) => await universal.artifact(...asked);

let test: TestRegistry;
let prover: Prover;
let made: ProveResult;

beforeAll(async () => {
  ({ test, prover, made } = await universal.open());
});
afterAll(async () => {
  await universal.close();
});

describe("an FFLONK prover", () => {
  it("is provisioned from a development string that it shares with PLONK's provers", async () => {
    expect(prover).toMatchObject({
      ...{ status: "provisioned", errors: [], proving_scheme: "fflonk", curve: "BN254", trusted_setup: "universal" },
      setup: { origin: "development", sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string, power: 10 },
    });
    const plonk = await provision(test.provers, owner, { ...CUBIC, proving_scheme: "plonk" });
    expect(plonk.setup).toEqual(prover.setup);
  });

  it("proves and verifies, in the canonical form and as snarkjs' object", async () => {
    expect(made).toMatchObject({
      bytes: 640,
      public_signals: ["35"],
      proof: expect.stringMatching(/^[0-9a-f]{1280}$/) as string,
    });
    expect(await verify({ proof: made.proof, witness: { Y: "35" } })).toBe(true);
    expect(await verify({ proof: made.proof, public_signals: ["36"] })).toBe(false);
    const both = await prove(INPUTS, "snarkjs");
    expect(both.proof).not.toBe(made.proof);
    expect(await verify({ ...both })).toBe(true);
    expect(await verify({ snarkjs: both.snarkjs })).toBe(true);
    expect(await failureOf(() => verify({ ...both, proof: made.proof }))).toMatchObject({ code: "proof_malformed" });
    const { solidity } = await prove(INPUTS, "solidity");
    expect(solidity).toMatchObject({ input: [`0x${"23".padStart(64, "0")}`] });
    expect(solidity && "proof" in solidity ? solidity.proof : []).toHaveLength(24);
  });

  it("refuses inputs that do not satisfy the circuit", async () => {
    expect(await failureOf(() => prove({ X: "3", Y: "36" }))).toMatchObject({ code: "constraints_unsatisfied" });
  });

  it("keeps a note and a record of each proof", async () => {
    const { body } = test.provers.listProofs(owner, prover.id, { page: 1, rpp: 25, hash: made.hash });
    expect(body).toMatchObject([{ id: made.id, bytes: 640, origin: "prove" }]);
    const note = await test.provers.note(owner, prover.id, made.note_index);
    expect(JSON.parse(Buffer.from(note.value, "base64").toString("utf8"))).toMatchObject({ proof: made.proof });
  });
});

describe("an FFLONK proof", () => {
  it("is false or malformed with any part changed, and never an error of the server", async () => {
    const outcome = async (proof: unknown): Promise<boolean | string> => {
      try {
        return await verify({ proof, public_signals: ["35"] });
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    for (let part = 0; part < 20; part += 1)
      expect([false, "proof_malformed"]).toContain(await outcome(changed(made.proof, 64 * part + 63)));
    for (const bytes of [0, 1, 32, 128, 480, 639])
      expect(await outcome(made.proof.slice(0, 2 * bytes))).toBe("proof_malformed");
    for (const other of [
      `${made.proof}00`,
      made.proof.toUpperCase(),
      "c0".padEnd(1280, "0"),
      {},
      { protocol: "plonk" },
    ])
      expect(await outcome(other)).toBe("proof_malformed");
    // The inverse plus the order of the field: another spelling of the same number.
    const r = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
    const last = BigInt(`0x${made.proof.slice(-64)}`) + r;
    expect(await outcome(`${made.proof.slice(0, -64)}${last.toString(16).padStart(64, "0")}`)).toBe("proof_malformed");
  });

  it("is false under another circuit's key, and malformed under another scheme's", async () => {
    const other = await provision(test.provers, owner, OTHER);
    expect(await verify({ proof: made.proof, public_signals: ["35", "12"] }, other.id)).toBe(false);
    const plonk = await provision(test.provers, owner, { ...CUBIC, proving_scheme: "plonk" });
    expect(await failureOf(() => verify({ proof: made.proof, public_signals: ["35"] }, plonk.id))).toMatchObject({
      code: "proof_malformed",
    });
  });

  it("is answered by itself in a batch", async () => {
    const item = (proof: string, signal = "35") => ({ proof, public_signals: [signal] });
    const { result, batch } = await test.provers.verifyBatch(owner, prover.id, {
      body: { batch: [item(made.proof), item("00"), item(made.proof, "36"), item((await prove()).proof)] },
      signal: never,
    });
    expect(result).toBe(false);
    expect(batch).toMatchObject([
      { result: true },
      { errors: [{ code: "proof_malformed" }] },
      { result: false },
      { result: true },
    ]);
  });
});

describe("FFLONK and snarkjs", () => {
  it("make the same file from the same string, and take each other's keys and proofs", async () => {
    const snarkjs = await snarkjsFflonk();
    const file = (data: Uint8Array) => ({ type: "mem" as const, data: Uint8Array.from(data) });
    const string = readFileSync(await test.artifacts.resolve(prover.setup?.sha256 ?? ""));
    const theirKey = { type: "mem" as const, data: new Uint8Array() };
    await snarkjs.fflonk.setup(file(await artifact("circuit.r1cs")), file(string), theirKey);
    const ourKey = await artifact("proving_key.zkey");
    expect(ourKey.equals(theirKey.data)).toBe(true);
    const verifyingKey = JSON.parse((await artifact("verifying_key.json")).toString("utf8")) as FflonkVerifyingKeyJson;
    expect(verifyingKey).toEqual(await snarkjs.zKey.exportVerificationKey(theirKey));

    const { snarkjs: ours } = await prove(INPUTS, "snarkjs");
    const proof = ours?.proof as unknown as FflonkProofJson;
    expect(await snarkjs.fflonk.verify(verifyingKey, ours?.public_signals ?? [], proof)).toBe(true);

    const witness = { type: "mem" as const, data: new Uint8Array() };
    await (await primeSnarkjs()).wtns.calculate(INPUTS, Uint8Array.from(await artifact("circuit.wasm")), witness);
    const theirs = await snarkjs.fflonk.prove(file(ourKey), witness);
    expect(await verify({ proof: theirs.proof, public_signals: theirs.publicSignals })).toBe(true);
  });
});

describe("the gates of an FFLONK key", () => {
  async function failureWith(
    change: (keys: { provingKey: Uint8Array; verifyingKey: string }) => object,
  ): Promise<Prover> {
    const compute = new LocalCompute();
    const setup = compute.setup.bind(compute);
    const spoiled = async (input: SetupInput) => {
      const keys = await setup(input);
      if (!keys.ok) return keys;
      const provingKey = Uint8Array.from(keys.value.provingKey);
      return { ok: true as const, value: { ...keys.value, ...change({ ...keys.value, provingKey }) } };
    };
    const other = await openTestRegistry({ compute: Object.assign(compute, { setup: spoiled }) });
    try {
      return await provision(other.provers, subject(), FFLONK_CUBIC);
    } finally {
      await other.close();
    }
  }

  it("stop a key of which a number was changed", async () => {
    const failed = await failureWith(({ provingKey }) => {
      const place = provingKey.length >>> 1;
      provingKey[place] = (provingKey[place] ?? 0) ^ 1;
      return { provingKey };
    });
    expect(failed).toMatchObject({ status: "failed", errors: [{ code: "setup_gate_failed" }] });
  });

  it("stop a verifying key of another circuit", async () => {
    const failed = await failureWith(({ verifyingKey }) => {
      const json = JSON.parse(verifyingKey) as Record<string, unknown>;
      return { verifyingKey: JSON.stringify({ ...json, C0: ["1", "2", "1"] }) };
    });
    expect(failed.errors).toMatchObject([{ message: expect.stringContaining("verifying_key") as string }]);
  });
});
