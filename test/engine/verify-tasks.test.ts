/** The tasks that verify, where the kernels are sound, where they fail on the way, and where they are switched off. */
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { KernelPairing } from "../../src/engine/kernels/pairing/pairing.js";
import type { PairingBackend, VerifyMessage } from "../../src/engine/protocol.js";
import { verify, verifyBatch } from "../../src/engine/verify-tasks.js";
import { cubicClaim } from "../support/verify-message.js";

let message: Omit<VerifyMessage, "backend">;
let wrongInputs: Record<string, string>;

beforeAll(async () => {
  ({ message, wrongInputs } = await cubicClaim());
});
afterEach(() => {
  vi.restoreAllMocks();
});

async function expectRight(backend: PairingBackend): Promise<void> {
  expect(await verify({ ...message, backend })).toMatchObject({ ok: true, value: { result: true } });
  expect(await verify({ ...message, backend, inputs: wrongInputs })).toMatchObject({
    ok: true,
    value: { result: false },
  });
  expect(await verify({ ...message, backend, proof: "00" })).toMatchObject({ ok: false, code: "proof_malformed" });
  const { system, circuit, verifyingKey } = message;
  const items = [message, { ...message, inputs: wrongInputs }, { ...message, proof: "00" }, message, message].map(
    ({ inputs, proof }) => ({ inputs, proof }),
  );
  expect(await verifyBatch({ system, circuit, verifyingKey, backend, items })).toMatchObject({
    ok: true,
    value: {
      outcomes: [
        { value: { result: true } },
        { value: { result: false } },
        { ok: false, code: "proof_malformed" },
        { value: { result: true } },
        { value: { result: true } },
      ],
    },
  });
}

describe("the tasks that verify", () => {
  it("answer alike on the kernels and on the reference backend", async () => {
    const pairings = vi.spyOn(KernelPairing.prototype, "pairingProduct");
    await expectRight("reference");
    expect(pairings).not.toHaveBeenCalled();
    await expectRight("wasm");
    expect(pairings).toHaveBeenCalled();
  });

  it("answer right when a kernel traps, at the pairing or before it", async () => {
    for (const name of ["pairingProduct", "combineG1", "multiplyG1", "areInSubgroupG2", "squareRootPowers"] as const) {
      const failing = vi.spyOn(KernelPairing.prototype, name).mockImplementation(() => {
        throw new WebAssembly.RuntimeError("unreachable");
      });
      await expectRight("wasm");
      expect(failing, name).toHaveBeenCalled();
      failing.mockRestore();
    }
  });
});
