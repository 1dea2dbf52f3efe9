/** Files of snarkjs 0.7.6 pass the check, and it accepts ours: the oracle in both directions. */
import { beforeAll, describe, expect, it } from "vitest";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import { loadKernelPairing } from "../../../src/engine/kernels/pairing/pairing.js";
import { checkPowersOfTau } from "../../../src/engine/powers-of-tau/check-powers.js";
import { firstChallenge } from "../../../src/engine/powers-of-tau/ceremony-challenge.js";
import { rangeOfBytes } from "../../../src/engine/powers-of-tau/range-file.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { snarkjsPowersOfTau } from "../../support/powers-of-tau.js";
import type { SnarkjsCeremony } from "../../support/powers-of-tau.js";

const POWER = 3;

describe("powers-of-tau files and snarkjs", () => {
  const pairing = loadKernelPairing();
  let ceremony: SnarkjsCeremony;

  beforeAll(async () => {
    ceremony = await snarkjsPowersOfTau(POWER);
  });

  it("accepts a file with contributions and a beacon, before and after its preparation", async () => {
    for (const [bytes, isPrepared] of [
      [ceremony.contributed, false],
      [ceremony.prepared, true],
    ] as const) {
      const result = await checkPowersOfTau(rangeOfBytes(bytes), pairing);
      expect(result).toMatchObject({
        ok: true,
        value: { power: POWER, ceremonyPower: POWER, isPrepared, areContributionsChecked: true },
      });
      if (!result.ok) continue;
      expect(result.value.contributions.map(({ name, isBeacon }) => [name, isBeacon])).toEqual([
        ["first", false],
        ["second", false],
        ["the beacon", true],
      ]);
    }
  });

  it("names the response hashes that snarkjs prints", async () => {
    const result = await checkPowersOfTau(rangeOfBytes(ceremony.contributed), pairing);
    if (!result.ok) throw new Error(result.message);
    expect(result.value.contributions.map(({ responseHash }) => responseHash)).toEqual(
      ceremony.responseHashes.map((hash) => Buffer.from(hash).toString("hex")),
    );
  });

  it("makes files that snarkjs accepts", async () => {
    for (const isPrepared of [false, true]) {
      const file = await makePowersOfTau(POWER, { isPrepared });
      expect(await ceremony.verify(file)).toBe(true);
      expect((await checkPowersOfTau(rangeOfBytes(file), pairing)).ok).toBe(true);
    }
  });

  it("refuses a file without a contribution by name", async () => {
    expect(await checkPowersOfTau(rangeOfBytes(ceremony.started), pairing)).toMatchObject({
      ok: false,
      fault: "no_contribution",
    });
  });

  it("computes the first challenge that snarkjs' guide prints for 2^12", () => {
    // SOURCE: snarkjs README, "Start a new powers of tau ceremony".
    expect(Buffer.from(firstChallenge(BN254, 12) ?? []).toString("hex")).toBe(
      "9e63a5f62b96538daaed2372481920d1a40b91959ea38ef9f5f6a3033b8865160710d067c09d09615f928ea517bcdf49ad75abd2c8340b400e3b18e968b4ffef",
    );
  });
});
