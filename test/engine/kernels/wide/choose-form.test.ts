import { describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import type { CurveParameters } from "../../../../src/engine/curves/curve-parameters.js";
import { WIDE_CURVES, chooseWideForm, isTriedHost } from "../../../../src/engine/kernels/wide/choose-form.js";
import { makeWideForm, tryWideForms } from "../../../../src/engine/kernels/wide/try-form.js";
import type { FormFinding } from "../../../../src/engine/kernels/wide/try-form.js";
import type { WideKind } from "../../../../src/engine/kernels/wide/wide-form.js";
import { KERNEL_KINDS, bigBelow } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";
import { WIDE_KERNELS, spoiledModule, spoiledPairing, wideKernelsOf } from "../../../support/wide.js";

const random = seededRandom();
const module = new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
const TRIED = "26.10.0";
const BOTH = [BN254.name, BLS12_381.name];

/** What was found of a curve's module that tried one kernel; without a speedup it was wrong. */
function finding(
  curve: CurveParameters,
  kernel: string,
  speedup: number | undefined,
  kind: WideKind = "kernels",
): FormFinding {
  const kernels = speedup !== undefined && speedup > 1.1 ? [kernel] : [];
  return {
    form: { curve: curve.name, kind, module, kernels },
    findings: [{ curve: curve.name, kernel, isRight: speedup !== undefined, speedup }],
  };
}

const GOOD = [finding(BN254, "g1_add_batch", 1.7), finding(BLS12_381, "g1_add_batch", 1.3)];

/** What a choice comes to, and what it tried. */
async function choice(
  mode: "auto" | "on" | "off",
  version: string,
  { child = undefined as string | undefined, here = GOOD, arch = "x64" } = {},
): Promise<{ readonly wide: readonly string[]; readonly reason: string; readonly tried: readonly string[] }> {
  const tried: string[] = [];
  const { forms, reason } = await chooseWideForm({
    mode,
    host: { version, arch },
    random: (limit) => bigBelow(random, limit),
    now: () => 0,
    tryInChild: () => {
      tried.push("child");
      return Promise.resolve(child);
    },
    tryHere: () => {
      tried.push("here");
      return here;
    },
  });
  return { wide: forms?.forms.map(({ curve }) => curve) ?? [], reason, tried };
}

describe("the choice of the form", () => {
  it("tries nothing where it is switched off, or the line of Node was not tried", async () => {
    expect(await choice("off", TRIED)).toMatchObject({ wide: [], tried: [] });
    for (const version of ["20.20.2", "22.23.0", "25.1.0", "28.0.0"])
      expect(await choice("auto", version)).toMatchObject({ wide: [], tried: [] });
    expect(await choice("auto", TRIED, { arch: "arm64" })).toMatchObject({
      wide: [],
      reason: "V8 has four lanes on x64 alone",
      tried: [],
    });
    for (const version of ["24.21.0", "26.0.0"])
      expect(["x64", "arm64"].map((arch) => isTriedHost({ version, arch }))).toEqual([true, false]);
  });
});

/** Nothing is tried on a machine without fused multiply-add. */
const FUSED = KERNEL_KINDS.filter((kind) => kind === "fma");

describe.each(FUSED)("the choice of the form, %s, seed " + String(random.seed), () => {
  it("takes a form that is right and faster, on a version that was tried", async () => {
    expect(await choice("auto", TRIED)).toMatchObject({ wide: BOTH, tried: ["here"] });
    expect(await choice("on", TRIED)).toMatchObject({ wide: BOTH, tried: ["here"] });
  });

  it("tries another version in a process of its own first, and stays with two lanes when that fails", async () => {
    for (const [mode, version] of [
      ["auto", "26.99.0"],
      ["on", "28.0.0"],
      ["on", "20.20.2"],
    ] as const) {
      expect(await choice(mode, version)).toMatchObject({ wide: BOTH, tried: ["child", "here"] });
      const failed = await choice(mode, version, { child: "the task ended without an answer" });
      expect(failed).toMatchObject({ wide: [], tried: ["child"] });
      expect(failed.reason).toContain("the task ended without an answer");
    }
  });

  it("stays with two lanes for the kernels of both curves when one of one was wrong, and says which", async () => {
    const refused = await choice("auto", TRIED, { here: [...GOOD, finding(BLS12_381, "fr_dit_run", undefined)] });
    expect(refused.wide).toEqual([]);
    expect(refused.reason).toContain("fr_dit_run of BLS12_381");
    const pairing = await choice("auto", TRIED, { here: [...GOOD, finding(BN254, "gt_mul", undefined, "pairing")] });
    expect(pairing).toMatchObject({ wide: [], reason: expect.stringContaining("gt_mul of BN254") as string });
  });

  it("stays with two lanes where four are not faster, for that kernel alone", async () => {
    const slow = finding(BLS12_381, "g1_add_batch", 1);
    const half = await choice("auto", TRIED, { here: [GOOD[0]!, slow] });
    expect(half.wide).toEqual(["BN254"]);
    expect(half.reason).toContain("1 of 1 kernels of BN254, 0 of 1 kernels of BLS12_381");
    const paired = await choice("auto", TRIED, { here: [finding(BN254, "gt_mul", 1.5, "pairing"), slow] });
    expect(paired.wide).toEqual(["BN254"]);
    expect(paired.reason).toContain("1 of 1 kernels of BN254's pairing, 0 of 1");
    expect(await choice("auto", TRIED, { here: [slow] })).toMatchObject({
      wide: [],
      reason: "four lanes are not faster on this CPU",
    });
  });

  it("finds the kernels that an engine computes wrongly in one lane, and has the flag on for no longer than it tries", () => {
    const flags: string[] = [];
    const found = tryWideForms({
      curves: WIDE_CURVES,
      random: (limit) => bigBelow(random, limit),
      now: () => performance.now(),
      setFlag: (flag) => {
        flags.push(flag);
      },
      modulesOf: (curve) =>
        curve === BLS12_381 ? { kernels: spoiledModule(curve) } : { pairing: spoiledPairing(curve) },
    });
    expect(flags).toEqual(["--experimental-wasm-revectorize", "--no-experimental-wasm-revectorize"]);
    const whole = ["g1_add_batch", "g2_add_batch", "g1_lane_accumulate", "fq_root_powers"];
    const isRight = (curve: CurveParameters, kernel: string): boolean =>
      whole.includes(kernel) || (curve === BN254 && WIDE_KERNELS.some((sound) => sound === kernel));
    expect(found.flatMap(({ findings }) => findings)).toMatchObject(
      WIDE_CURVES.flatMap((curve) =>
        wideKernelsOf(curve).map((kernel) => ({ curve: curve.name, kernel, isRight: isRight(curve, kernel) })),
      ),
    );
    expect(found.map(({ form: { curve, kind } }) => [curve, kind])).toEqual([
      ["BN254", "kernels"],
      ["BN254", "pairing"],
      ["BLS12_381", "kernels"],
    ]);
    for (const { form } of found.slice(1))
      expect(
        form.kernels.filter((kernel) => !whole.includes(kernel)),
        form.kind,
      ).toEqual([]);
  });

  it("makes what another process has found faster, and nothing of it when a kernel is wrong here", () => {
    const options = {
      random: (limit: bigint) => bigBelow(random, limit),
      now: () => performance.now(),
      setFlag: () => undefined,
    };
    const kernels = ["g1_add_batch", "fr_mul_blocks"];
    const form = makeWideForm({ curve: BLS12_381, kernels }, options);
    expect(form).toMatchObject({ curve: BLS12_381.name, kind: "kernels", kernels });
    const spoiled = {
      ...options,
      modulesOf: (curve: CurveParameters) => ({ kernels: spoiledModule(curve), pairing: spoiledPairing(curve) }),
    };
    expect(makeWideForm({ curve: BN254, kernels }, spoiled)).toBeUndefined();
    // The kernels that it does not take are not tried.
    expect(makeWideForm({ curve: BN254, kernels: ["g1_add_batch"] }, spoiled)).toBeDefined();
  });
});
