/** Large circuits are provisioned one after the other, and small ones wait for none of them. */
import { afterEach, describe, expect, it } from "vitest";
import type { CircuitInterface } from "../../../src/engine/circuit/interface.js";
import { circomProvider } from "../../../src/prover/providers/circom.js";
import type { BuiltProver, ProviderFactory } from "../../../src/prover/providers/provider.js";
import type { Prover } from "../../../src/prover/schemas.js";
import { untilAborted } from "../../support/aborted.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { subject } from "../../vault/support.js";
import {
  eventually,
  never,
  openTestRegistry,
  provision,
  register,
  type TestRegistry,
  type TestRegistryOptions,
} from "../../prover/support.js";

const SOURCE = "template Product() { signal input a; signal output b; b <== a * a; } component main = Product();";
const LARGE_BYTES = 256 * 2 ** 20;

const opened: TestRegistry[] = [];
afterEach(async () => {
  for (const test of opened.splice(0)) {
    await test.close({ keep: true });
    removeFolder(test.folder);
  }
});

async function boot(providers: readonly ProviderFactory[], folder?: string): Promise<TestRegistry> {
  return await bootWith({ providers, ...(folder === undefined ? {} : { folder }) });
}

async function bootWith(options: TestRegistryOptions): Promise<TestRegistry> {
  const test = await openTestRegistry(options);
  opened.push(test);
  return test;
}

/** Circuits of callers count as large, and their setup lasts until it is released. */
function heldSetups(): { readonly provider: ProviderFactory; readonly ends: (() => void)[] } {
  const ends: (() => void)[] = [];
  const provider: ProviderFactory = (dependencies) => {
    const circom = circomProvider(dependencies);
    return {
      ...circom,
      setupSize: ({ program }) => Promise.resolve(program.isBuiltIn ? 0 : LARGE_BYTES),
      setup: async (prover, strings, options) => {
        const released = new Promise<void>((resolve) => {
          if (prover.program.isBuiltIn) resolve();
          else ends.push(resolve);
        });
        await (options.signal === undefined ? released : Promise.race([released, untilAborted(options.signal)]));
        return await circom.setup(prover, strings, options);
      },
    };
  };
  return { provider, ends };
}

describe("large circuits", () => {
  it("are provisioned one at a time, beside small ones", async () => {
    const { provider, ends } = heldSetups();
    const test = await boot([provider]);
    const owners = [subject(), subject()];
    const large: Prover[] = [];
    for (const owner of owners) large.push(await register(test.provers, owner, { source: SOURCE }));
    const statuses = (): string[] => large.map(({ id }, i) => test.provers.get(owners[i]!, id).status);
    await eventually("both in the line", () => statuses().every((status) => status === "running_setup"));
    await eventually("the first setup", () => ends.length === 1);
    const small = await provision(test.provers, subject());
    expect(small.status).toBe("provisioned");
    expect(ends).toHaveLength(1);
    expect(statuses()).toEqual(["running_setup", "running_setup"]);
    ends[0]!();
    await eventually("the second setup", () => ends.length === 2);
    await eventually("the first has ended", () => statuses().includes("provisioned"));
    ends[1]!();
    await eventually("both have ended", () => statuses().every((status) => status === "provisioned"));
  });

  it("stay in their line across a restart", async () => {
    const before = heldSetups();
    const first = await boot([before.provider]);
    const owner = subject();
    const { id } = await register(first.provers, owner, { source: SOURCE });
    await eventually("the setup", () => before.ends.length === 1);
    opened.splice(opened.indexOf(first), 1);
    await first.close({ keep: true });
    const after = heldSetups();
    const second = await boot([after.provider], first.folder);
    await eventually("the setup again", () => after.ends.length === 1);
    expect((await provision(second.provers, subject())).status).toBe("provisioned");
    expect(second.jobs.get(id)).toMatchObject({ kind: "provision_large_prover", attempt: 1, state: "running" });
    after.ends[0]!();
    await eventually("provisioned", () => second.provers.get(owner, id).status === "provisioned");
  });

  it("from outside are read in that line as well", async () => {
    const test = await bootWith({ largeBytes: 1000 });
    const owner = subject();
    const known = await provision(test.provers, owner);
    const { sha256: r1cs } = await test.provers.artifact(owner, known.id, "circuit.r1cs");
    const { sha256: wasm } = await test.provers.artifact(owner, known.id, "circuit.wasm");
    // Named by their hashes, the files of an own prover need no upload.
    const files = { "circuit.r1cs": { sha256: r1cs }, "circuit.wasm": { sha256: wasm } };
    const request = { proving_scheme: "groth16", curve: "BN254", import: files };
    const made = await test.provers.create(owner, request, { waitSec: 60, signal: never });
    expect([known.status, made.status]).toEqual(["provisioned", "provisioned"]);
    for (const { id } of [known, made]) expect(test.jobs.get(id)?.kind).toBe("provision_large_prover");
  });

  it("are told by what their open keys will take", async () => {
    let setupSize: ((prover: BuiltProver) => Promise<number>) | undefined;
    await boot([
      (dependencies) => {
        const circom = circomProvider(dependencies);
        ({ setupSize } = circom);
        return circom;
      },
    ]);
    const sizeOf = async (scheme: string, power: number): Promise<number> => {
      const count = 2 ** power - 8;
      const circuit: Omit<CircuitInterface, "curve" | "signals"> = {
        ...{ constraintCount: count, wireCount: count, outputCount: 1, publicInputCount: 1, privateInputCount: 1 },
      };
      const prover = {
        system: { proving_scheme: scheme, curve: "BN254" },
        stored: () => ({ sha256: "", bytes: 150 * count }),
        read: () => Promise.resolve(Buffer.from(JSON.stringify(circuit))),
      } as unknown as BuiltProver;
      return await setupSize!(prover);
    };
    for (const [scheme, large] of [
      ["groth16", 18],
      ["plonk", 17],
      ["fflonk", 16],
    ] as const) {
      expect(await sizeOf(scheme, large), scheme).toBeGreaterThan(LARGE_BYTES);
      expect(await sizeOf(scheme, large - 3), scheme).toBeLessThan(LARGE_BYTES);
    }
  });
});
