/** A thread that helps the proofs whose teams it is sent, whatever their system; started by bench/peers/large-prover.ts. */
import { parentPort, workerData } from "node:worker_threads";
import type { SharedKey } from "../../src/engine/kernels/threads/shared-key.js";
import type { ProofSystemName } from "../../src/engine/proof-systems/names.js";
import { proofSystem } from "../../src/engine/proof-systems/table.js";

const { system, key } = workerData as { readonly system: ProofSystemName; readonly key: SharedKey };
const prover = proofSystem(system).openProver(key);
parentPort?.on("message", (team: SharedArrayBuffer) => {
  prover.help(team);
  parentPort?.postMessage("helped");
});
parentPort?.postMessage("ready");
