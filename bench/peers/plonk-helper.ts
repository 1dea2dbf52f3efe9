/** A thread that helps the PLONK proofs whose teams it is sent; started by bench/subjects/plonk.ts. */
import { parentPort, workerData } from "node:worker_threads";
import { BN254 } from "../../src/engine/curves/bn254.js";
import type { ResidentPlonkKey } from "../../src/engine/kernels/plonk/plonk-key.js";
import { PlonkProver } from "../../src/engine/kernels/plonk/plonk-prover.js";

const prover = new PlonkProver((workerData as { readonly key: ResidentPlonkKey }).key, BN254);
parentPort?.on("message", (team: SharedArrayBuffer) => {
  prover.help(team);
  parentPort?.postMessage("helped");
});
parentPort?.postMessage("ready");
