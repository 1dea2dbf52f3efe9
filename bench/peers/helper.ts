/** A thread that helps the proofs whose teams it is sent; started by bench/subjects/cores.ts. */
import { parentPort, workerData } from "node:worker_threads";
import { ResidentProver } from "../../src/engine/kernels/groth16/resident-prover.js";
import { takeChosenForm } from "../kernel-form.js";
import type { ResidentKey } from "../../src/engine/kernels/groth16/resident-key.js";

takeChosenForm();
const prover = new ResidentProver((workerData as { readonly key: ResidentKey }).key);
parentPort?.on("message", (team: SharedArrayBuffer) => {
  prover.help(team);
  parentPort?.postMessage("helped");
});
parentPort?.postMessage("ready");
