/** PLONK through the registry: from the circuit to proofs that snarkjs and this server take from each other. */
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { BLS12_381 } from "../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import type { PlonkProofJson } from "../../src/engine/encoding/plonk-proof.js";
import type { PlonkVerifyingKeyJson } from "../../src/engine/encoding/plonk-verifying-key.js";
import { openReferenceString } from "../../src/engine/proof-systems/reference-string-file.js";
import type { GatesInput, SetupInput } from "../../src/prover/compute/compute.js";
import type { Prover, ProveResult } from "../../src/prover/schemas.js";
import { snarkjsPlonk } from "../support/plonk-fixtures.js";
import { subject } from "../vault/support.js";
import { LocalCompute } from "./local-compute.js";
import { CUBIC, eventually, failureOf, never, openTestRegistry, provision, type TestRegistry } from "./support.js";
import { INPUTS, UniversalProver, changed, twoOutputs } from "./universal-prover.js";

const PLONK_CUBIC = { ...CUBIC, proving_scheme: "plonk" } as const;
const OTHER = twoOutputs("plonk");
const universal = new UniversalProver("plonk");
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

describe("a PLONK prover", () => {
  it("is provisioned from a development string that it names, without the statuses of a setup", async () => {
    expect(prover).toMatchObject({
      ...{ status: "provisioned", errors: [], proving_scheme: "plonk", curve: "BN254", trusted_setup: "universal" },
      setup: { origin: "development", sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string, power: 10 },
    });
    const created = await test.provers.create(owner, OTHER, { waitSec: 0, signal: never });
    const seen = new Set<string>();
    await eventually("the prover is provisioned", () => {
      const { status } = test.provers.get(owner, created.id);
      seen.add(status);
      return status === "provisioned";
    });
    expect([...seen].filter((status) => status.includes("setup"))).toEqual([]);
    expect(test.provers.get(owner, created.id).setup).toEqual(prover.setup);
  });

  it("shares the string with provers of others, which have keys of their own in their vaults", async () => {
    const stranger = subject();
    const other = await provision(test.provers, stranger, PLONK_CUBIC);
    expect(other.setup).toEqual(prover.setup);
    expect(other.verifying_key_id).not.toBe(prover.verifying_key_id);
    await test.provers.delete(stranger, other.id);
    expect(await test.artifacts.verify(prover.setup?.sha256 ?? "")).toMatchObject({ sha256: prover.setup?.sha256 });
  });

  it("proves and verifies, in the canonical form and as snarkjs' object", async () => {
    expect(made).toMatchObject({
      bytes: 480,
      public_signals: ["35"],
      proof: expect.stringMatching(/^[0-9a-f]{960}$/) as string,
    });
    expect(await verify({ proof: made.proof, witness: { Y: "35" } })).toBe(true);
    expect(await verify({ proof: made.proof, public_signals: ["36"] })).toBe(false);
    const both = await prove(INPUTS, "snarkjs");
    expect(both.proof).not.toBe(made.proof);
    expect(await verify({ ...both })).toBe(true);
    expect(await verify({ snarkjs: both.snarkjs })).toBe(true);
    expect(await failureOf(() => verify({ ...both, proof: made.proof }))).toMatchObject({ code: "proof_malformed" });
  });

  it("refuses inputs that do not satisfy the circuit", async () => {
    expect(await failureOf(() => prove({ X: "3", Y: "36" }))).toMatchObject({ code: "constraints_unsatisfied" });
    expect(await failureOf(() => prove({ X: "3" }))).toMatchObject({ code: "witness_invalid" });
  });

  it("keeps a note and a record of each proof", async () => {
    const { body } = test.provers.listProofs(owner, prover.id, { page: 1, rpp: 25, hash: made.hash });
    expect(body).toMatchObject([{ id: made.id, bytes: 480, origin: "prove" }]);
    const note = await test.provers.note(owner, prover.id, made.note_index);
    expect(JSON.parse(Buffer.from(note.value, "base64").toString("utf8"))).toMatchObject({ proof: made.proof });
  });
});

describe("a PLONK proof", () => {
  it("is false or malformed with any part changed, and never an error of the server", async () => {
    const outcome = async (proof: unknown): Promise<boolean | string> => {
      try {
        return await verify({ proof, public_signals: ["35"] });
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    for (let part = 0; part < 15; part += 1)
      expect([false, "proof_malformed"]).toContain(await outcome(changed(made.proof, 64 * part + 63)));
    for (const bytes of [0, 1, 32, 128, 479])
      expect(await outcome(made.proof.slice(0, 2 * bytes))).toBe("proof_malformed");
    for (const other of [
      `${made.proof}00`,
      made.proof.toUpperCase(),
      "c0".padEnd(960, "0"),
      {},
      { protocol: "groth16" },
    ])
      expect(await outcome(other)).toBe("proof_malformed");
    // The last value plus the order of the field: another spelling of the same number.
    const r = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
    const last = BigInt(`0x${made.proof.slice(-64)}`) + r;
    expect(await outcome(`${made.proof.slice(0, -64)}${last.toString(16).padStart(64, "0")}`)).toBe("proof_malformed");
  });

  it("is false under another circuit's key, and malformed under another scheme's", async () => {
    const other = await provision(test.provers, owner, OTHER);
    expect(await verify({ proof: made.proof, public_signals: ["35", "12"] }, other.id)).toBe(false);
    const groth16 = await provision(test.provers, owner);
    const foreign = await test.provers.prove(owner, groth16.id, { inputs: INPUTS, signal: never });
    expect(await failureOf(() => verify({ proof: made.proof, public_signals: ["35"] }, groth16.id))).toMatchObject({
      code: "proof_malformed",
    });
    expect(await failureOf(() => verify({ proof: foreign.proof, public_signals: ["35"] }))).toMatchObject({
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

describe.each([BN254, BLS12_381])("PLONK and snarkjs on $name", (curve) => {
  it("make the same key from the same string, and take each other's proofs", async () => {
    const own = curve === BN254 ? prover : await provision(test.provers, owner, { ...PLONK_CUBIC, curve: curve.name });
    const snarkjs = await snarkjsPlonk(curve);
    const string = readFileSync(await test.artifacts.resolve(own.setup?.sha256 ?? ""));
    const zkey = { type: "mem" as const, data: new Uint8Array() };
    const file = (data: Uint8Array) => ({ type: "mem" as const, data: Uint8Array.from(data) });
    await snarkjs.plonk.setup(file(await artifact("circuit.r1cs", own.id)), file(string), zkey);
    const text = (await artifact("verifying_key.json", own.id)).toString("utf8");
    const verifyingKey = JSON.parse(text) as PlonkVerifyingKeyJson;
    expect(verifyingKey).toEqual(await snarkjs.zKey.exportVerificationKey(zkey));

    const asked = { inputs: INPUTS, format: "snarkjs", signal: never } as const;
    const { proof, snarkjs: ours } = await test.provers.prove(owner, own.id, asked);
    expect(proof.length).toBe(2 * (9 * curve.fqBytes + 6 * curve.frBytes));
    expect(await verify({ proof, witness: { Y: "35" } }, own.id)).toBe(true);
    expect(await verify({ proof, witness: { Y: "36" } }, own.id)).toBe(false);
    expect(
      await snarkjs.plonk.verify(verifyingKey, ours?.public_signals ?? [], ours?.proof as unknown as PlonkProofJson),
    ).toBe(true);

    const witness = { type: "mem" as const, data: new Uint8Array() };
    const program = Uint8Array.from(await artifact("circuit.wasm", own.id));
    await (await primeSnarkjs(curve.name)).wtns.calculate(INPUTS, program, witness);
    const theirs = await snarkjs.plonk.prove(zkey, witness);
    expect(await verify({ proof: theirs.proof, public_signals: theirs.publicSignals }, own.id)).toBe(true);
  });
});

describe("the gates of a PLONK key", () => {
  async function failureWith(change: (compute: LocalCompute) => Partial<LocalCompute>): Promise<Prover> {
    const compute = new LocalCompute();
    const other = await openTestRegistry({ compute: Object.assign(compute, change(compute)) });
    try {
      return await provision(other.provers, subject(), PLONK_CUBIC);
    } finally {
      await other.close();
    }
  }

  it("stop a key whose selectors, wires or points were changed", async () => {
    // From the file's end: a Lagrange point, a power, a selector, a wire.
    for (const fromEnd of [40, 64 * 12 + 5, 64 * 22 + 12, 64 * 22 + 4 * 5 * 5 + 12]) {
      const failed = await failureWith((compute) => {
        const inner = compute.setup.bind(compute);
        return {
          setup: async (input: SetupInput) => {
            const keys = await inner(input);
            if (!keys.ok) return keys;
            const provingKey = Uint8Array.from(keys.value.provingKey);
            provingKey[provingKey.length - fromEnd] = (provingKey.at(-fromEnd) ?? 0) ^ 1;
            return { ok: true, value: { ...keys.value, provingKey } };
          },
        };
      });
      expect(failed).toMatchObject({ status: "failed", errors: [{ code: "setup_gate_failed" }] });
    }
  });

  it("stop a verifying key of another circuit", async () => {
    const failed = await failureWith((compute) => {
      const inner = compute.setup.bind(compute);
      return {
        setup: async (input: SetupInput) => {
          const keys = await inner(input);
          if (!keys.ok) return keys;
          const json = JSON.parse(keys.value.verifyingKey) as Record<string, unknown>;
          return { ok: true, value: { ...keys.value, verifyingKey: JSON.stringify({ ...json, Ql: json.Qm }) } };
        },
      };
    });
    expect(failed.errors).toMatchObject([{ message: expect.stringContaining("verifying_key") as string }]);
  });

  it("stop a key whose reference string is another", async () => {
    const failed = await failureWith((compute) => {
      const inner = compute.gates.bind(compute);
      return {
        gates: async (input: GatesInput) => {
          const { referenceString } = input;
          if (referenceString === undefined) throw new Error("no string was given");
          const made = await compute.makeReferenceString({ curve: "BN254", power: 10 });
          const path = `${referenceString.path}.other`;
          writeFileSync(path, made.value);
          return await inner({ ...input, referenceString: { ...referenceString, path } });
        },
      };
    });
    expect(failed.errors).toMatchObject([{ message: expect.stringContaining("reference_string") as string }]);
  });
});

describe("a reference string's file", () => {
  it("is refused when it is cut, of another curve or no such file", async () => {
    const path = await test.artifacts.resolve(prover.setup?.sha256 ?? "");
    const whole = readFileSync(path);
    const refused = async (bytes: Buffer): Promise<unknown> => {
      const other = `${test.folder}/string.ptau`;
      writeFileSync(other, bytes);
      try {
        const string = openReferenceString({ path: other, sha256: "" });
        return [string.powersG1(2047), await string.lagrangeG1(10)].length;
      } catch (error) {
        return (error as Error).name;
      }
    };
    expect(await refused(whole)).toBe(2);
    for (const length of [0, 11, 40, 100, whole.length - 1])
      expect(await refused(whole.subarray(0, length))).toBe("ReferenceStringError");
    const at = (offset: number, value: number): Buffer => {
      const copy = Buffer.from(whole);
      copy[offset] = value;
      return copy;
    };
    for (const bytes of [at(0, 0), at(4, 9), at(8, 200), at(24, 48), at(30, 7), at(60, 0), at(60, 29), at(60, 11)])
      expect(await refused(bytes)).toBe("ReferenceStringError");
    expect(() => openReferenceString({ path, sha256: "" }).powersG1(2048)).toThrow(RangeError);
    await expect(openReferenceString({ path, sha256: "" }).lagrangeG1(11)).rejects.toThrow(RangeError);
  });
});
