/** Circuits that the build compiles, and what a server does with them. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readR1csHeader } from "../../../src/engine/circuit/r1cs.js";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { ProcessTasks, type ProcessTaskFailure } from "../../../src/platform/pool/process-task.js";
import { compilationName } from "../../../src/prover/compute/compile-task.js";
import { ComputePools } from "../../../src/prover/compute/compute-pools.js";
import { PooledCompute } from "../../../src/prover/compute/pooled-compute.js";
import {
  findPreparedCircuit,
  writePreparedCircuits,
  type PreparedCircuit,
} from "../../../src/prover/compute/prepared-circuits.js";
import { BuiltInCircuits, circuitHash } from "../../../src/prover/provisioning/sources.js";
import { compileOnce } from "../../support/compiled-circuits.js";
import { recordedLog } from "../../support/silent-log.js";
import { folderOfTest } from "../../support/temporary-folder.js";

const CIRCUITS = join(PACKAGE_ROOT, "dist/circuits");
const builtIns = new BuiltInCircuits({ folder: join(PACKAGE_ROOT, "circuits") });
const cubic = builtIns.get("cubic");
const cubicHash = circuitHash(cubic, "BN254", compilationName());
const TEXT: PreparedCircuit = {
  r1cs: Buffer.from("r1cs"),
  sym: Buffer.from("sym"),
  wasm: Buffer.from("wasm"),
  compiler: "circom2 0.0.0",
  warnings: [{ severity: "warning", code: "CA01", message: "loose" }],
};

describe("the circuits that the build has compiled", () => {
  it.each(builtIns.identifiers)("have %s", (identifier) => {
    const hash = circuitHash(builtIns.get(identifier), "BN254", compilationName());
    expect(existsSync(join(CIRCUITS, hash))).toBe(true);
  });

  it("are what the compiler writes", async () => {
    const prepared = await findPreparedCircuit(CIRCUITS, cubicHash);
    const compiled = await compileOnce(cubic.source, "BN254");
    if (!compiled.ok || prepared === undefined) throw new Error("the circuit is not there");
    for (const name of ["r1cs", "sym", "wasm"] as const)
      expect(Buffer.compare(prepared[name], compiled[name]), name).toBe(0);
    expect([prepared.warnings, prepared.compiler]).toEqual([compiled.warnings, compiled.compiler]);
  });
});

describe("a folder of compiled circuits", () => {
  it("has the circuits of the last build alone, each compiled for it", async () => {
    const folder = folderOfTest("circuits");
    const made: string[] = [];
    const compiling = (name: string) => async () => {
      made.push(name);
      return TEXT;
    };
    await writePreparedCircuits(folder, new Map(["a", "b"].map((name) => [name, compiling(name)])));
    await writePreparedCircuits(folder, new Map(["b", "c"].map((name) => [name, compiling(name)])));
    expect(made).toEqual(["a", "b", "b", "c"]);
    expect(await findPreparedCircuit(folder, "a")).toBeUndefined();
    for (const name of ["b", "c"]) expect(await findPreparedCircuit(folder, name)).toEqual(TEXT);
  });

  it("leaves out what does not compile, and finds nothing in damaged files", async () => {
    const folder = folderOfTest("circuits");
    await writePreparedCircuits(
      folder,
      new Map<string, () => Promise<PreparedCircuit | undefined>>([
        ["wrong", async () => undefined],
        ["right", async () => TEXT],
      ]),
    );
    expect(await findPreparedCircuit(folder, "wrong")).toBeUndefined();
    writeFileSync(join(folder, "right", "circuit.r1cs.gz"), "not gzip");
    expect(await findPreparedCircuit(folder, "right")).toBeUndefined();
  });
});

/** No compiler starts. */
class NoTasks extends ProcessTasks {
  override run(): Promise<ProcessTaskFailure> {
    return Promise.resolve({ ok: false, code: "memory", message: "no compiler here" });
  }
}

describe("compiling", () => {
  const log = recordedLog();
  const pools = new ComputePools(
    { proveThreads: 1, interactiveThreads: 1, proveQueueLengthMax: 8, interactiveQueueLengthMax: 8 },
    { log },
  );
  afterAll(async () => {
    await pools.stop();
  });
  const compute = (constraintsMax: number) =>
    new PooledCompute(
      { constraintsMax, compile: { memoryMb: 1024, seconds: 5 }, preparedFolder: CIRCUITS },
      { pools, tasks: new NoTasks(), log },
    );
  const input = { source: cubic.source, curve: "BN254", hash: cubicHash } as const;

  it("takes the compiled circuit of the same hash, and starts the compiler for every other", async () => {
    const found = await compute(1000).compile(input);
    if (!found.ok) throw new Error("the circuit was compiled");
    expect(readR1csHeader(found.value.r1cs).constraintCount).toBe(2);
    expect(found.value.circuit).toMatchObject({ outputCount: 0 });
    expect(found.value.compiler).toBe("circom2 0.2.23");
    const { hash: _hash, ...unnamed } = input;
    for (const other of [unnamed, { ...unnamed, hash: "00".repeat(32) }])
      expect(await compute(1000).compile(other)).toMatchObject({ ok: false });
  });

  it("leaves a circuit beyond the limit to the compiler", async () => {
    expect(await compute(2).compile(input)).toMatchObject({ ok: true });
    expect(await compute(1).compile(input)).toMatchObject({ ok: false });
  });
});
