/** Run by the build: emits the programs of all curves and writes them where `preparedProgram` finds them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { serialize } from "node:v8";
import { curveProgramName, emitCurveProgram } from "../backends/snarkjs.js";
import { inversionName } from "../circuit/routines/faster-program.js";
import { invertBody } from "../circuit/routines/field-routines.js";
import { BLS12_381 } from "../curves/bls12-381.js";
import { BN254 } from "../curves/bn254.js";
import { buildKernelModule, kernelModuleName } from "../kernels/kernel-module.js";
import { buildWideModule, wideModuleName } from "../kernels/wide/wide-module.js";
import { buildWidePairingModule, widePairingModuleName } from "../kernels/wide/wide-pairing-module.js";
import { PAIRING_PAGES } from "../kernels/pairing/pairing-memory.js";
import { buildPairingModule, pairingModuleName } from "../kernels/pairing/pairing-module.js";
import { pairingPlanOf } from "../kernels/pairing/pairing-plan.js";
import { buildPoseidonModule, poseidonModuleName } from "../kernels/poseidon/poseidon-module.js";

/** Writes all programs into a folder, which exists. About 3 s. */
export async function writePrograms(folder: string): Promise<void> {
  const write = (name: string, program: object): void => {
    writeFileSync(join(folder, name), serialize(program));
  };
  write(widePairingModuleName(BN254), buildWidePairingModule(pairingPlanOf(BN254), { pagesMax: PAIRING_PAGES }));
  for (const curve of [BN254, BLS12_381]) {
    write(curveProgramName(curve.name), await emitCurveProgram(curve.name));
    write(inversionName(curve.name), invertBody(curve.r));
    write(wideModuleName(curve), buildWideModule(curve));
    // A machine without fused multiply-add may run what another has built.
    for (const kind of ["fma", "integer"] as const) {
      write(kernelModuleName(curve, kind), buildKernelModule(curve, kind));
      write(
        pairingModuleName(curve, kind),
        buildPairingModule(pairingPlanOf(curve), { kind, pagesMax: PAIRING_PAGES }),
      );
      write(poseidonModuleName(curve, kind), buildPoseidonModule(curve, kind));
    }
  }
}
