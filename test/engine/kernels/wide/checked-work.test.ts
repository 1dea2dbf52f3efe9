import { afterEach, describe, expect, it } from "vitest";
import { runChecked } from "../../../../src/engine/kernels/wide/checked-work.js";
import {
  discardWideForms,
  isWideOn,
  newWideForms,
  useWideForms,
  wideDiscards,
} from "../../../../src/engine/kernels/wide/wide-form.js";

afterEach(() => {
  useWideForms(undefined);
});

/** Work that fails by a throw or by its result as long as `isWrong` says so, and what became of it. */
async function run(isWrong: () => boolean, failure: "throws" | "is refused" = "is refused"): Promise<unknown> {
  let runs = 0;
  const work = async (): Promise<string> => {
    runs += 1;
    if (!isWrong()) return await Promise.resolve("right");
    if (failure === "throws") throw new Error("it failed");
    return "wrong";
  };
  return { ...(await runChecked(work, (result) => result === "wrong")), runs };
}

describe("work that is checked", () => {
  it("is done once where it is right, and the form stays", async () => {
    useWideForms(newWideForms([]));
    expect(await run(() => false)).toEqual({ result: "right", isWideWrong: false, runs: 1 });
    expect([isWideOn(), wideDiscards()]).toEqual([true, 0]);
  });

  it.each(["throws", "is refused"] as const)("is done again on two lanes when it %s on four", async (failure) => {
    useWideForms(newWideForms([]));
    expect(await run(isWideOn, failure)).toEqual({ result: "right", isWideWrong: true, runs: 2 });
    expect([isWideOn(), wideDiscards()]).toEqual([false, 1]);
  });

  it("is not said to have been wrong on four lanes when it is on two as well", async () => {
    useWideForms(newWideForms([]));
    expect(await run(() => true)).toEqual({ result: "wrong", isWideWrong: false, runs: 2 });
    useWideForms(newWideForms([]));
    await expect(run(() => true, "throws")).rejects.toThrow("it failed");
  });

  it("is done once without the form, whatever comes of it", async () => {
    expect(await run(() => true)).toEqual({ result: "wrong", isWideWrong: false, runs: 1 });
    useWideForms(newWideForms([]));
    discardWideForms();
    await expect(run(() => true, "throws")).rejects.toThrow("it failed");
  });
});
