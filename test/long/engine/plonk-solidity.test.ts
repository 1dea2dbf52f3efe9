/** The exported verifier contract of PLONK on a real node: it and our verifier agree, and it takes no alias. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { primeSnarkjs, readSolidityTemplate } from "../../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { plonkSolidityArguments, plonkSolidityVerifier } from "../../../src/engine/encoding/plonk-solidity.js";
import { buildPlonkKey } from "../../../src/engine/kernels/plonk/build-plonk-key.js";
import { PlonkProver } from "../../../src/engine/kernels/plonk/plonk-prover.js";
import { makeDevelopmentSetup } from "../../../src/engine/plonk/development-setup.js";
import { domainPowerOf } from "../../../src/engine/plonk/key.js";
import type { PlonkProof } from "../../../src/engine/plonk/key.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import { PlonkTranscript } from "../../../src/engine/plonk/transcript.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { startAnvil } from "../../support/anvil.js";
import type { Anvil } from "../../support/anvil.js";
import { chainFixture, cubicFixture } from "../../support/groth16-fixtures.js";
import type { Fixture } from "../../support/groth16-fixtures.js";
import { plonkBlinding, snarkjsKey, snarkjsPlonk } from "../../support/plonk-fixtures.js";
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
  const gates = gatesOf(fixture.r1cs);
  const domainPower = domainPowerOf(gates.gateCount);
  const points = await makeDevelopmentSetup(await loadReferenceKernels(), domainPower);
  const key = buildPlonkKey(gates, points, { curve: BN254, workspaces: 1 });
  const prover = new PlonkProver(key, BN254);
  return {
    setup: { curve: BN254, points, domainPower },
    verifyingKey: key.verifyingKey,
    prove: (): PlonkProof => prover.prove(fixture.witness, plonkBlinding()).proof,
  };
}

async function deploy(source: string): Promise<(proof: PlonkProof, signals: readonly bigint[]) => Promise<boolean>> {
  const call = await deployVerifier(anvil, source, GAS);
  return async (made, signals) => {
    const { proof, input } = plonkSolidityArguments(made, signals);
    return await call([proof, input]);
  };
}

describe.each([
  ["cubic", cubicFixture(3n)],
  ["a chain of 200 constraints", chainFixture(200)],
])("the Solidity verifier of PLONK, %s", (_name, fixture) => {
  it("accepts proofs of our kernels and rejects changed proofs and signals", async () => {
    const { verifyingKey, prove } = await setUp(fixture);
    const verify = await deploy(await plonkSolidityVerifier(verifyingKey, BN254));
    const { publicSignals } = fixture;
    const [proof, other] = [prove(), prove()];
    expect(await verify(proof, publicSignals)).toBe(true);
    expect(await verify(other, publicSignals)).toBe(true);
    for (const name of ["a", "z", "t3", "wXi", "wXiOmega"] as const)
      expect(await verify({ ...proof, [name]: other[name] }, publicSignals)).toBe(false);
    const { evaluations } = proof;
    for (const zOmega of [evaluations.zOmega ^ 1n, evaluations.zOmega + BN254.r])
      expect(await verify({ ...proof, evaluations: { ...evaluations, zOmega } }, publicSignals)).toBe(false);
    for (const [i, signal] of publicSignals.entries())
      for (const wrong of [signal ^ 1n, signal + BN254.r])
        expect(await verify(proof, publicSignals.with(i, wrong))).toBe(false);
  });
});

it("refuses a proof that was made for a public signal and the field's order, which snarkjs' contract takes", async () => {
  const fixture = cubicFixture(3n);
  const { verifyingKey, prove, setup } = await setUp(fixture);
  const original = Object.getOwnPropertyDescriptor(PlonkTranscript.prototype, "betaGamma")
    ?.value as PlonkTranscript["betaGamma"];
  vi.spyOn(PlonkTranscript.prototype, "betaGamma").mockImplementation(function (
    this: PlonkTranscript,
    key,
    signals,
    wires,
  ) {
    return original.call(
      this,
      key,
      signals.map((signal) => signal + BN254.r),
      wires,
    );
  });
  const aliased = fixture.publicSignals.map((signal) => signal + BN254.r);
  const proof = prove();
  const { zkey } = await snarkjsKey(await snarkjsPlonk(), fixture, setup);
  const theirs = await (
    await primeSnarkjs()
  ).zKey.exportSolidityVerifier(zkey.data ?? new Uint8Array(), { plonk: await readSolidityTemplate("plonk") });
  expect(await (await deploy(theirs))(proof, aliased)).toBe(true);
  expect(await (await deploy(await plonkSolidityVerifier(verifyingKey, BN254)))(proof, aliased)).toBe(false);
});
