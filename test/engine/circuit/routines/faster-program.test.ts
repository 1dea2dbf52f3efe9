/** Our field routines in circom's witness programs: equal to circom's own, in routines and in whole witnesses. */
import { beforeAll, describe, expect, it } from "vitest";
import { checkInputs } from "../../../../src/engine/circuit/inputs.js";
import { readCircuitInterface, type CircuitInterface } from "../../../../src/engine/circuit/interface.js";
import { readR1cs } from "../../../../src/engine/circuit/r1cs.js";
import { SIGNATURES, ROUTINES } from "../../../../src/engine/circuit/routines/field-routines.js";
import {
  knownRoutines,
  replaced,
  withFasterRoutines,
  withRoutineExports,
} from "../../../../src/engine/circuit/routines/faster-program.js";
import {
  readModuleParts,
  withFunctions,
  type ModuleParts,
} from "../../../../src/engine/circuit/routines/module-sections.js";
import { findRoutineFault } from "../../../../src/engine/circuit/routines/routine-trial.js";
import { computeWitness } from "../../../../src/engine/circuit/witness.js";
import { curveNamed } from "../../../../src/engine/curves/curves.js";
import type { CurveName } from "../../../../src/engine/curves/curve-parameters.js";
import { PACKAGE_ROOT } from "../../../../src/platform/files/package-root.js";
import { BuiltInCircuits } from "../../../../src/prover/provisioning/sources.js";
import { compileOnce, readBuiltIn } from "../../../support/compiled-circuits.js";
import { seededRandom } from "../../../support/seeded.js";
import { join } from "node:path";

const ROUNDS = 400;

/** Every operator of circom, on values of all sizes. */
const OPERATORS = `pragma circom 2.1.0;
template Operators() {
  signal input a[8];
  signal input b[8];
  signal output out[8][19];
  for (var i = 0; i < 8; i++) {
    var x = a[i];
    var y = b[i];
    var s = y & 127;
    out[i][0] <-- x + y;
    out[i][1] <-- x - y;
    out[i][2] <-- x * y;
    out[i][3] <-- y == 0 ? 0 : x / y;
    out[i][4] <-- y == 0 ? 0 : x \\ y;
    out[i][5] <-- y == 0 ? 0 : x % y;
    out[i][6] <-- x & y;
    out[i][7] <-- x | y;
    out[i][8] <-- x ^ y;
    out[i][9] <-- x << s;
    out[i][10] <-- x >> s;
    out[i][11] <-- ~x;
    out[i][12] <-- x < y;
    out[i][13] <-- x <= y;
    out[i][14] <-- x > y;
    out[i][15] <-- x >= y;
    out[i][16] <-- x == y;
    out[i][17] <-- (x != y) + (x && y) * 2 + (x || !y) * 4;
    var sum = 0;
    for (var j = 0; j < 12; j++) sum = sum * x - ((sum >> j) & y) + (j < s ? -x : y * (x \\ (j + 1)));
    out[i][18] <-- sum + x ** s;
  }
}
component main = Operators();
`;

describe.each<CurveName>(["BN254", "BLS12_381"])("the routines of a program over the scalars of %s", (curve) => {
  let parts: ModuleParts;
  let wasm: Uint8Array;
  let circuit: CircuitInterface;

  beforeAll(async () => {
    const compiled = await compileOnce({ files: { "main.circom": OPERATORS }, main: "main.circom" }, curve);
    if (!compiled.ok) throw new Error("the operators do not compile");
    ({ wasm } = compiled);
    circuit = readCircuitInterface(readR1cs(compiled.r1cs), compiled.sym);
    parts = readModuleParts(wasm);
  });

  it("are known, and agree with ours on extreme and random elements in every form", () => {
    expect(knownRoutines(parts)).toBe(curve);
    const { below, seed } = wideRandom();
    const [own, faster] = [withRoutineExports(parts), replaced(parts, curve, { exports: true })].map(
      (bytes) => new WebAssembly.Module(bytes),
    ) as [WebAssembly.Module, WebAssembly.Module];
    const fault = findRoutineFault({ own, faster, curve: curveNamed(curve), random: below, rounds: ROUNDS });
    expect(fault, `seed ${String(seed)}`).toBeUndefined();
  });

  it("compute the same witnesses", async () => {
    const { below, seed } = wideRandom();
    const { r } = curveNamed(curve);
    const value = (): string => String(below([2n, 300n, 2n ** 32n, 2n ** 65n, r][Number(below(5n))] ?? r));
    const [own, faster] = await Promise.all(
      [wasm, withFasterRoutines(wasm)!].map(
        async (bytes) => await WebAssembly.compile(bytes as Uint8Array<ArrayBuffer>),
      ),
    );
    for (let round = 0; round < 40; round += 1) {
      const [a, b] = [0, 1].map(() =>
        Array.from({ length: 8 }, () => (below(3n) === 0n ? String(r - below(40n) - 1n) : value())),
      );
      const inputs = checkInputs(circuit, { a, b });
      if (!inputs.ok) throw new Error("bad inputs");
      const [expected, computed] = [own!, faster!].map((module) => computeWitness(module, circuit, inputs.values));
      expect(computed, `seed ${String(seed)}: ${JSON.stringify({ a, b })}`).toEqual(expected);
    }
  });

  it("are not trusted where one of them answers otherwise", () => {
    const sound = readModuleParts(replaced(parts, curve, { exports: true }));
    const own = new WebAssembly.Module(withRoutineExports(parts));
    const body = (name: string): Uint8Array => sound.byName.get(name)!.body;
    for (const [name, other] of [
      ["Fr_add", "Fr_sub"],
      ["Fr_lt", "Fr_leq"],
      ["Fr_gtR", "Fr_eqR"],
      ["Fr_shl", "Fr_shr"],
      ["Fr_inv", "Fr_copy"],
    ] as const) {
      const bodies = new Map([[sound.byName.get(name)!.index, body(other)]]);
      const faster = new WebAssembly.Module(withFunctions(sound, { bodies, added: [] }));
      const { below, seed } = wideRandom();
      // One round in seven shows some of these; so many miss none.
      const fault = findRoutineFault({ own, faster, curve: curveNamed(curve), random: below, rounds: ROUNDS });
      expect(fault, `${name}, seed ${String(seed)}`).toBeDefined();
    }
  });

  it("stay circom's where a byte of them is another one, or the module is none", () => {
    for (const name of ["Fr_add", "Fr_F1m_mul", "Fr_lnot"]) {
      const { index, body } = parts.byName.get(name)!;
      const changed = Uint8Array.from(body);
      changed[changed.length - 2]! ^= 1;
      expect(withFasterRoutines(withFunctions(parts, { bodies: new Map([[index, changed]]), added: [] })), name).toBe(
        undefined,
      );
    }
    expect(withFasterRoutines(wasm.subarray(0, 1000))).toBeUndefined();
    expect(withFasterRoutines(Buffer.from("no module at all"))).toBeUndefined();
  });
});

it("keep a module as it is that nothing is changed in", async () => {
  const { wasm } = await readBuiltIn("cubic");
  expect(withFunctions(readModuleParts(wasm), { bodies: new Map(), added: [] })).toEqual(new Uint8Array(wasm));
  for (const name of Object.keys(ROUTINES)) expect(SIGNATURES, name).toHaveProperty(name);
});

it.each(new BuiltInCircuits({ folder: join(PACKAGE_ROOT, "circuits") }).identifiers)(
  "computes the same witness of the built-in circuit %s",
  async (identifier) => {
    const { wasm, r1cs, sym } = await readBuiltIn(identifier);
    const circuit = readCircuitInterface(readR1cs(r1cs), sym);
    const { satisfyingInputs } = new BuiltInCircuits({ folder: join(PACKAGE_ROOT, "circuits") }).get(identifier);
    const inputs = checkInputs(circuit, satisfyingInputs);
    if (!inputs.ok) throw new Error("bad inputs");
    const faster = withFasterRoutines(wasm);
    expect(faster).toBeDefined();
    const [expected, computed] = await Promise.all(
      [wasm, faster!].map(async (bytes) =>
        computeWitness(await WebAssembly.compile(bytes as Uint8Array<ArrayBuffer>), circuit, inputs.values),
      ),
    );
    expect(computed!.ok).toBe(true);
    expect(computed).toEqual(expected);
  },
);

/** Numbers below any limit, from the seeded bytes. */
function wideRandom(): { readonly below: (limit: bigint) => bigint; readonly seed: number } {
  const random = seededRandom();
  const below = (limit: bigint): bigint => {
    let value = 0n;
    for (let words = 0; words < 10; words += 1) value = (value << 32n) | BigInt(random.below(2 ** 32));
    return value % limit;
  };
  return { below, seed: random.seed };
}
