import { beforeAll, describe, expect, it } from "vitest";
import { primeSnarkjs, readSolidityTemplate } from "../../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import type { CurveKernels } from "../../../src/engine/curves/curve-kernels.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import {
  decodeVerifyingKeyBytes,
  encodeVerifyingKeyBytes,
  solidityVerifier,
  verifyingKeyFromJson,
  verifyingKeyToJson,
} from "../../../src/engine/encoding/groth16-verifying-key.js";
import { setupGroth16 } from "../../../src/engine/groth16/setup.js";
import type { SetupResult } from "../../../src/engine/groth16/setup.js";
import { chainFixture, seededRandom } from "../../support/groth16-fixtures.js";

describe("Groth16 verifying keys", () => {
  let kernels: CurveKernels, setup: SetupResult;
  beforeAll(async () => {
    kernels = await loadReferenceKernels();
    setup = await setupGroth16(chainFixture(5).r1cs);
  });

  it("round-trip through JSON and bytes", () => {
    const key = setup.verifyingKey;
    expect(verifyingKeyFromJson(JSON.parse(JSON.stringify(verifyingKeyToJson(key, kernels))), kernels)).toEqual({
      ok: true,
      value: key,
    });
    const bytes = encodeVerifyingKeyBytes(key, BN254);
    expect(bytes.length).toBe(32 + 3 * 64 + 4 + 3 * 32);
    expect(decodeVerifyingKeyBytes(bytes, kernels)).toEqual({ ok: true, value: key });
  });

  it("keep an infinite IC point apart from every finite one", () => {
    const key = { ...setup.verifyingKey, ic: [setup.verifyingKey.ic[0], undefined, setup.verifyingKey.ic[2]] };
    expect(decodeVerifyingKeyBytes(encodeVerifyingKeyBytes(key, BN254), kernels)).toEqual({ ok: true, value: key });
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

  it("are refused when bytes are missing, added or flipped into no point", () => {
    const bytes = encodeVerifyingKeyBytes(setup.verifyingKey, BN254);
    for (let length = 0; length < bytes.length; length += 7)
      expect(decodeVerifyingKeyBytes(bytes.subarray(0, length), kernels)).toMatchObject({ ok: false });
    expect(decodeVerifyingKeyBytes(Buffer.concat([bytes, Uint8Array.of(0)]), kernels)).toMatchObject({ ok: false });
    const random = seededRandom("verifying key");
    for (let i = 0; i < 200; i += 1) {
      const flipped = Uint8Array.from(bytes);
      flipped[random.integer(bytes.length)]! ^= 1 << random.integer(8);
      const decoded = decodeVerifyingKeyBytes(flipped, kernels);
      // A flip either breaks the encoding or names another key; it is never a second spelling of this one.
      if (decoded.ok) expect(decoded.value).not.toEqual(setup.verifyingKey);
    }
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
