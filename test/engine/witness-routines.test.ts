/** A program that looks at the form of its elements, so that our field routines give it another witness. */
import { createHash } from "node:crypto";
import { afterEach, beforeAll, expect, it } from "vitest";
import { readCircuitInterface } from "../../src/engine/circuit/interface.js";
import { readR1cs } from "../../src/engine/circuit/r1cs.js";
import { knownRoutines } from "../../src/engine/circuit/routines/faster-program.js";
import { readModuleParts, withFunctions } from "../../src/engine/circuit/routines/module-sections.js";
import {
  areFasterRoutinesOn,
  newRoutineState,
  useRoutineState,
} from "../../src/engine/circuit/routines/routine-use.js";
import { makeGroth16Key } from "../../src/engine/groth16/make-key.js";
import { FunctionBuilder } from "../../src/engine/kernels/wasm/wasm-builder.js";
import { i32, type Expression } from "../../src/engine/kernels/wasm/wasm-ops.js";
import type { ProveMessage, ProveValue, SharedBytes, TaskResult } from "../../src/engine/protocol.js";
import { runComputeTask } from "../../src/engine/tasks.js";
import { compileOnce } from "../support/compiled-circuits.js";

/** The quotient is long by circom's routines, and short by ours. */
const SOURCE = `pragma circom 2.1.0;
template Third() {
  signal input x;
  signal output y;
  signal third;
  third <-- x \\ 3;
  third * 3 === x;
  y <== third * third;
}
component main {public [x]} = Third();
`;
const QUOTIENT = 41;

let message: ProveMessage;

beforeAll(async () => {
  const compiled = await compileOnce({
    files: { "main.circom": SOURCE },
    main: "main.circom",
    options: { optimization: 1 },
  });
  if (!compiled.ok) throw new Error("the circuit does not compile");
  const made = await makeGroth16Key(compiled.r1cs);
  if (!made.ok) throw new Error(made.message);
  message = {
    system: "groth16/BN254",
    circuit: readCircuitInterface(readR1cs(compiled.r1cs), compiled.sym),
    witnessProgram: shared(lookingAtForms(compiled.wasm)),
    provingKey: shared(made.zkey),
    verifyingKey: shared(Buffer.from(JSON.stringify(made.verifyingKey))),
    inputs: { x: String(3 * QUOTIENT) },
  };
});
afterEach(() => {
  useRoutineState(undefined);
});

function shared(bytes: Uint8Array): SharedBytes {
  const memory = new SharedArrayBuffer(bytes.length);
  new Uint8Array(memory).set(bytes);
  return { sha256: createHash("sha256").update(bytes).digest("hex"), bytes: memory };
}

/** Where a program's elements leave for JavaScript: a short one leaves its value there, before its number. */
const EXCHANGE = 1984;

/** Returns the program with a `getWitness` that reads the quotient as one more where it was short. */
function lookingAtForms(wasm: Uint8Array): Uint8Array {
  const parts = readModuleParts(wasm);
  const { type, body, index } = parts.byName.get("getWitness")!;
  const handle = { name: "getWitness", params: ["i32"] as const, results: [] };
  const original = { ...handle, index: parts.importCount + parts.functions.length };
  const f = new FunctionBuilder(handle);
  const [wire] = f.paramsAs<readonly ["i32"]>();
  f.call(original, [wire]);
  const isQuotient = (offset: number): Expression<"i32"> =>
    i32.eq(i32.load(i32.const(EXCHANGE), offset), i32.const(QUOTIENT));
  f.if(i32.and(isQuotient(0), isQuotient(8)), () => {
    f.run(i32.store(i32.const(EXCHANGE), i32.const(QUOTIENT + 1), 8));
  });
  return withFunctions(parts, { bodies: new Map([[index, f.finish()]]), added: [{ type, body }] });
}

it("is proven with circom's own routines, which all programs run on then", async () => {
  expect(knownRoutines(readModuleParts(new Uint8Array(message.witnessProgram.bytes)))).toBe("BN254");
  useRoutineState(newRoutineState(true));
  const made = (await runComputeTask({ task: "prove", message })) as TaskResult<ProveValue>;
  expect(made).toMatchObject({ ok: true, value: { publicSignals: [String(QUOTIENT ** 2), String(3 * QUOTIENT)] } });
  expect(areFasterRoutinesOn()).toBe(false);
});
