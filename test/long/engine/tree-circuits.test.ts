/** The templates of the trees, with witnesses made from trees of our own. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { poseidonTriple } from "../../../src/crypto/hashes/poseidon.js";
import { findUnsatisfied } from "../../../src/engine/circuit/satisfaction.js";
import { checkInputs } from "../../../src/engine/circuit/inputs.js";
import { readCircuitInterface } from "../../../src/engine/circuit/interface.js";
import { readR1cs } from "../../../src/engine/circuit/r1cs.js";
import { computeWitness } from "../../../src/engine/circuit/witness.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { readBigIntLE } from "../../../src/engine/field/bytes.js";
import { inverse } from "../../../src/engine/field/prime-field.js";
import { consistencyInputs, inclusionInputs, nullifierInputs } from "../../../src/engine/merkle/circuit-inputs.js";
import type { CircuitInputs } from "../../../src/engine/merkle/circuit-inputs.js";
import { proveConsistency, proveInclusion } from "../../../src/engine/merkle/dense-proofs.js";
import { emptySubtree } from "../../../src/engine/merkle/note-tree.js";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { compileOnce } from "../../support/compiled-circuits.js";
import { hex, MemoryDenseTree, MemorySparseTree } from "../../support/trees.js";

const FILES = Object.fromEntries(
  ["dense_tree.circom", "nullifier_tree.circom"].map((name) => [
    name,
    readFileSync(join(PACKAGE_ROOT, "circuits", name), "utf8"),
  ]),
);
const README = readFileSync(join(PACKAGE_ROOT, "circuits", "README.md"), "utf8");

/** A template as the main component, without public inputs. */
async function load(file: string, call: string) {
  const main = `pragma circom 2.1.0;\ninclude "${file}";\ncomponent main = ${call};`;
  const compiled = await compileOnce({ files: { ...FILES, "main.circom": main }, main: "main.circom" });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  const r1cs = readR1cs(compiled.r1cs);
  const circuit = readCircuitInterface(r1cs, compiled.sym);
  const program = new WebAssembly.Module(compiled.wasm);
  /** The outputs, or undefined when there is no witness. */
  const run = (inputs: CircuitInputs): string[] | undefined => {
    const checked = checkInputs(circuit, inputs);
    if (!checked.ok) throw new Error(JSON.stringify(checked.details));
    const result = computeWitness(program, circuit, checked.values);
    if (!result.ok || findUnsatisfied(r1cs, result.witness) !== undefined) return undefined;
    return Array.from({ length: r1cs.outputCount }, (_, i) => hex(readBigIntLE(result.witness, 32 * (i + 1))));
  };
  return { run, constraints: r1cs.constraintCount };
}
type Template = Awaited<ReturnType<typeof load>>;

/** Small sizes compile in a second; the constraints grow by level. */
const DEPTH = 8;
const LEVELS = 16;

/** Constraints by the README's row, which says them for any size. */
function stated(template: string): number {
  const row = README.split("\n").find((line) => line.startsWith(`| \`${template}`)) ?? "";
  const [, factor, name, sign, rest] =
    /^(\d+) (depth|levels)(?: ([+-]) ([\d,]+))?$/.exec(row.split("|")[4]?.trim() ?? "") ?? [];
  const added = Number((rest ?? "0").replace(",", ""));
  return Number(factor) * (name === "depth" ? DEPTH : LEVELS) + (sign === "-" ? -added : added);
}

describe("templates of the dense tree", () => {
  let inclusion: Template, consistency: Template;
  const tree = new MemoryDenseTree(DEPTH);
  tree.append(Array.from({ length: 11 }, (_, i) => hex(1000 + i)));

  beforeAll(async () => {
    inclusion = await load("dense_tree.circom", `NoteInclusion(${String(DEPTH)})`);
    consistency = await load("dense_tree.circom", `TreeConsistency(${String(DEPTH)})`);
  });

  it("give the root for each leaf, and another one for another leaf or place", () => {
    for (const [index, size] of [
      [0, 1],
      [7, 8],
      [7, 11],
      [10, 11],
    ] as const) {
      const inputs = inclusionInputs(proveInclusion(tree, { index, size }));
      expect(inclusion.run(inputs)).toEqual([tree.roots[size]]);
      expect(inclusion.run({ ...inputs, Leaf: "1" })).not.toEqual([tree.roots[size]]);
      expect(inclusion.run({ ...inputs, Index: String(index + 1) })).not.toEqual([tree.roots[size]]);
    }
  });

  it("take no index beyond their depth, which would be another name of a place", () => {
    const inputs = inclusionInputs(proveInclusion(tree, { index: 3, size: 11 }));
    expect(inclusion.run({ ...inputs, Index: String(2 ** DEPTH + 3) })).toBeUndefined();
    expect(inclusion.run({ ...inputs, Index: (BN254.r - 1n).toString() })).toBeUndefined();
  });

  it("give both roots of a tree that grew, from no leaf on", () => {
    for (const [fromSize, toSize] of [
      [0, 0],
      [0, 11],
      [4, 7],
      [8, 8],
      [10, 11],
    ] as const) {
      const inputs = consistencyInputs(proveConsistency(tree, { fromSize, toSize }));
      expect(consistency.run(inputs)).toEqual([tree.roots[fromSize], tree.roots[toSize]]);
    }
  });

  it("give another root for a tree whose past was rewritten", () => {
    const rewritten = new MemoryDenseTree(DEPTH);
    rewritten.append([hex(1), ...Array.from({ length: 10 }, (_, i) => hex(1001 + i))]);
    const [from, to] = consistency.run(consistencyInputs(proveConsistency(rewritten, { fromSize: 6, toSize: 11 })))!;
    expect(to).toBe(rewritten.roots[11]);
    expect(from).not.toBe(tree.roots[6]);
  });

  it("know the roots of empty subtrees", () => {
    const table = FILES["dense_tree.circom"]!.match(/\b\d{60,}\b|^ {8}0(?=,)/gm)!.map((text) => hex(BigInt(text)));
    expect(table).toEqual(Array.from({ length: 32 }, (_, level) => emptySubtree(level, "BN254")));
  });

  it("have as many constraints as the README says", () => {
    expect(inclusion.constraints).toBe(stated("NoteInclusion"));
    expect(consistency.constraints).toBe(stated("TreeConsistency"));
  });
});

describe("templates of the nullifier tree", () => {
  let membership: Template, absence: Template;
  const tree = new MemorySparseTree();
  // Keys that share no path, a short and a long one.
  const keys = [1n, 2n, 5n, 5n + (1n << 12n), BN254.r - 1n, (1n << 253n) + 3n];
  tree.insert(keys.map((key) => ({ key: hex(key), value: hex(key / 2n) })));

  beforeAll(async () => {
    membership = await load("nullifier_tree.circom", `NullifierMembership(${String(LEVELS)})`);
    absence = await load("nullifier_tree.circom", `NullifierAbsence(${String(LEVELS)})`);
  });

  it("accept each key with its value and with no other", () => {
    for (const key of keys) {
      const inputs = nullifierInputs(tree.prove(hex(key)), LEVELS);
      expect(membership.run(inputs), String(key)).toBeDefined();
      expect(membership.run({ ...inputs, Value: "3" }), String(key)).toBeUndefined();
      expect(membership.run({ ...inputs, Key: "77" }), String(key)).toBeUndefined();
      expect(membership.run({ ...inputs, Root: "1" }), String(key)).toBeUndefined();
    }
  });

  it("accept the absence of keys whose path ends at an empty place or at another leaf", () => {
    const ends = [0n, 3n, 5n + (1n << 5n), 5n + (1n << 13n), BN254.r - 2n, 1n << 252n].map((key) => {
      const proof = tree.prove(hex(key));
      const inputs = nullifierInputs(proof, LEVELS);
      expect(absence.run(inputs), String(key)).toBeDefined();
      expect(absence.run({ ...inputs, IsOld0: proof.isOld0 ? "0" : "1" }), String(key)).toBeUndefined();
      expect(absence.run({ ...inputs, Root: "1" }), String(key)).toBeUndefined();
      return proof.isOld0;
    });
    expect(new Set(ends).size).toBe(2);
  });

  it("show no key absent that is there: not as empty, not by its own leaf, not by a factor in place of IsOld0", () => {
    const proof = tree.prove(hex(5n));
    const absent = { ...proof, found: false, value: hex(0) };
    const asEmpty = { ...absent, isOld0: true };
    const asItself = { ...absent, oldKey: proof.key, oldValue: proof.value };
    for (const forged of [asEmpty, asItself]) expect(absence.run(nullifierInputs(forged, LEVELS))).toBeUndefined();
    // (1 - IsOld0) * leaf of the old key = the leaf that is there.
    const leaf = poseidonTriple([5n, 2n, 1n]);
    const other = poseidonTriple([7n, 0n, 1n]);
    const factor = (1n - leaf * inverse(other, BN254.r)) % BN254.r;
    const inputs = nullifierInputs({ ...absent, oldKey: hex(7n) }, LEVELS);
    const forged = { ...inputs, IsOld0: ((factor + BN254.r) % BN254.r).toString() };
    expect(absence.run(forged)).toBeUndefined();
  });

  it("need more levels than a proof has siblings", () => {
    const deep = new MemorySparseTree();
    deep.insert([0n, 1n << BigInt(LEVELS - 1)].map((key) => ({ key: hex(key), value: hex(1) })));
    const proof = deep.prove(hex(0n));
    expect(proof.siblings).toHaveLength(LEVELS);
    expect(() => nullifierInputs(proof, LEVELS)).toThrow(RangeError);
    expect(() => nullifierInputs(proof, LEVELS + 1)).not.toThrow();
    const other = new MemorySparseTree("BLS12_381");
    expect(() => nullifierInputs(other.prove(hex(0n)), LEVELS)).toThrow("BN254");
  });

  it("have as many constraints as the README says", () => {
    expect(membership.constraints).toBe(stated("NullifierMembership"));
    expect(absence.constraints).toBe(stated("NullifierAbsence"));
  });
});
