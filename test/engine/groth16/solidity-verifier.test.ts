/**
 * The exported verifier contract, compiled and deployed on a real node: it and our verifier agree, on proofs that our
 * kernels made.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { negateG1 } from "../../../src/engine/curves/points.js";
import { groth16SolidityArguments } from "../../../src/engine/encoding/groth16-solidity.js";
import { solidityVerifier } from "../../../src/engine/encoding/groth16-verifying-key.js";
import type { Groth16Proof } from "../../../src/engine/groth16/proof.js";
import { readProvingKey } from "../../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../../src/engine/groth16/setup.js";
import { ResidentProver } from "../../../src/engine/kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "../../../src/engine/kernels/groth16/resident-proving.js";
import { startAnvil } from "../../support/anvil.js";
import type { Anvil } from "../../support/anvil.js";
import { chainFixture, cubicFixture } from "../../support/groth16-fixtures.js";
import { bigBelow } from "../../support/kernels.js";
import { seededRandom } from "../../support/seeded.js";
import { deployVerifier } from "../../support/verifier-contract.js";

const random = seededRandom();
/** The template answers false, and does not revert, when it runs out of gas: an estimate would find too little. */
const GAS = 500_000n;
let anvil: Anvil;

beforeAll(async () => {
  anvil = await startAnvil();
});
afterAll(async () => {
  await anvil.stop();
});

async function deploy(
  source: string,
): Promise<{ verify: (proof: Groth16Proof, signals: readonly bigint[]) => Promise<boolean> }> {
  const call = await deployVerifier(anvil, source, GAS);
  return {
    verify: async (proof, signals) => {
      const { a, b, c, input } = groth16SolidityArguments(proof, signals);
      return await call([a, b, c, input]);
    },
  };
}

describe.each([
  ["cubic", cubicFixture(3n)],
  ["a chain of 200 constraints", chainFixture(200)],
])("the Solidity verifier of %s, seed " + String(random.seed), (_name, fixture) => {
  it("accepts proofs of our kernels and rejects changed proofs and signals", async () => {
    const { zkey, verifyingKey } = await setupGroth16(fixture.r1cs);
    const { verify } = await deploy(await solidityVerifier(verifyingKey));
    const prover = new ResidentProver(makeKeyResident(readProvingKey(zkey), { workspaces: 1 }));
    const prove = (): Groth16Proof =>
      proveResident(prover, fixture.witness, {
        r: 1n + bigBelow(random, BN254.r - 1n),
        s: 1n + bigBelow(random, BN254.r - 1n),
      });
    const [proof, other] = [prove(), prove()];
    const { publicSignals } = fixture;
    expect(await verify(proof, publicSignals)).toBe(true);
    expect(await verify(other, publicSignals)).toBe(true);
    const wrongProofs = [
      { ...proof, a: other.a },
      { ...proof, b: other.b },
      { ...proof, c: other.c },
      { ...proof, a: negateG1(proof.a, BN254) },
      { ...proof, a: proof.c, c: proof.a },
    ];
    for (const wrong of wrongProofs) expect(await verify(wrong, publicSignals)).toBe(false);
    for (let i = 0; i < publicSignals.length; i += 1) {
      const signal = publicSignals[i]!;
      expect(await verify(proof, publicSignals.with(i, signal ^ 1n))).toBe(false);
      // The same residue, not reduced: a contract that took it would let one proof count twice.
      expect(await verify(proof, publicSignals.with(i, signal + BN254.r))).toBe(false);
    }
  });
});
