/** The compute tasks as a thread runs them, with a key that the kernels hold open and with one that they lost. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { compileCircuit } from "../../src/engine/circuit/compile-circuit.js";
import { readCircuitInterface } from "../../src/engine/circuit/interface.js";
import { readR1cs } from "../../src/engine/circuit/r1cs.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { makeGroth16Key } from "../../src/engine/groth16/make-key.js";
import type { ResidentKey } from "../../src/engine/kernels/groth16/resident-key.js";
import { isWideOn, useWideForms, wideDiscards } from "../../src/engine/kernels/wide/wide-form.js";
import type {
  OpenKey,
  ProveMessage,
  ProveValue,
  SharedBytes,
  TaskResult,
  VerifyValue,
} from "../../src/engine/protocol.js";
import { runComputeTask } from "../../src/engine/tasks.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { KERNEL_KINDS } from "../support/kernels.js";
import { soundForms, spoiledForms } from "../support/wide.js";

let message: ProveMessage & { readonly provingKey: SharedBytes };
let r1cs: SharedBytes;

function shared(bytes: Uint8Array): SharedBytes {
  const memory = new SharedArrayBuffer(bytes.length);
  new Uint8Array(memory).set(bytes);
  return { sha256: createHash("sha256").update(bytes).digest("hex"), bytes: memory };
}

async function open(workspaces: number, id: string): Promise<OpenKey & { readonly key: ResidentKey }> {
  const opened = (await runComputeTask({
    task: "open_key",
    message: { system: message.system, provingKey: message.provingKey, workspaces },
  })) as TaskResult<ResidentKey>;
  if (!opened.ok) throw new Error(opened.message);
  return { id, key: opened.value };
}

async function proveAndVerify(openKey: OpenKey | undefined): Promise<boolean> {
  const made = (await runComputeTask({
    task: "prove",
    message: openKey === undefined ? message : { ...message, openKey },
  })) as TaskResult<ProveValue>;
  if (!made.ok) throw new Error(made.message);
  expect(made.value.publicSignals).toEqual(["35"]);
  const checked = (await runComputeTask({
    task: "verify",
    message: {
      system: message.system,
      circuit: message.circuit,
      verifyingKey: message.verifyingKey,
      inputs: { Y: "35" },
      proof: made.value.proof,
    },
  })) as TaskResult<VerifyValue>;
  return checked.ok && checked.value.result;
}

beforeAll(async () => {
  const source = readFileSync(join(PACKAGE_ROOT, "circuits/cubic/cubic.circom"), "utf8");
  const compiled = await compileCircuit({ sources: { "main.circom": source }, main: "main.circom", curve: "BN254" });
  if (!compiled.ok) throw new Error("cubic does not compile");
  const made = await makeGroth16Key(compiled.r1cs);
  if (!made.ok) throw new Error(made.message);
  r1cs = shared(compiled.r1cs);
  message = {
    system: "groth16/BN254",
    circuit: readCircuitInterface(readR1cs(compiled.r1cs), compiled.sym),
    witnessProgram: shared(compiled.wasm),
    provingKey: shared(made.zkey),
    verifyingKey: shared(Buffer.from(JSON.stringify(made.verifyingKey))),
    inputs: { X: "3", Y: "35" },
  };
});

describe("a rehearsal on a thread that proves", () => {
  it("leaves the key as it was, with a free workspace and without one", async () => {
    const openKey = await open(1, "rehearsed");
    const { system, circuit, witnessProgram, verifyingKey } = message;
    const flags = new Int32Array(openKey.key.memory.buffer, openKey.key.workspaceFlags, 1);
    const warmed = await runComputeTask({
      task: "warm_key",
      message: { system, openKey, witnessProgram, verifyingKey },
    });
    expect(warmed).toMatchObject({ ok: true, value: { program: expect.any(WebAssembly.Module) as unknown } });
    for (const taken of [0, 1]) {
      flags[0] = taken;
      const rehearsed = await runComputeTask({ task: "rehearse", message: { system, openKey, circuit } });
      expect([rehearsed, flags[0]]).toEqual([{ ok: true, value: { done: true } }, taken]);
    }
    flags[0] = 0;
    expect(await proveAndVerify(openKey)).toBe(true);
  });
});

describe("the task prove", () => {
  it("proves on the reference backend without an open key", async () => {
    expect(await proveAndVerify(undefined)).toBe(true);
  });

  it("proves on the kernels with an open key, again and again", async () => {
    const openKey = await open(1, "sound");
    for (let i = 0; i < 3; i += 1) expect(await proveAndVerify(openKey)).toBe(true);
  });

  it("falls back when every workspace of the key is lost", async () => {
    const openKey = await open(2, "no workspace");
    new Int32Array(openKey.key.memory.buffer, openKey.key.workspaceFlags, 2).fill(1);
    expect(await proveAndVerify(openKey)).toBe(true);
  });

  it("answers a sound proof even when the kernels' copy of the key is damaged", async () => {
    const openKey = await open(1, "damaged");
    const { c, h } = openKey.key;
    for (const section of [c, h]) new Uint8Array(openKey.key.memory.buffer, section.points, 64).fill(0x5a);
    expect(await proveAndVerify(openKey)).toBe(true);
  });

  describe.each(KERNEL_KINDS.filter((kind) => kind === "fma"))("on four lanes, %s", () => {
    afterEach(() => {
      useWideForms(undefined);
    });

    it("proves, and keeps four lanes when a key or a witness is at fault", async () => {
      useWideForms(soundForms());
      const openKey = await open(1, "four lanes");
      expect(await proveAndVerify(openKey)).toBe(true);
      const wrong = { ...message, openKey, witnessFile: wtns([1n, 35n, 3n, 10n]), r1cs };
      expect(await runComputeTask({ task: "prove", message: wrong })).toMatchObject({
        code: "constraints_unsatisfied",
      });
      new Uint8Array(openKey.key.memory.buffer, openKey.key.h.points, 64).fill(0x5a);
      expect(await proveAndVerify(openKey)).toBe(true);
      expect([isWideOn(), wideDiscards()]).toEqual([true, 0]);
    });

    it("proves again on two lanes when one lane of four was wrong, and takes four no more", async () => {
      const forms = spoiledForms();
      useWideForms(forms);
      const openKey = await open(1, "one wrong lane");
      expect(isWideOn()).toBe(true);
      for (let i = 0; i < 2; i += 1) {
        expect(await proveAndVerify(openKey)).toBe(true);
        expect([isWideOn(), wideDiscards()]).toEqual([false, 1]);
      }
      // Another thread, which was given the same forms, sees it too.
      useWideForms({ ...forms });
      expect(isWideOn()).toBe(false);
    });
  });

  it("refuses inputs that break the circuit's rules, open key or not", async () => {
    const openKey = await open(1, "rules");
    const refused = await runComputeTask({
      task: "prove",
      message: { ...message, openKey, inputs: { X: "3", Y: "36" } },
    });
    expect(refused).toMatchObject({ ok: false, code: "constraints_unsatisfied" });
  });

  it("checks a witness from outside against the constraints only when no sound proof comes of it", async () => {
    const openKey = await open(1, "outside");
    const tried = async (wires: readonly bigint[], constraints: SharedBytes, isOpen: boolean): Promise<unknown> =>
      await runComputeTask({
        task: "prove",
        message: { ...message, witnessFile: wtns(wires), r1cs: constraints, ...(isOpen ? { openKey } : {}) },
      });
    // These bytes are no constraints: nobody reads them.
    expect(await tried([1n, 35n, 3n, 9n], shared(new Uint8Array(4)), true)).toMatchObject({ ok: true });
    for (const wires of [
      [1n, 36n, 3n, 9n],
      [1n, 35n, 3n, 10n],
      [2n, 35n, 3n, 9n],
      [1n, 35n + BN254.r, 3n, 9n],
    ])
      for (const isOpen of [true, false])
        expect(await tried(wires, r1cs, isOpen)).toMatchObject({ ok: false, code: "constraints_unsatisfied" });
  });
});

/** A witness as snarkjs' file. */
function wtns(wires: readonly bigint[]): Buffer {
  const u32 = (value: number): Buffer => Buffer.from(Uint32Array.of(value).buffer);
  const element = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, "0"), "hex").reverse();
  return Buffer.concat([
    ...[Buffer.from("wtns"), u32(2), u32(2), u32(1), u32(40), u32(0), u32(32), element(BN254.r), u32(wires.length)],
    ...[u32(2), u32(32 * wires.length), u32(0), ...wires.map(element)],
  ]);
}
