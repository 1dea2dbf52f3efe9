/** The exported verifier contract of FFLONK on a real node: it and our verifier agree, and it takes no alias. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { primeSnarkjs, readSolidityTemplate } from "../../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { fflonkSolidityArguments, fflonkSolidityVerifier } from "../../../src/engine/encoding/fflonk-solidity.js";
import { fflonkDomainPowerOf, fflonkPowerCount } from "../../../src/engine/fflonk/fflonk-values.js";
import type { FflonkProof } from "../../../src/engine/fflonk/fflonk-values.js";
import { verifierFile } from "../../../src/engine/fflonk/fflonk-zkey-layout.js";
import { buildFflonkKey } from "../../../src/engine/kernels/fflonk/build-fflonk-key.js";
import { FflonkMemory } from "../../../src/engine/kernels/fflonk/fflonk-context.js";
import { FflonkProver } from "../../../src/engine/kernels/fflonk/fflonk-prover.js";
import { makeDevelopmentPowers } from "../../../src/engine/plonk/development-setup.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { startAnvil } from "../../support/anvil.js";
import type { Anvil } from "../../support/anvil.js";
import { fflonkBlinding } from "../../support/fflonk-fixtures.js";
import { chainFixture, cubicFixture } from "../../support/groth16-fixtures.js";
import type { Fixture } from "../../support/groth16-fixtures.js";
import { deployVerifier } from "../../support/verifier-contract.js";

const GAS = 1_000_000n;
let anvil: Anvil;

beforeAll(async () => {
  anvil = await startAnvil();
});
afterAll(async () => {
  await anvil.stop();
});
afterEach(() => {
  vi.restoreAllMocks();
});

async function setUp(fixture: Fixture) {
  const gates = gatesOf(fixture.r1cs, { dropsZeroTerms: true });
  const count = fflonkPowerCount(fflonkDomainPowerOf(gates.gateCount));
  const points = await makeDevelopmentPowers(await loadReferenceKernels(), count);
  const key = buildFflonkKey(gates, points, { workspaces: 1 });
  const prover = new FflonkProver(key);
  return {
    verifyingKey: key.verifyingKey,
    prove: (): FflonkProof => prover.prove(fixture.witness, fflonkBlinding()).proof,
  };
}

async function deploy(source: string): Promise<(proof: FflonkProof, signals: readonly bigint[]) => Promise<boolean>> {
  const call = await deployVerifier(anvil, source, GAS);
  return async (made, signals) => {
    const { proof, input } = fflonkSolidityArguments(made, signals);
    return await call([proof, input]);
  };
}

const cubic = cubicFixture(3n);

describe.each([
  ["cubic", cubic],
  ["a chain with two public signals", chainFixture(20)],
  ["no public signal", { ...cubic, r1cs: { ...cubic.r1cs, publicInputCount: 0 }, publicSignals: [] }],
])("the Solidity verifier of FFLONK, %s", (_name, fixture) => {
  it("accepts proofs of our kernels and rejects changed proofs and signals", async () => {
    const { verifyingKey, prove } = await setUp(fixture);
    const verify = await deploy(await fflonkSolidityVerifier(verifyingKey));
    const { publicSignals } = fixture;
    const [proof, other] = [prove(), prove()];
    expect(await verify(proof, publicSignals)).toBe(true);
    expect(await verify(other, publicSignals)).toBe(true);
    for (const name of ["c1", "c2", "w1", "w2", "inverse"] as const)
      expect(await verify({ ...proof, [name]: other[name] }, publicSignals)).toBe(false);
    const { evaluations } = proof;
    for (const t2Omega of [evaluations.t2Omega ^ 1n, evaluations.t2Omega + BN254.r])
      expect(await verify({ ...proof, evaluations: { ...evaluations, t2Omega } }, publicSignals)).toBe(false);
    for (const [i, signal] of publicSignals.entries())
      for (const wrong of [signal ^ 1n, signal + BN254.r])
        expect(await verify(proof, publicSignals.with(i, wrong))).toBe(false);
  });
});

it("refuses a proof that was made for a public signal and the field's order, which snarkjs' contract takes", async () => {
  const { verifyingKey, prove } = await setUp(cubic);
  const original = Object.getOwnPropertyDescriptor(FflonkMemory.prototype, "publicSignals")
    ?.value as FflonkMemory["publicSignals"];
  vi.spyOn(FflonkMemory.prototype, "publicSignals").mockImplementation(function (this: FflonkMemory, count) {
    return original.call(this, count).map((signal) => signal + BN254.r);
  });
  const aliased = cubic.publicSignals.map((signal) => signal + BN254.r);
  const proof = prove();
  const theirs = await (
    await primeSnarkjs()
  ).zKey.exportSolidityVerifier(verifierFile(verifyingKey), { fflonk: await readSolidityTemplate("fflonk") });
  expect(await (await deploy(theirs))(proof, aliased)).toBe(true);
  expect(await (await deploy(await fflonkSolidityVerifier(verifyingKey)))(proof, aliased)).toBe(false);
});
