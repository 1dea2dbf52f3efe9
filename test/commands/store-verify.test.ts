/** `proofwright store verify`: proofs in files, without a server. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runStoreVerify } from "../../src/commands/store.js";
import { proveConsistency, proveInclusion } from "../../src/engine/merkle/dense-proofs.js";
import { consistencyJson, inclusionJson, sparseJson } from "../../src/engine/merkle/proof-json.js";
import { temporaryFolder } from "../platform/auth/support.js";
import { hex, MemoryDenseTree, MemorySparseTree } from "../support/trees.js";

const dense = new MemoryDenseTree(32);
dense.append([11, 12, 13].map(hex));
const sparse = new MemorySparseTree();
sparse.insert([{ key: hex(5), value: hex(6) }]);
let printed: string;
let file: string;

beforeEach(() => {
  file = join(temporaryFolder(), "proof.json");
  printed = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

async function verify(json: unknown, root?: string): Promise<number> {
  writeFileSync(file, typeof json === "string" ? json : JSON.stringify(json));
  return await runStoreVerify({ file, root });
}

describe("store verify", () => {
  const inclusion = inclusionJson(proveInclusion(dense, { index: 1, size: 3 }));

  it("says what each kind of proof proves", async () => {
    expect(await verify(inclusion)).toBe(0);
    expect(printed).toContain(`note 1 of the tree of 3 notes with the root ${dense.state.root}`);
    expect(await verify(consistencyJson(proveConsistency(dense, { fromSize: 2, toSize: 3 })))).toBe(0);
    expect(printed).toContain("is the beginning of the tree of 3 notes");
    expect(await verify(sparseJson(sparse.prove(hex(5))))).toBe(0);
    expect(printed).toContain(`${hex(5)} has the value ${hex(6)}`);
    expect(await verify(sparseJson(sparse.prove(hex(4))))).toBe(0);
    expect(printed).toContain(`${hex(4)} is absent`);
  });

  it("ends with status 1 for a proof that does not hold, and for another root than the trusted one", async () => {
    expect(await verify({ ...inclusion, leaf: hex(1) })).toBe(1);
    expect(printed).toContain("does not hold");
    expect(await verify(inclusion, dense.roots[2])).toBe(1);
    expect(printed).toContain(`its root is another one: ${dense.state.root}`);
    expect(await verify(inclusion, dense.state.root)).toBe(0);
  });

  it("names what is wrong with a file that is no proof", async () => {
    await expect(verify("{")).rejects.toThrow("proof.json is no JSON");
    await expect(verify({ ...inclusion, index: "1" })).rejects.toThrow("index");
    await expect(verify(inclusion, "12")).rejects.toThrow("--root");
    await expect(verify(" ".repeat(1_048_577))).rejects.toThrow("longer");
    await expect(runStoreVerify({ file: `${file}.none`, root: undefined })).rejects.toThrow("cannot be read");
  });
});
