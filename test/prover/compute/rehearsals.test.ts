/** Rehearsals of circuits that do what they like, on the server's own thread. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { compileCircuit } from "../../../src/engine/circuit/compile-circuit.js";
import { readCircuitInterface } from "../../../src/engine/circuit/interface.js";
import { readR1cs } from "../../../src/engine/circuit/r1cs.js";
import { makeGroth16Key } from "../../../src/engine/groth16/make-key.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import type { ResidentKey } from "../../../src/engine/kernels/groth16/resident-key.js";
import type { RehearsalRequest } from "../../../src/engine/rehearsal-request.js";
import { runComputeTask } from "../../../src/engine/tasks.js";
import type { TaskResult } from "../../../src/engine/protocol.js";
import { workerPath } from "../../../src/platform/files/package-root.js";
import { Rehearsals } from "../../../src/prover/compute/rehearsals.js";

type Given = Omit<RehearsalRequest, "state">;

const ENTRY = workerPath("rehearse.worker");
/** The threads yield to everything else on the machine. */
const PATIENT = { entry: ENTRY, programMs: 600_000 };
/** Ends for 5, and for zeros and ones not within the life of the test. */
const ENDLESS =
  "var i = 7; while (i != x + 2) { i = (i + 1) % 5 + 7; if (x == 5) { i = 7; } } signal output y; y <== x * x;";
const ABORTING = "assert(x > 5); signal output y; y <== x * x;";
const PLAIN = "signal output y; y <== x * x;";

const circuits = new Map<string, Given>();
let rehearsals: Rehearsals;

beforeAll(async () => {
  for (const body of [ENDLESS, ABORTING, PLAIN]) circuits.set(body, await givenOf(body));
});
afterEach(async () => {
  await rehearsals.stop();
});

async function givenOf(body: string): Promise<Given> {
  const source = `pragma circom 2.1.0; template A() { signal input x; ${body} } component main = A();`;
  const compiled = await compileCircuit({ sources: { "a.circom": source }, main: "a.circom", curve: "BN254" });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  const r1cs = readR1cs(compiled.r1cs);
  const made = await makeGroth16Key(compiled.r1cs, { curve: BN254 });
  if (!made.ok) throw new Error("no key");
  const provingKey = { sha256: "00", bytes: Uint8Array.from(made.zkey).buffer as unknown as SharedArrayBuffer };
  const message = { system: "groth16/BN254", provingKey, workspaces: 2 } as const;
  const opened = (await runComputeTask({ task: "open_key", message })) as TaskResult<ResidentKey>;
  if (!opened.ok) throw new Error(opened.message);
  return {
    system: message.system,
    openKey: { id: body, key: opened.value },
    circuit: readCircuitInterface(r1cs, compiled.sym),
    program: new WebAssembly.Module(compiled.wasm),
  };
}

function given(body: string): Given {
  const found = circuits.get(body);
  if (found === undefined) throw new Error("no such circuit");
  return found;
}

function takenOf({ openKey: { key } }: Given): readonly number[] {
  return [...new Int32Array(key.memory.buffer, key.workspaceFlags, key.workspaces.length)];
}

describe("a rehearsal", () => {
  it("runs kernels and program to the end, and gives the key's workspace back", async () => {
    rehearsals = new Rehearsals(PATIENT);
    expect(await rehearsals.run(given(PLAIN))).toBe("done");
    expect(takenOf(given(PLAIN))).toEqual([0, 0]);
  });

  it("of a circuit that refuses the inputs is done as well", async () => {
    rehearsals = new Rehearsals(PATIENT);
    expect(await rehearsals.run(given(ABORTING))).toBe("done");
  });

  it("of a program that does not end is given up after its time, without the key's workspace", async () => {
    rehearsals = new Rehearsals({ entry: ENTRY, programMs: 50 });
    expect(await rehearsals.run(given(ENDLESS))).toBe("given_up");
    expect(takenOf(given(ENDLESS))).toEqual([0, 0]);
  });

  it("gives way, at whatever moment, and leaves the workspaces free", async () => {
    rehearsals = new Rehearsals(PATIENT);
    for (const moment of ["at once", "in the program"]) {
      const running = rehearsals.run(given(ENDLESS));
      if (moment === "in the program") await rehearsals.untilFree(given(ENDLESS).openKey.id);
      rehearsals.giveWay();
      expect(await running, moment).toBe("given_up");
      expect(takenOf(given(ENDLESS)), moment).toEqual([0, 0]);
    }
    expect(await rehearsals.run(given(PLAIN))).toBe("done");
  });

  it("is given up with the caller's signal, beside another one, and when the server has stopped", async () => {
    rehearsals = new Rehearsals(PATIENT);
    const abort = new AbortController();
    const running = rehearsals.run(given(ENDLESS), abort.signal);
    expect(await rehearsals.run(given(PLAIN))).toBe("given_up");
    abort.abort();
    expect(await running).toBe("given_up");
    const last = rehearsals.run(given(ENDLESS));
    await rehearsals.untilFree(given(ENDLESS).openKey.id);
    await rehearsals.stop();
    expect([await last, await rehearsals.run(given(PLAIN))]).toEqual(["given_up", "given_up"]);
  });

  it("whose thread fails before its program says that a workspace may be lost", async () => {
    rehearsals = new Rehearsals({ entry: workerPath("no-such.worker") });
    expect(await rehearsals.run(given(PLAIN))).toBe("lost");
  });
});
