/**
 * Helps the proofs whose teams it is sent, on a key that another thread made resident. Told to die, it dies inside the
 * team.
 */
import { parentPort, workerData } from "node:worker_threads";
import { ResidentProver } from "../../dist/src/engine/kernels/groth16/resident-prover.js";
import { BN254 } from "../../dist/src/engine/curves/bn254.js";
import { FflonkProver } from "../../dist/src/engine/kernels/fflonk/fflonk-prover.js";
import { PlonkProver } from "../../dist/src/engine/kernels/plonk/plonk-prover.js";
import { ThreadTeam } from "../../dist/src/engine/kernels/threads/thread-team.js";

const { key, scheme } = workerData;
const provers = {
  groth16: () => new ResidentProver(key),
  plonk: () => new PlonkProver(key, BN254),
  fflonk: () => new FflonkProver(key),
};
const prover = provers[scheme ?? "groth16"]();

parentPort.on("message", ({ team, dies }) => {
  if (dies) {
    if (new ThreadTeam(team).join() === undefined)
      throw new Error("the team was over before this thread could die in it");
    process.exit(9);
  }
  prover.help(team);
  parentPort.postMessage("helped");
});
parentPort.postMessage("ready");
