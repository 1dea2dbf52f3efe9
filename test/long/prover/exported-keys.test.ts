/** Proving keys as snarkjs' file, which are made when they are first asked for: who waits for whom, and how long. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { exportNeeds } from "../../../src/engine/proof-systems/memory-needs.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import type { ProverCompute } from "../../../src/prover/compute/compute.js";
import { AppError } from "../../../src/platform/errors.js";
import { MADE_FILES, MadeFiles } from "../../../src/prover/made-files.js";
import { SourceFiles } from "../../../src/prover/provisioning/source-files.js";
import { ProverRepository } from "../../../src/prover/repository.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { subject } from "../../vault/support.js";
import { LocalCompute } from "../../prover/local-compute.js";
import { CUBIC, eventually, failureOf, openTestRegistry, provision, type TestRegistry } from "../../prover/support.js";

/** Notes in whose turn files are made, and holds them until the test lets them go. */
class HeldCompute extends LocalCompute {
  readonly turns: (string | undefined)[] = [];
  gate: Promise<void> = Promise.resolve();

  override async exportZkey(
    ...[input, options]: Parameters<ProverCompute["exportZkey"]>
  ): ReturnType<LocalCompute["exportZkey"]> {
    this.turns.push(options?.owner);
    await this.gate;
    return await super.exportZkey(input);
  }

  /** Files wait from now on until the returned function is called. */
  hold(): () => void {
    let open = (): void => undefined;
    this.gate = new Promise((resolve) => (open = resolve));
    return open;
  }
}

const compute = new HeldCompute();
const PLONK = { ...CUBIC, proving_scheme: "plonk" } as const;
let test: TestRegistry;
let owner: Subject;

beforeAll(async () => {
  test = await openTestRegistry({ compute });
});
afterAll(async () => {
  await test.close({ keep: true });
  removeFolder(test.folder);
});
beforeEach(() => {
  owner = subject();
  compute.turns.length = 0;
  compute.gate = Promise.resolve();
});

const made = async (who: Subject): Promise<string> => (await provision(test.provers, who, PLONK)).id;
const download = async (who: Subject, id: string, signal?: AbortSignal) =>
  await test.provers.artifact(who, id, "proving_key.zkey", signal);
const listed = async (id: string) =>
  (await test.provers.artifacts(owner, id)).find(({ name }) => name === "proving_key.zkey");

describe("a proving key as snarkjs' file", () => {
  it("is made once for twenty who ask first, and kept", async () => {
    const id = await made(owner);
    expect(await listed(id)).toMatchObject({ sha256: null, complete: false });
    const files = await Promise.all(Array.from({ length: 20 }, async () => await download(owner, id)));
    expect(new Set(files.map(({ sha256 }) => sha256)).size).toBe(1);
    expect(compute.turns).toHaveLength(1);
    expect(await download(owner, id)).toEqual(files[0]);
    expect(compute.turns).toHaveLength(1);
    expect(await listed(id)).toMatchObject({ sha256: files[0]?.sha256, complete: true });
  });

  it("does not wait for all that another owner has asked for", async () => {
    const other = subject();
    const ids = [await made(owner), await made(owner), await made(owner)];
    const theirs = await made(other);
    const open = compute.hold();
    const mine = ids.map(async (id) => await download(owner, id));
    await eventually("the first file is begun", () => compute.turns.length === 1);
    const one = download(other, theirs);
    open();
    await Promise.all([...mine, one]);
    const turn = compute.turns[0];
    expect(compute.turns).toHaveLength(4);
    expect(compute.turns.findIndex((each) => each !== turn)).toBeLessThan(3);
  });

  it("is made though its asker has gone", async () => {
    const id = await made(owner);
    const open = compute.hold();
    const asker = new AbortController();
    const gone = failureOf(() => download(owner, id, asker.signal));
    await eventually("the file is begun", () => compute.turns.length === 1);
    asker.abort(new AppError("shutting_down", { message: "the caller went away" }));
    expect(await gone).toMatchObject({ message: "the caller went away" });
    open();
    await eventually("the file is made", async () => (await listed(id))?.complete === true);
    await download(owner, id);
    expect(compute.turns).toHaveLength(1);
  });

  it("is the next prover's of the same circuit and owner too", async () => {
    const file = await download(owner, await made(owner));
    expect(await listed(await made(owner))).toMatchObject({ sha256: file.sha256, complete: true });
  });

  it("is not written from a key that the vault has not pinned", async () => {
    const prover = await provision(test.provers, owner, PLONK);
    const repository = new ProverRepository({ store: test.store });
    const record = repository.find(owner, prover.id)!;
    const { build } = record.value;
    const artifacts = { ...build.artifacts, proving_key: build.artifacts["verifying_key.json"]! };
    await test.store.commit(repository.update(record, { ...record.value, build: { ...build, artifacts } }));
    expect(await failureOf(() => download(owner, prover.id))).toMatchObject({ code: "artifact_corrupt" });
    expect(compute.turns).toEqual([]);
  });
});

describe("the disk of an owner's files", () => {
  const scarce = async (bytes: number) => await openTestRegistry({ compute, zkeyBytesPerOwnerMax: bytes });
  const circuitOf = (constant: number) => ({
    proving_scheme: "plonk",
    curve: "BN254",
    source: `pragma circom 2.0.0; template T() { signal input a; signal output b; b <== a * a + ${String(constant)}; } component main = T();`,
  });

  it("gives up the file of the oldest prover, which is made again when it is asked for", async () => {
    const { id, ...one } = await provision(test.provers, owner, circuitOf(9));
    expect(one.status).toBe("provisioned");
    // Room for one file, and for a second one as long as it may be told to be at most.
    const { bytes } = await download(owner, id);
    const keyBytes = (await test.provers.artifacts(owner, id)).find(({ name }) => name === "proving_key")!.bytes!;
    const circuit = { constraintCount: 1, wireCount: 3, outputCount: 1, publicInputCount: 0 };
    const registry = await scarce(bytes + exportNeeds("plonk/BN254", circuit, { keyBytes }).file);
    try {
      const ask = async (id: string) => await registry.provers.artifact(owner, id, "proving_key.zkey");
      const isKept = async (id: string) =>
        (await registry.provers.artifacts(owner, id)).find(({ name }) => name === "proving_key.zkey")?.complete;
      const ids: string[] = [];
      for (const constant of [1, 2, 3]) ids.push((await provision(registry.provers, owner, circuitOf(constant))).id);
      const [first, second, third] = ids as [string, string, string];
      const paths: string[] = [];
      for (const id of ids) paths.push((await ask(id)).path);
      expect([await isKept(first), await isKept(second), await isKept(third)]).toEqual([false, true, true]);
      expect(paths.map((path) => existsSync(path))).toEqual([false, true, true]);
      expect((await ask(first)).path).toBe(paths[0]);
      expect([await isKept(first), await isKept(second), await isKept(third)]).toEqual([true, false, true]);
      // Another owner has disk of its own.
      const other = subject();
      const theirs = await provision(registry.provers, other, circuitOf(1));
      await registry.provers.artifact(other, theirs.id, "proving_key.zkey");
      expect(await isKept(third)).toBe(true);
      await registry.provers.delete(owner, third);
      expect(existsSync(paths[2]!)).toBe(false);
    } finally {
      await registry.close();
    }
  });

  it("offers no file that is longer than all of it, and makes none", async () => {
    const registry = await scarce(10_000);
    try {
      const { id } = await provision(registry.provers, owner, PLONK);
      const names = (await registry.provers.artifacts(owner, id)).map(({ name }) => name);
      expect(names).toContain("proving_key");
      expect(names).not.toContain("proving_key.zkey");
      const refused = await failureOf(() => registry.provers.artifact(owner, id, "proving_key.zkey"));
      expect(refused).toMatchObject({ code: "not_found" });
      expect(compute.turns).toEqual([]);
    } finally {
      await registry.close();
    }
  });

  it("keeps nothing of a file that was not finished", async () => {
    const id = await made(owner);
    const open = compute.hold();
    const asked = failureOf(() => download(owner, id));
    await eventually("the file is begun", () => compute.turns.length === 1);
    await test.provers.delete(owner, id);
    open();
    expect(await asked).toMatchObject({ code: "not_found" });
    expect(readdirSync(join(test.folder, "artifacts", "tmp"))).toEqual([]);
  });
});

describe("an asker that waits too long", () => {
  it("hears that the file is still being made, and gets it when it asks again", async () => {
    const { store, artifacts } = test;
    const repository = new ProverRepository({ store });
    const prover = repository.find(owner, await made(owner))!.value;
    const files = new SourceFiles({ artifacts, isUsed: (sha256) => repository.needsFile(sha256) });
    const parts = { store, repository, files, turnOf: ({ id }: Subject) => id };
    const makes = new MadeFiles({ name: MADE_FILES.zkey, makeMs: 60_000, waitMs: 1 }, parts);
    let end = (_content: Uint8Array): void => undefined;
    const content = new Promise<Uint8Array>((resolve) => (end = resolve));
    expect(await failureOf(() => makes.get(prover, { subject: owner }, async () => await content))).toMatchObject({
      ...{ code: "deadline_exceeded", message: expect.stringMatching(/still being made/) as string },
      retryAfterSec: 10,
    });
    end(Buffer.from("a key"));
    await eventually("the file is made", async () => (await listed(prover.id))?.complete === true);
  });
});
