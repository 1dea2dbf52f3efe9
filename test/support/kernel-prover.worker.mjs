/**
 * Proves on a key that another thread made resident, as often as asked, and posts the proofs. The first proof leads the
 * team, if there is one.
 */
import { parentPort, workerData } from "node:worker_threads";
import { ResidentProver } from "../../dist/src/engine/kernels/groth16/resident-prover.js";
import { proveResident } from "../../dist/src/engine/kernels/groth16/resident-proving.js";

const { key, witness, count, team } = workerData;
const prover = new ResidentProver(key);
const proofs = [];
for (let i = 0; i < count; i += 1)
  proofs.push(proveResident(prover, witness, { r: BigInt(i) + 1n, s: BigInt(i) + 2n }, i === 0 ? team : undefined));
parentPort.postMessage(proofs);
