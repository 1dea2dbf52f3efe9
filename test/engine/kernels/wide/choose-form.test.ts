import { describe, expect, it } from "vitest";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { chooseWideForm, isTriedLine } from "../../../../src/engine/kernels/wide/choose-form.js";
import { tryWideForm } from "../../../../src/engine/kernels/wide/try-form.js";
import type { FormFinding, KernelFinding } from "../../../../src/engine/kernels/wide/try-form.js";
import { KERNEL_KINDS, bigBelow } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";
import { WIDE_KERNELS, WIDE_PAIRING_KERNELS, spoiledModule, spoiledPairing } from "../../../support/wide.js";

const random = seededRandom();
const module = new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
const TRIED = "26.10.0";

function finding(findings: readonly KernelFinding[], kernels: readonly string[]): FormFinding {
  return { forms: [{ curve: "BN254", kind: "kernels", module, kernels }], findings };
}

const GOOD = finding([{ kernel: "g1_add_batch", isRight: true, speedup: 1.7 }], ["g1_add_batch"]);

/** What a choice comes to, and what it tried. */
async function choice(
  mode: "auto" | "on" | "off",
  version: string,
  { child = undefined as string | undefined, here = (): FormFinding => GOOD } = {},
): Promise<{ readonly isWide: boolean; readonly reason: string; readonly tried: readonly string[] }> {
  const tried: string[] = [];
  const { forms, reason } = await chooseWideForm({
    mode,
    version,
    random: (limit) => bigBelow(random, limit),
    now: () => 0,
    tryInChild: () => {
      tried.push("child");
      return Promise.resolve(child);
    },
    tryHere: () => {
      tried.push("here");
      return here();
    },
  });
  return { isWide: forms !== undefined, reason, tried };
}

describe("the choice of the form", () => {
  it("tries nothing where it is switched off, or the line of Node was not tried", async () => {
    expect(await choice("off", TRIED)).toMatchObject({ isWide: false, tried: [] });
    for (const version of ["20.20.2", "22.23.0", "25.1.0", "28.0.0"])
      expect(await choice("auto", version)).toMatchObject({ isWide: false, tried: [] });
    expect(["24.21.0", "26.0.0"].map(isTriedLine)).toEqual([true, true]);
  });
});

/** Nothing is tried on a machine without fused multiply-add. */
const FUSED = KERNEL_KINDS.filter((kind) => kind === "fma");

describe.each(FUSED)("the choice of the form, %s, seed " + String(random.seed), () => {
  it("takes a form that is right and faster, on a version that was tried", async () => {
    expect(await choice("auto", TRIED)).toMatchObject({ isWide: true, tried: ["here"] });
    expect(await choice("on", TRIED)).toMatchObject({ isWide: true, tried: ["here"] });
  });

  it("tries another version in a process of its own first, and stays with two lanes when that fails", async () => {
    for (const [mode, version] of [
      ["auto", "26.99.0"],
      ["on", "28.0.0"],
      ["on", "20.20.2"],
    ] as const) {
      expect(await choice(mode, version)).toMatchObject({ isWide: true, tried: ["child", "here"] });
      const failed = await choice(mode, version, { child: "the task ended without an answer" });
      expect(failed).toMatchObject({ isWide: false, tried: ["child"] });
      expect(failed.reason).toContain("the task ended without an answer");
    }
  });

  it("stays with two lanes for all kernels when one was wrong, and says which", async () => {
    const wrong = { kernel: "fr_dit_run", isRight: false, speedup: undefined };
    const spoiled = finding([...GOOD.findings, wrong], ["g1_add_batch"]);
    const refused = await choice("auto", TRIED, { here: () => spoiled });
    expect(refused.isWide).toBe(false);
    expect(refused.reason).toContain("fr_dit_run");
  });

  it("stays with two lanes where four are not faster", async () => {
    const slow = finding([{ kernel: "g1_add_batch", isRight: true, speedup: 1 }], []);
    expect(await choice("auto", TRIED, { here: () => slow })).toMatchObject({
      isWide: false,
      reason: "four lanes are not faster on this CPU",
    });
  });

  it("finds the kernels that an engine computes wrongly in one lane, and has the flag on for no longer than it tries", () => {
    const flags: string[] = [];
    const { forms, findings } = tryWideForm({
      curve: BN254,
      random: (limit) => bigBelow(random, limit),
      now: () => performance.now(),
      setFlag: (flag) => {
        flags.push(flag);
      },
      modules: { kernels: spoiledModule(), pairing: spoiledPairing() },
    });
    expect(flags).toEqual(["--experimental-wasm-revectorize", "--no-experimental-wasm-revectorize"]);
    const right = ["g1_add_batch", "g2_add_batch", "g1_lane_accumulate", "fq_root_powers"];
    expect(findings.map(({ kernel, isRight }) => [kernel, isRight])).toEqual(
      [...WIDE_KERNELS, ...WIDE_PAIRING_KERNELS].map((kernel) => [kernel, right.includes(kernel)]),
    );
    expect(forms.map(({ kind }) => kind)).toEqual(["kernels", "pairing"]);
    expect(forms.flatMap(({ kernels }) => kernels).filter((kernel) => !right.includes(kernel))).toEqual([]);
  });
});
