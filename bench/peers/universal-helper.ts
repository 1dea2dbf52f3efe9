/** A thread that helps the PLONK or FFLONK proofs whose teams it is sent; started by bench/universal.ts. */
import { parentPort, workerData } from "node:worker_threads";
import { BN254 } from "../../src/engine/curves/bn254.js";
import type { ResidentFflonkKey } from "../../src/engine/kernels/fflonk/fflonk-key.js";
import { FflonkProver } from "../../src/engine/kernels/fflonk/fflonk-prover.js";
import type { ResidentPlonkKey } from "../../src/engine/kernels/plonk/plonk-key.js";
import { PlonkProver } from "../../src/engine/kernels/plonk/plonk-prover.js";

const start = workerData as
  | { readonly scheme: "plonk"; readonly key: ResidentPlonkKey }
  | { readonly scheme: "fflonk"; readonly key: ResidentFflonkKey };
const prover = start.scheme === "plonk" ? new PlonkProver(start.key, BN254) : new FflonkProver(start.key);
parentPort?.on("message", (team: SharedArrayBuffer) => {
  prover.help(team);
  parentPort?.postMessage("helped");
});
parentPort?.postMessage("ready");
