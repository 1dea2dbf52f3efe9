/**
 * Provisioning as a durable job: every step fails, is cut off or races once, and the prover still ends where it must.
 */
import { describe, expect, it, vi } from "vitest";
import type { ProverCompute, SetupInput, StepFailure } from "../../../src/prover/compute/compute.js";
import type { ProverStatus } from "../../../src/prover/provisioning/lifecycle.js";
import { untilAborted } from "../../support/aborted.js";
import { PHRASE, sealBody, subject } from "../../vault/support.js";
import { LocalCompute } from "../local-compute.js";
import { eventually, provision, register, type TestRegistry } from "../support.js";
import { boot, dyingStore, proveAndVerify, reboot } from "./lives.js";

/** Compute whose step fails the first n times it is called. */
function failing(step: "compile" | "setup" | "gates", times: number, error: () => unknown): ProverCompute {
  const compute = new LocalCompute();
  let left = times;
  const inner = compute[step].bind(compute) as (...input: never[]) => Promise<never>;
  return Object.assign(compute, {
    [step]: async (...input: never[]) => {
      if (left > 0) {
        left -= 1;
        throw error();
      }
      return await inner(...input);
    },
  });
}

describe("provisioning", () => {
  it("takes a built-in circuit to provisioned through every status, with secrets that pin its keys", async () => {
    const test = await boot({ idle: true });
    const owner = subject();
    const prover = await register(test.provers, owner, { description: "stays as it is" });
    expect(prover).toMatchObject({
      status: "init",
      proving_key_id: null,
      verifying_key_id: null,
      description: "stays as it is",
      trusted_setup: "single_party",
    });
    const seen: ProverStatus[] = [];
    test.jobs.subscribe(() => {
      const { status } = test.provers.get(owner, prover.id);
      if (seen.at(-1) !== status) seen.push(status);
    });
    await test.jobs.start();
    // The record is in the store a moment before its listeners hear of it.
    await eventually("provisioned", () => seen.at(-1) === "provisioned");
    expect(seen).toEqual(["init", "compiling", "compiled", "pending_setup", "running_setup", "provisioned"]);
    const done = test.provers.get(owner, prover.id);
    expect(done).toMatchObject({ description: "stays as it is", errors: [], name: "cubic", identifier: "cubic" });
    for (const [id, kind, name] of [
      [done.proving_key_id, "groth16_proving_key", "proving_key"],
      [done.verifying_key_id, "groth16_verifying_key", "verifying_key.json"],
    ] as const) {
      const pin = JSON.parse(await test.vault.vault.retrieveSecret(owner, done.vault_id, id!)) as object;
      const { sha256, bytes } = await test.provers.artifact(owner, done.id, name);
      expect(pin).toMatchObject({ kind, sha256, bytes });
    }
    await proveAndVerify(test, owner, done.id);
  });

  it("answers the second prover of a circuit as compiled at once, with keys of its own if it asks for them", async () => {
    const test = await boot({ idle: false });
    const owner = subject();
    const first = await provision(test.provers, owner);
    const second = await register(test.provers, owner, { fresh_setup: true });
    expect(second.status).toBe("compiled");
    await eventually("provisioned", () => test.provers.get(owner, second.id).status === "provisioned");
    const keys = await Promise.all(
      [first, second].map(async ({ id }) => (await test.provers.artifact(owner, id, "proving_key")).sha256),
    );
    expect(keys[0]).not.toBe(keys[1]);
    const stranger = await register(test.provers, subject());
    expect(stranger.status).toBe("compiled");
  });

  it("does not tell one owner what another has compiled", async () => {
    const test = await boot();
    const source =
      "pragma circom 2.1.0; template A() { signal input x; signal input y; y === x * x; } component main {public [y]} = A();";
    const [one, other] = [subject(), subject()];
    expect((await provision(test.provers, one, { source })).status).toBe("provisioned");
    expect((await register(test.provers, one, { source })).status).toBe("compiled");
    expect((await register(test.provers, other, { source })).status).toBe("init");
  });

  it("fails with the compiler's diagnostics and leaves the description alone", async () => {
    const test = await boot();
    const owner = subject();
    const prover = await provision(test.provers, owner, {
      source: { "main.circom": "pragma circom 2.1.0;\ntemplate A() {\n  signal input x\n}\ncomponent main = A();" },
      description: "mine",
    });
    expect(prover).toMatchObject({ status: "failed", description: "mine", proving_key_id: null });
    expect(prover.errors[0]).toMatchObject({ file: "main.circom" });
    expect(prover.errors[0]!.line).toBeGreaterThanOrEqual(3);
    expect(test.provers.progress(owner, prover.id)).toMatchObject({
      status: "failed",
      finished: true,
      progress: 1,
      errors: prover.errors,
    });
  });

  it("keeps the compiler's warnings", async () => {
    const test = await boot();
    const source =
      "pragma circom 2.1.0; template A() { signal input x; signal output y; y <-- x * x; } component main = A();";
    const prover = await provision(test.provers, subject(), { source });
    expect(prover.warnings.length).toBeGreaterThan(0);
  });

  it.each(["compile", "setup", "gates"] as const)("does %s again after a fault of the machine", async (step) => {
    const test = await boot({ compute: failing(step, 2, () => new Error("worker lost")) });
    const owner = subject();
    const prover = await provision(test.provers, owner);
    expect(prover.status).toBe("provisioned");
    await proveAndVerify(test, owner, prover.id);
  });

  it("gives up after three faults in one phase, without the fault's text", async () => {
    const test = await boot({ compute: failing("setup", 3, () => new Error("toxic detail")) });
    const prover = await provision(test.provers, subject());
    expect(prover).toMatchObject({ status: "failed", errors: [{ code: "internal_error" }] });
    expect(JSON.stringify(prover)).not.toContain("toxic");
  });

  it("fails when a setup gate does not pass, and hands out no key", async () => {
    const compute = new LocalCompute();
    const test = await boot({
      compute: Object.assign(compute, {
        gates: async (): Promise<StepFailure> => ({
          ok: false,
          errors: [{ code: "setup_gate_failed", message: "the canary forgery verifies" }],
        }),
      }),
    });
    const owner = subject();
    const prover = await provision(test.provers, owner);
    expect(prover).toMatchObject({
      status: "failed",
      errors: [{ code: "setup_gate_failed", message: "the canary forgery verifies" }],
      proving_key_id: null,
    });
    await expect(test.provers.artifact(owner, prover.id, "proving_key")).rejects.toMatchObject({ code: "not_found" });
  });

  it("finds a swapped proving key between setup and gates", async () => {
    const compute = new LocalCompute();
    const other = new LocalCompute();
    const inner = compute.setup.bind(compute);
    const test = await boot({
      compute: Object.assign(compute, {
        setup: async (input: SetupInput) => {
          const [one, two] = [await inner(input), await other.setup(input)];
          return one.ok && two.ok ? { ok: true, value: { ...one.value, verifyingKey: two.value.verifyingKey } } : one;
        },
      }),
    });
    expect(await provision(test.provers, subject())).toMatchObject({
      status: "failed",
      errors: [{ code: "setup_gate_failed" }],
    });
  });

  it("waits for a sealed vault with everything else done, and goes on when it is unsealed", async () => {
    const compute = new LocalCompute();
    const gates = compute.gates.bind(compute);
    const test: TestRegistry = await boot({
      compute: Object.assign(compute, {
        gates: async (input: Parameters<typeof gates>[0]) => {
          const passed = await gates(input);
          await test.vault.vault.seal(owner, sealBody(PHRASE));
          return passed;
        },
      }),
    });
    const owner = subject();
    const prover = await register(test.provers, owner);
    await eventually("waiting for the vault", () => test.jobs.get(prover.id)?.phase === "keys");
    expect(test.provers.get(owner, prover.id).status).toBe("running_setup");
    await test.vault.seal.unseal(Buffer.from(PHRASE));
    await eventually("provisioned", () => test.provers.get(owner, prover.id).status === "provisioned");
    await proveAndVerify(test, owner, prover.id);
  });

  it("fails when its vault is deleted under it", async () => {
    const compute = new LocalCompute();
    const gates = compute.gates.bind(compute);
    const owner = subject();
    const test: TestRegistry = await boot({
      compute: Object.assign(compute, {
        gates: async (input: Parameters<typeof gates>[0]) => {
          const { body: vaults } = test.vault.vault.listVaults(owner, { page: 1, rpp: 25 });
          for (const vault of vaults) await test.vault.vault.deleteVault(owner, vault.id);
          return await gates(input);
        },
      }),
    });
    expect(await provision(test.provers, owner)).toMatchObject({ status: "failed", errors: [{ code: "vault_gone" }] });
  });
});

describe("provisioning over crashes", () => {
  it("finishes when the process dies once in every phase", async () => {
    const owner = subject();
    let isDead = false;
    let test = await boot({
      wrapStore: dyingStore(2, "after", () => {
        isDead = true;
      }),
    });
    const { id } = await register(test.provers, owner);
    for (let life = 0; life < 10 && test.provers.get(owner, id).status !== "provisioned"; life += 1) {
      await eventually("death or end", () => isDead || test.provers.get(owner, id).status === "provisioned");
      isDead = false;
      // Requeue and lease, then two commits of progress.
      test = await reboot(test, {
        wrapStore: dyingStore(5, "after", () => {
          isDead = true;
        }),
      });
    }
    test = await reboot(test);
    await eventually("provisioned", () => test.provers.get(owner, id).status === "provisioned");
    await proveAndVerify(test, owner, id);
  });

  it("stops in the middle of a step and goes on after the restart", async () => {
    const compute = new LocalCompute();
    let isWaiting = false;
    const first = await boot({
      compute: Object.assign(compute, {
        setup: async (_r1cs: Uint8Array, options: { signal: AbortSignal }) => {
          isWaiting = true;
          return await untilAborted(options.signal);
        },
      }),
    });
    const owner = subject();
    const { id } = await register(first.provers, owner);
    await eventually("setup runs", () => isWaiting);
    const second = await reboot(first);
    await eventually("provisioned", () => second.provers.get(owner, id).status === "provisioned");
  });

  it("compiles a circuit anew when another node has removed what was compiled before", async () => {
    const test = await boot();
    const owner = subject();
    const { id } = await provision(test.provers, owner);
    expect((await register(test.provers, owner)).status).toBe("compiled");
    const keep = vi.spyOn(test.artifacts, "keep").mockResolvedValue(false);
    const anew = await register(test.provers, owner);
    expect(anew.status).toBe("init");
    await eventually("provisioned", () => test.provers.get(owner, anew.id).status === "provisioned");
    keep.mockRestore();
    await proveAndVerify(test, owner, anew.id);
    await proveAndVerify(test, owner, id);
  });

  it("removes files that no record names, and only those", async () => {
    const test = await boot();
    const owner = subject();
    const prover = await provision(test.provers, owner);
    const orphan = await test.artifacts.put(Buffer.from("left by a crash"));
    expect(await test.registry.removeOrphans()).toBe(0);
    const { utimesSync } = await import("node:fs");
    const used = await test.provers.artifact(owner, prover.id, "proving_key");
    for (const path of [await test.artifacts.resolve(orphan.sha256), used.path])
      utimesSync(path, new Date(0), new Date(0));
    expect(await test.registry.removeOrphans()).toBe(1);
    expect(test.artifacts.has(orphan.sha256)).toBe(false);
    await proveAndVerify(test, owner, prover.id);
  });
});
