/** The choice of the kernels' form as a server makes it, on the Node and the CPU that run this test. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { WIDE_CURVES } from "../../src/engine/kernels/wide/choose-form.js";
import { hasFusedMultiplyAdd } from "../../src/engine/kernels/wasm/features.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { wideKernelsOf } from "../support/wide.js";

interface Answer {
  readonly status: {
    readonly form: string;
    readonly reason: string;
    readonly four_lanes: Readonly<Record<string, readonly string[]>>;
    readonly speedups: Readonly<Record<string, Readonly<Record<string, number>>>>;
  };
  readonly inThread: { readonly isWideOn: boolean; readonly kernels: Readonly<Record<string, readonly string[]>> };
  readonly lines: readonly { readonly level: string; readonly message: string; readonly state?: string }[];
}

const run = promisify(execFile);

/** Chooses in a process of its own: V8's flag is the process's, and other tests of this one run kernels. */
async function choose(mode: string, ...flags: readonly string[]): Promise<Answer> {
  return await chooseFor([mode], ...flags);
}

async function chooseFor(options: readonly string[], ...flags: readonly string[]): Promise<Answer> {
  const child = join(PACKAGE_ROOT, "test", "support", "wide-form-child.mjs");
  const { stdout, stderr } = await run(process.execPath, [...flags, child, ...options]);
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Answer;
}

/** What this Node should do here. */
const line = Number.parseInt(process.versions.node, 10);
const hasAvx2 =
  process.platform === "linux" && process.arch === "x64" && readFileSync("/proc/cpuinfo", "utf8").includes(" avx2 ");
const shouldBeWide = (line === 24 || line === 26) && hasAvx2 && hasFusedMultiplyAdd();

describe("the form of the kernels", () => {
  it("is four lanes where this Node pairs them, and two lanes elsewhere, in new threads too", async () => {
    const { status, inThread, lines } = await choose("auto");
    expect(status.form).toBe(shouldBeWide ? "four_lanes" : "two_lanes");
    expect(inThread.isWideOn).toBe(shouldBeWide);
    const tried = Object.entries(status.speedups).map(([curve, kernels]) => [curve, Object.keys(kernels)]);
    const all = WIDE_CURVES.map((curve) => [curve.name, wideKernelsOf(curve)]);
    expect(tried).toEqual(shouldBeWide ? all : []);
    expect(inThread.kernels).toEqual(status.four_lanes);
    expect(Object.keys(status.four_lanes)).toEqual(shouldBeWide ? WIDE_CURVES.map(({ name }) => name) : []);
    const said = shouldBeWide ? [{ level: "info", message: expect.stringContaining("four lanes") as string }] : [];
    expect(lines).toMatchObject(said);
  });

  it("is tried for the pairing of BLS12-381 where a server has provers over it", async () => {
    const { status, inThread } = await chooseFor(["auto", "both"]);
    const tried = Object.entries(status.speedups).map(([curve, kernels]) => [curve, Object.keys(kernels)]);
    const all = WIDE_CURVES.map((curve) => [curve.name, wideKernelsOf(curve, WIDE_CURVES)]);
    expect(tried).toEqual(shouldBeWide ? all : []);
    expect(inThread.kernels).toEqual(status.four_lanes);
  });

  it("is two lanes where four are switched off, without a word", async () => {
    expect(await choose("off")).toEqual({
      status: { form: "two_lanes", reason: "four lanes are switched off", four_lanes: {}, speedups: {} },
      inThread: { isWideOn: false, kernels: {} },
      lines: [],
    });
  });

  it("is tried on any Node where it is switched on, and says in one line what came of it", async () => {
    const { status, inThread, lines } = await choose("on");
    expect(lines).toHaveLength(1);
    expect(lines[0]?.state).toBe(status.reason);
    expect(inThread.isWideOn).toBe(status.form === "four_lanes");
    if (shouldBeWide) expect(status.form).toBe("four_lanes");
  });

  it("is right on a CPU without AVX2, whichever form that leaves", async () => {
    const { status, inThread } = await choose("on", "--no-enable-avx2");
    expect(status.reason).not.toContain("wrong");
    expect(inThread.isWideOn).toBe(status.form === "four_lanes");
  });

  it("is two lanes on a CPU without fused multiply-add, where every product of four would be wrong", async () => {
    const { status, inThread } = await choose("on", "--no-enable-fma3", "--no-enable-avx2");
    expect([status.form, inThread.isWideOn]).toEqual(["two_lanes", false]);
  });
});
