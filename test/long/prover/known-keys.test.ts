/** The same circuit again, for the same owner: its keys are there at once, and nobody else's are. */
import { appendFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import type { GatesInput, SetupInput } from "../../../src/prover/compute/compute.js";
import { ProverRepository } from "../../../src/prover/repository.js";
import type { Prover } from "../../../src/prover/schemas.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { subject } from "../../vault/support.js";
import { LocalCompute } from "../../prover/local-compute.js";
import { never, openTestRegistry, principalOf, provision, type TestRegistry } from "../../prover/support.js";

class CountedCompute extends LocalCompute {
  setups = 0;
  gateRuns = 0;

  override async setup(input: SetupInput): ReturnType<LocalCompute["setup"]> {
    this.setups += 1;
    return await super.setup(input);
  }

  override async gates(input: GatesInput): ReturnType<LocalCompute["gates"]> {
    this.gateRuns += 1;
    return await super.gates(input);
  }
}

const opened: TestRegistry[] = [];
afterEach(async () => {
  for (const test of opened.splice(0)) {
    await test.close({ keep: true });
    removeFolder(test.folder);
  }
});

async function boot(): Promise<{ test: TestRegistry; compute: CountedCompute; owner: Subject }> {
  const compute = new CountedCompute();
  const test = await openTestRegistry({ compute });
  opened.push(test);
  return { test, compute, owner: subject() };
}

const keyOf = async (test: TestRegistry, owner: Subject, { id }: Prover) =>
  await test.provers.artifact(owner, id, "proving_key");

/** Keeps a string as though it had been checked; returns its SHA-256. */
async function publish({ artifacts, store }: TestRegistry, content: Uint8Array, power: number): Promise<string> {
  const { sha256, bytes } = await artifacts.put(content);
  const string = { curve: "BN254", power, sha256, bytes, origin: "ceremony" };
  const created_at = new Date().toISOString();
  await store.commit({ puts: [{ key: ["reference_string", "BN254", sha256], value: { ...string, created_at } }] });
  return sha256;
}

async function requireProofs(test: TestRegistry, owner: Subject, { id }: Prover): Promise<void> {
  const { proof } = await test.provers.prove(owner, id, { inputs: { X: "3", Y: "35" }, signal: never });
  const item = { witness: { Y: "35" }, proof };
  expect(await test.provers.verify(principalOf(owner), id, { item, store: false, signal: never })).toBe(true);
}

describe("a second prover of a circuit", () => {
  it("takes the keys of the first, pinned in its own vault, without a setup or gates", async () => {
    const { test, compute, owner } = await boot();
    const first = await provision(test.provers, owner);
    const second = await provision(test.provers, owner);
    expect(second).toMatchObject({ status: "provisioned", errors: [], trusted_setup: "single_party" });
    expect([compute.setups, compute.gateRuns]).toEqual([1, 1]);
    expect((await keyOf(test, owner, second)).sha256).toBe((await keyOf(test, owner, first)).sha256);
    expect(second.vault_id).not.toBe(first.vault_id);
    expect(second.proving_key_id).not.toBe(first.proving_key_id);
    await requireProofs(test, owner, second);
  });

  it("keeps the files when the first is deleted, and they go with the last", async () => {
    const { test, owner } = await boot();
    const first = await provision(test.provers, owner);
    const second = await provision(test.provers, owner);
    const { sha256 } = await keyOf(test, owner, first);
    await test.provers.delete(owner, first.id);
    await requireProofs(test, owner, second);
    await test.provers.delete(owner, second.id);
    expect(test.artifacts.has(sha256)).toBe(false);
  });

  it("makes keys of its own when it asks for a fresh setup, and passes them on to none", async () => {
    const { test, compute, owner } = await boot();
    const first = await provision(test.provers, owner);
    const fresh = await provision(test.provers, owner, { fresh_setup: true });
    expect(compute.setups).toBe(2);
    expect((await keyOf(test, owner, fresh)).sha256).not.toBe((await keyOf(test, owner, first)).sha256);
    await test.provers.delete(owner, first.id);
    await provision(test.provers, owner);
    expect(compute.setups).toBe(3);
  });

  it("makes keys of its own for another owner, another scheme and other options of the compiler", async () => {
    const { test, compute, owner } = await boot();
    await provision(test.provers, owner);
    expect((await provision(test.provers, subject())).status).toBe("provisioned");
    expect(compute.setups).toBe(2);
    await provision(test.provers, owner, { options: { optimization: 1 } });
    expect(compute.setups).toBe(3);
    expect(await provision(test.provers, owner, { proving_scheme: "plonk" })).toMatchObject({
      status: "provisioned",
      setup: { origin: "development" },
    });
    expect(compute.setups).toBeGreaterThan(3);
  });

  it("makes keys of its own when the same source has other constraints by now", async () => {
    const { test, compute, owner } = await boot();
    const first = await provision(test.provers, owner);
    const repository = new ProverRepository(test);
    const record = repository.find(owner, first.id)!;
    const { build } = record.value;
    const artifacts = { ...build.artifacts, "circuit.r1cs": build.artifacts["circuit.wasm"]! };
    await test.store.commit(repository.update(record, { ...record.value, build: { ...build, artifacts } }));
    await requireProofs(test, owner, await provision(test.provers, owner));
    expect(compute.setups).toBe(2);
  });

  it("makes keys of its own when those of the first are damaged or no longer pinned", async () => {
    const { test, compute, owner } = await boot();
    const first = await provision(test.provers, owner);
    appendFileSync((await keyOf(test, owner, first)).path, "x");
    const second = await provision(test.provers, owner);
    expect(compute.setups).toBe(2);
    await requireProofs(test, owner, second);
    await test.vault.vault.deleteSecret(owner, second.vault_id, second.proving_key_id!);
    const third = await provision(test.provers, owner);
    expect(compute.setups).toBe(3);
    await requireProofs(test, owner, third);
  });
});

describe("a second prover of a universal scheme", () => {
  it("takes the keys of the first until a string is published that comes before theirs", async () => {
    const { test, compute, owner } = await boot();
    const first = await provision(test.provers, owner, { proving_scheme: "plonk" });
    const setups = compute.setups;
    const second = await provision(test.provers, owner, { proving_scheme: "plonk" });
    expect(second.setup).toEqual(first.setup);
    expect(compute.setups).toBe(setups);
    await requireProofs(test, owner, second);

    const made = await compute.makeReferenceString({ curve: "BN254", power: 10 });
    const sha256 = await publish(test, made.value, 10);
    const third = await provision(test.provers, owner, { proving_scheme: "plonk" });
    expect(third.setup).toEqual({ origin: "ceremony", sha256, power: 10 });
  });
});

describe("a second prover whose phase 1 is asked for", () => {
  const POWER = 4;

  it("takes no keys of a setup without a string, nor of another string, and gives none to one without", async () => {
    const { test, compute, owner } = await boot();
    const [one, two] = [
      await publish(test, await makePowersOfTau(POWER, { isPrepared: true }), POWER),
      await publish(test, await makePowersOfTau(POWER + 1, { isPrepared: true }), POWER + 1),
    ];
    const provisionWith = async (phase1?: string): Promise<readonly [string | undefined, number]> => {
      const before = compute.setups;
      const made = await provision(test.provers, owner, phase1 === undefined ? {} : { phase1 });
      expect(made).toMatchObject({ status: "provisioned", errors: [] });
      return [made.setup?.sha256, compute.setups - before];
    };
    expect(await provisionWith()).toEqual([undefined, 1]);
    expect(await provisionWith(two)).toEqual([two, 1]);
    expect(await provisionWith("published")).toEqual([one, 1]);
    // Of the same string they are shared, whoever asked for it by its hash.
    expect(await provisionWith(one)).toEqual([one, 0]);
    expect(await provisionWith(two)).toEqual([two, 0]);
    expect(await provisionWith("published")).toEqual([one, 0]);
    expect(await provisionWith()).toEqual([undefined, 0]);
  });

  it("takes the keys of the first until a string is published that comes before theirs", async () => {
    const { test, owner } = await boot();
    const later = await publish(test, await makePowersOfTau(POWER + 1, { isPrepared: true }), POWER + 1);
    const first = await provision(test.provers, owner, { phase1: "published" });
    expect(first.setup?.sha256).toBe(later);
    const smaller = await publish(test, await makePowersOfTau(POWER, { isPrepared: true }), POWER);
    const second = await provision(test.provers, owner, { phase1: "published" });
    expect(second.setup?.sha256).toBe(smaller);
    await requireProofs(test, owner, second);
  });
});
