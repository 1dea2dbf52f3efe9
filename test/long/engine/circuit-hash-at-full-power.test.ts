/**
 * The circuit's hash of a key from a powers-of-tau file of exactly its domain's power: from 2^15 on snarkjs hashes one
 * power that the file has not got, whatever bytes stand there, and names every later contribution after it.
 */
import { expect, it } from "vitest";
import { largeCircuit } from "../../../bench/large-circuit.js";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import { primeSnarkjs } from "../../../src/engine/backends/snarkjs.js";
import { readR1cs } from "../../../src/engine/circuit/r1cs.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { makePhase1Key } from "../../../src/engine/groth16/phases/phase1.js";
import { openPowersOfTau } from "../../../src/engine/powers-of-tau/lagrange-points.js";
import { rangeOfBytes } from "../../../src/engine/powers-of-tau/range-file.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { memoryFile } from "../../support/ceremonies.js";
import type { SnarkjsZkey } from "../../support/ceremonies.js";

const POWER = 15;
/** Rows of a domain that the public signals take. */
const PUBLIC_ROWS = 8;

it("is the one that snarkjs computes", async () => {
  const { r1cs } = largeCircuit(2 ** POWER - PUBLIC_ROWS);
  const powers = await makePowersOfTau(POWER, { isPrepared: true });
  const snarkjs = (await primeSnarkjs()).zKey as unknown as SnarkjsZkey;
  const theirs = await snarkjs.newZKey(memoryFile(r1cs), memoryFile(powers), memoryFile());
  const ours = await makePhase1Key(
    await loadReferenceKernels(BN254),
    readR1cs(r1cs),
    openPowersOfTau(rangeOfBytes(powers)),
  );
  expect(Buffer.from(ours.circuitHash).toString("hex")).toBe(Buffer.from(theirs).toString("hex"));
});
