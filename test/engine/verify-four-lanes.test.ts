/** The tasks that verify, with the pairing on four lanes: sound, wrong in one lane, wrong on the way, or trapping. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { BLS12_381 } from "../../src/engine/curves/bls12-381.js";
import { MEMORY_PAGES_MAX } from "../../src/engine/kernels/wasm/features.js";
import { ModuleBuilder } from "../../src/engine/kernels/wasm/wasm-builder.js";
import { unreachable } from "../../src/engine/kernels/wasm/wasm-ops.js";
import type { WideForms } from "../../src/engine/kernels/wide/wide-form.js";
import type { TaskResult, UncheckedClaim, VerifyBatchValue, VerifyMessage } from "../../src/engine/protocol.js";
import { KERNEL_KINDS } from "../support/kernels.js";
import { cubicClaim } from "../support/verify-message.js";
import type { CubicClaim } from "../support/verify-message.js";
import { WIDE_PAIRING_KERNELS, pairingForms, soundForms, spoiledPairing } from "../support/wide.js";

let message: VerifyMessage;
let wrongInputs: Record<string, string>;
let claim: CubicClaim["claim"];

beforeAll(async () => {
  const made = await cubicClaim();
  message = { ...made.message, backend: "wasm" };
  ({ wrongInputs, claim } = made);
});
beforeEach(() => {
  // A thread's pairing takes the forms that it finds when it is loaded.
  vi.resetModules();
});
afterEach(() => {
  vi.restoreAllMocks();
  // Tests of other files in this process must not find a pairing that was spoiled here.
  vi.resetModules();
});

/** A module whose product in Fq12 ends the call. */
function trappingModule(): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder();
  module.define({ name: "gt_mul", params: ["i32", "i32", "i32"] }, (f) => {
    f.run(unreachable);
  });
  return module.toBytes(MEMORY_PAGES_MAX);
}

/** The tasks of a thread that was given those forms, and what it knows of them. */
async function threadWith(forms: WideForms | undefined) {
  const { useWideForms, isWideOn, wideDiscards, onTwoLanes, isCheckedWide } =
    await import("../../src/engine/kernels/wide/wide-form.js");
  const tasks = await import("../../src/engine/verify-tasks.js");
  const { KernelPairing } = await import("../../src/engine/kernels/pairing/pairing.js");
  useWideForms(forms);
  return { ...tasks, isWideOn, wideDiscards, onTwoLanes, isCheckedWide, KernelPairing };
}

async function resultsOf(batch: Promise<TaskResult<VerifyBatchValue>>): Promise<VerifyBatchValue["outcomes"]> {
  const result = await batch;
  if (!result.ok) throw new Error(result.message);
  return result.value.outcomes;
}

const batchOf = (items: readonly UncheckedClaim[]) => ({ ...message, items });

describe.each(KERNEL_KINDS.filter((kind) => kind === "fma"))("verification on four lanes, %s", () => {
  it("takes four lanes for what it answers true, and computes the values of a key and all else on two", async () => {
    const { verify, verifyBatch, isWideOn, wideDiscards, isCheckedWide, KernelPairing } =
      await threadWith(soundForms());
    const forms: boolean[] = [];
    vi.spyOn(KernelPairing.prototype, "equalPairingValues").mockImplementation((a, b) => {
      forms.push(isCheckedWide());
      return Buffer.compare(a.bytes, b.bytes) === 0;
    });
    const formsOf = async (work: () => Promise<unknown>): Promise<boolean[]> => {
      forms.length = 0;
      await work();
      return [...forms];
    };
    await formsOf(async () => {
      expect(await verify(message)).toMatchObject({ ok: true, value: { result: true } });
    });
    // The comparisons of the self-test, then that of the proof.
    expect(forms.indexOf(true)).toBe(forms.length - 1);
    expect(await formsOf(async () => await verify(message))).toEqual([true]);
    expect(await formsOf(async () => await verifyBatch(batchOf([message, message, message, message])))).toEqual([true]);
    const wrong = await formsOf(async () => {
      expect(await verify({ ...message, inputs: wrongInputs })).toMatchObject({ ok: true, value: { result: false } });
    });
    expect(wrong).toEqual([true, false]);
    const items = [...Array.from({ length: 7 }, () => message), { ...message, inputs: wrongInputs }];
    const oneWrong = await formsOf(async () => {
      expect(await verifyBatch(batchOf(items))).toMatchObject({
        value: { outcomes: items.map((_, i) => ({ value: { result: i < 7 } })) },
      });
    });
    // Only the wrong one is verified again.
    expect(oneWrong.filter((isWide) => !isWide)).toHaveLength(1);
    expect([isWideOn(), wideDiscards()]).toEqual([true, 0]);
  });

  it.each([
    { where: "in every product", kernels: WIDE_PAIRING_KERNELS, spoil: () => spoiledPairing().bytes },
    { where: "in products of Fq12 alone", kernels: ["gt_mul"], spoil: () => spoiledPairing().bytes },
    { where: "in the steps of a point alone", kernels: ["g2_double_step"], spoil: () => spoiledPairing().bytes },
    { where: "with a trap", kernels: ["gt_mul"], spoil: trappingModule },
  ])("answers right where four lanes are wrong $where, and takes them no more", async ({ kernels, spoil }) => {
    for (const isBatch of [false, true]) {
      vi.resetModules();
      const { verify, verifyBatch, isWideOn, wideDiscards } = await threadWith(
        pairingForms({ bytes: spoil(), kernels }),
      );
      expect(isWideOn()).toBe(true);
      const [result] = isBatch ? await resultsOf(verifyBatch(batchOf([message, message]))) : [await verify(message)];
      expect(result).toMatchObject({ ok: true, value: { result: true } });
      expect([isWideOn(), wideDiscards()]).toEqual([false, 1]);
      expect(await verify(message)).toMatchObject({ ok: true, value: { result: true } });
      expect(await verify({ ...message, inputs: wrongInputs })).toMatchObject({ ok: true, value: { result: false } });
      expect(wideDiscards()).toBe(1);
    }
  });

  it("never finds a wrong proof valid where four lanes are wrong", async () => {
    const bytes = spoiledPairing().bytes;
    for (const kernels of [WIDE_PAIRING_KERNELS, ...WIDE_PAIRING_KERNELS.map((kernel) => [kernel])]) {
      vi.resetModules();
      const { verify, verifyBatch } = await threadWith(pairingForms({ bytes, kernels }));
      const wrong = { ...message, inputs: wrongInputs };
      expect(await verify(wrong), kernels.join()).toMatchObject({ ok: true, value: { result: false } });
      expect(await verifyBatch(batchOf([wrong, message, message, wrong, message]))).toMatchObject({
        value: { outcomes: [false, true, true, false, true].map((result) => ({ value: { result } })) },
      });
    }
  });

  it("computes nothing twice where the pairing has no four lanes, or the reference backend computes", async () => {
    const wrong = { ...message, inputs: wrongInputs };
    for (const [forms, backend] of [
      [pairingForms({ curve: BLS12_381 }), "wasm"],
      [soundForms(), "reference"],
    ] as const) {
      vi.resetModules();
      const { verify, isWideOn } = await threadWith(forms);
      const systems = await import("../../src/engine/proof-systems/table.js");
      const checked = vi.spyOn(systems.proofSystem(message.system), "verify");
      expect(await verify({ ...wrong, backend })).toMatchObject({ ok: true, value: { result: false } });
      expect(checked).toHaveBeenCalledTimes(1);
      expect(isWideOn()).toBe(true);
    }
  });

  it("says of a malformed proof what two lanes say, and keeps four", async () => {
    const { verify, onTwoLanes, isWideOn, wideDiscards } = await threadWith(soundForms());
    for (const proof of ["00", "f".repeat(256), `${(message.proof as string).slice(0, -2)}00`]) {
      const onFour = await verify({ ...message, proof });
      expect(onFour).toEqual(await onTwoLanes(async () => await verify({ ...message, proof })));
    }
    expect([isWideOn(), wideDiscards()]).toEqual([true, 0]);
  });

  it("finds its own proofs valid where four lanes are wrong", async () => {
    const { isOwnProofValid, wideDiscards } = await threadWith(pairingForms({ bytes: spoiledPairing().bytes }));
    const { proof, publicSignals } = claim;
    expect(await isOwnProofValid(message, proof, publicSignals)).toBe(true);
    expect(wideDiscards()).toBe(1);
    expect(
      await isOwnProofValid(
        message,
        proof,
        publicSignals.map((signal) => signal + 1n),
      ),
    ).toBe(false);
  });
});
