/** Statements about trees through the registry: real keys and real proofs of each template and built-in circuit. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { consistencyInputs, inclusionInputs, nullifierInputs } from "../../../src/engine/merkle/circuit-inputs.js";
import type { CircuitInputs } from "../../../src/engine/merkle/circuit-inputs.js";
import { proveConsistency, proveInclusion } from "../../../src/engine/merkle/dense-proofs.js";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { failureOf, never, openTestRegistry, principalOf, provision } from "../../prover/support.js";
import type { TestRegistry } from "../../prover/support.js";
import { hex, MemoryDenseTree, MemorySparseTree } from "../../support/trees.js";
import { subject } from "../../vault/support.js";

/** Deeper than any path of the tests; a circuit of 32 levels takes four times as long to make. */
const LEVELS = 8;
const owner = subject();
const read = (path: string): string => readFileSync(join(PACKAGE_ROOT, "circuits", path), "utf8");
const decimal = (text: string): string => BigInt(`0x${text}`).toString();
let test: TestRegistry;

beforeAll(async () => {
  test = await openTestRegistry();
});

afterAll(async () => {
  await test.close();
});

/** Proves the inputs and verifies the proof; then it must not hold for another value of a public signal. */
async function holds(
  proverId: string,
  inputs: CircuitInputs,
  { changed, outputs = {} }: { readonly changed: CircuitInputs; readonly outputs?: CircuitInputs },
): Promise<void> {
  const { proof } = await test.provers.prove(owner, proverId, { inputs, signal: never });
  const verify = async (witness: CircuitInputs): Promise<boolean> =>
    await test.provers.verify(principalOf(owner), proverId, { item: { witness, proof }, store: false, signal: never });
  expect(await verify({ ...inputs, ...outputs })).toBe(true);
  expect(await verify({ ...inputs, ...outputs, ...changed })).toBe(false);
}

async function template(file: string, call: string, publics: string): Promise<string> {
  const main = `pragma circom 2.1.0;\ninclude "${file}";\ncomponent main ${publics}= ${call};\n`;
  const source = { "main.circom": main, [file]: read(file) };
  return (await provision(test.provers, owner, { source, main: "main.circom" })).id;
}

it("proves that a note is in the tree, and that a tree grew out of another", async () => {
  const tree = new MemoryDenseTree(32);
  tree.append([5, 6, 7, 8, 9].map(hex));
  const inclusion = await template("dense_tree.circom", "NoteInclusion(32)", "{public [Leaf]} ");
  const root = decimal(tree.state.root);
  const leaf = inclusionInputs(proveInclusion(tree, { index: 3, size: 5 }));
  await holds(inclusion, leaf, { outputs: { Root: root }, changed: { Root: "1" } });
  const consistency = await template("dense_tree.circom", "TreeConsistency(32)", "{public [Size]} ");
  const grown = consistencyInputs(proveConsistency(tree, { fromSize: 2, toSize: 5 }));
  const outputs = { FromRoot: decimal(tree.roots[2]!), ToRoot: root };
  await holds(consistency, grown, { outputs, changed: { Size: "3" } });
});

it("proves that a nullifier was spent, and that another was not", async () => {
  const tree = new MemorySparseTree();
  tree.insert([3n, 19n, BN254.r - 1n].map((key) => ({ key: hex(key), value: hex(1) })));
  const publics = "{public [Root, Key]} ";
  const member = await template("nullifier_tree.circom", `NullifierMembership(${String(LEVELS)})`, publics);
  await holds(member, nullifierInputs(tree.prove(hex(19)), LEVELS), { changed: { Key: "3" } });
  const absence = await template("nullifier_tree.circom", `NullifierAbsence(${String(LEVELS)})`, publics);
  for (const key of [2n, 35n])
    await holds(absence, nullifierInputs(tree.prove(hex(key)), LEVELS), { changed: { Key: "4" } });
  const spent = { ...tree.prove(hex(19)), found: false };
  const forged = { inputs: nullifierInputs(spent, LEVELS), signal: never };
  expect(await failureOf(() => test.provers.prove(owner, absence, forged))).toMatchObject({
    code: "constraints_unsatisfied",
  });
});

it.each([
  ["semaphore", { message: "36" }],
  ["ownership", { Message: "36" }],
])("proves %s, for one message only", async (identifier, changed) => {
  const { id } = await provision(test.provers, owner, { identifier });
  const { satisfying, violating } = JSON.parse(read(`${identifier}/inputs.json`)) as Record<string, CircuitInputs>;
  await holds(id, satisfying!, { changed });
  expect(await failureOf(() => test.provers.prove(owner, id, { inputs: violating!, signal: never }))).toMatchObject({
    code: "constraints_unsatisfied",
  });
});
