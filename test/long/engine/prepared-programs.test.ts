import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { deserialize } from "node:v8";
import { describe, expect, it } from "vitest";
import { curveProgramName, emitCurveProgram } from "../../../src/engine/backends/snarkjs.js";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { buildKernelModule, kernelModuleName } from "../../../src/engine/kernels/kernel-module.js";
import { PAIRING_PAGES } from "../../../src/engine/kernels/pairing/pairing-memory.js";
import { buildPairingModule, pairingModuleName } from "../../../src/engine/kernels/pairing/pairing-module.js";
import { pairingPlanOf } from "../../../src/engine/kernels/pairing/pairing-plan.js";
import { buildPoseidonModule, poseidonModuleName } from "../../../src/engine/kernels/poseidon/poseidon-module.js";
import { buildWideModule, wideModuleName } from "../../../src/engine/kernels/wide/wide-module.js";
import { buildWidePairingModule, widePairingModuleName } from "../../../src/engine/kernels/wide/wide-pairing-module.js";
import { preparedProgram } from "../../../src/engine/prepared/prepared-programs.js";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";

const PREPARED = join(PACKAGE_ROOT, "dist/prepared");

describe("prepared programs", () => {
  const folders = readdirSync(PREPARED).filter((name) => /^[0-9a-f]{16}$/.test(name));

  it("are those of one build, which the joined programs name", () => {
    expect(folders).toHaveLength(1);
    const chunks = join(PACKAGE_ROOT, "dist/chunks");
    const texts = readdirSync(chunks)
      .filter((name) => name.endsWith(".js"))
      .map((name) => readFileSync(join(chunks, name), "utf8"));
    expect(texts.some((text) => text.includes(`../prepared/${folders[0]!}`))).toBe(true);
  });

  it.each([
    [kernelModuleName(BN254, "fma"), () => buildKernelModule(BN254, "fma")],
    [
      pairingModuleName(BN254, "fma"),
      () => buildPairingModule(pairingPlanOf(BN254), { kind: "fma", pagesMax: PAIRING_PAGES }),
    ],
    [poseidonModuleName(BN254, "fma"), () => buildPoseidonModule(BN254, "fma")],
    [wideModuleName(BN254), () => buildWideModule(BN254)],
    [wideModuleName(BLS12_381), () => buildWideModule(BLS12_381)],
    [widePairingModuleName(BN254), () => buildWidePairingModule(pairingPlanOf(BN254), { pagesMax: PAIRING_PAGES })],
    [curveProgramName("BN254"), async () => await emitCurveProgram("BN254")],
  ])("%s is what this code emits, layout and all", async (name, emit) => {
    const prepared: unknown = deserialize(readFileSync(join(PREPARED, folders[0]!, name)));
    const emitted: unknown = structuredClone(await emit());
    expect(prepared).toEqual(emitted);
  });

  it("are not looked for by code that the build did not join", () => {
    expect(preparedProgram(kernelModuleName(BN254, "fma"))).toBeUndefined();
  });
});
