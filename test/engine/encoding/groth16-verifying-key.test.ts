import { beforeAll, describe, expect, it } from "vitest";
import { primeSnarkjs, readSolidityTemplate } from "../../../src/engine/backends/snarkjs.js";
import type { CurveKernels } from "../../../src/engine/curves/curve-kernels.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import {
  solidityVerifier,
  verifyingKeyFromJson,
  verifyingKeyToJson,
} from "../../../src/engine/encoding/groth16-verifying-key.js";
import { setupGroth16 } from "../../../src/engine/groth16/setup.js";
import type { SetupResult } from "../../../src/engine/groth16/setup.js";
import { chainFixture } from "../../support/groth16-fixtures.js";

describe("Groth16 verifying keys", () => {
  let kernels: CurveKernels, setup: SetupResult;
  beforeAll(async () => {
    kernels = await loadReferenceKernels();
    setup = await setupGroth16(chainFixture(5).r1cs);
  });

  it("round-trip through JSON", () => {
    const key = setup.verifyingKey;
    expect(verifyingKeyFromJson(JSON.parse(JSON.stringify(verifyingKeyToJson(key, kernels))), kernels)).toEqual({
      ok: true,
      value: key,
    });
  });

  it("keep an infinite IC point apart from every finite one", () => {
    const key = { ...setup.verifyingKey, ic: [setup.verifyingKey.ic[0], undefined, setup.verifyingKey.ic[2]] };
    expect(verifyingKeyFromJson(verifyingKeyToJson(key, kernels), kernels)).toEqual({ ok: true, value: key });
  });

  it("are refused when anything in the JSON is off", () => {
    const good = verifyingKeyToJson(setup.verifyingKey, kernels);
    const bad: unknown[] = [
      null,
      [],
      { ...good, protocol: "plonk" },
      { ...good, curve: "bls12381" },
      { ...good, nPublic: 3 },
      { ...good, nPublic: "2" },
      { ...good, nPublic: -1 },
      { ...good, nPublic: 1.5 },
      { ...good, nPublic: 1e9 },
      { ...good, IC: good.IC.slice(1) },
      { ...good, IC: [...good.IC, good.IC[0]] },
      { ...good, IC: good.IC.with(0, ["1", "1", "1"]) },
      { ...good, vk_alpha_1: ["0", "1", "0"] },
      { ...good, vk_gamma_2: good.vk_alpha_1 },
      {
        ...good,
        vk_delta_2: [
          ["1", "0"],
          ["1", "0"],
          ["1", "0"],
        ],
      },
      { ...good, unknown: 1 },
    ];
    for (const value of bad) expect(verifyingKeyFromJson(value, kernels)).toMatchObject({ ok: false });
  });

  it("give the Solidity contract that snarkjs exports from the whole proving key", async () => {
    const snarkjs = await primeSnarkjs();
    const contract = await solidityVerifier(setup.verifyingKey);
    expect(contract).toBe(
      await snarkjs.zKey.exportSolidityVerifier(Uint8Array.from(setup.zkey), {
        groth16: await readSolidityTemplate("groth16"),
      }),
    );
    expect(contract).toContain("contract Groth16Verifier");
    expect(contract).toContain(setup.verifyingKey.alphaG1.x.toString());
  });
});
