/** One PLONK proof on several threads, and with a key in sections: the same as on one for the same blinding. */
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { buildPlonkKey, plonkKeyBytes } from "../../../src/engine/kernels/plonk/build-plonk-key.js";
import { PlonkProver } from "../../../src/engine/kernels/plonk/plonk-prover.js";
import { keyMemoryPages, sizingKernels } from "../../../src/engine/kernels/threads/key-memory.js";
import type { KeyPlaces } from "../../../src/engine/kernels/threads/key-memory.js";
import { createTeam } from "../../../src/engine/kernels/threads/thread-team.js";
import { makeDevelopmentSetup } from "../../../src/engine/plonk/development-setup.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import { domainPowerOf } from "../../../src/engine/plonk/key.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { chainFixture } from "../../support/groth16-fixtures.js";
import { plonkBlinding } from "../../support/plonk-fixtures.js";

const PAGE_BYTES = 65_536;
const fixture = chainFixture(3000);
const gates = gatesOf(fixture.r1cs);
const making = loadReferenceKernels().then((kernels) => makeDevelopmentSetup(kernels, domainPowerOf(gates.gateCount)));

/** The smallest memory that holds the key when its cosets lie outside. */
function sectionedBytes(places: KeyPlaces): number {
  const options = { curve: BN254, ...places };
  return PAGE_BYTES * keyMemoryPages(plonkKeyBytes(sizingKernels(options), gates, "sectioned"), options);
}

it.each([
  ["whole in one memory", { workspaces: 2 }, false],
  ["in sections", { workspaces: 2 }, true],
  ["in sections, with room for one workspace and a helper", { workspaces: 1, helpers: 1 }, true],
] as const)(
  "is the same on one thread and two with a key %s, and gives all places back",
  async (_name, places, cut) => {
    const points = await making;
    const whole = buildPlonkKey(gates, points, { curve: BN254, workspaces: 1 });
    const limit = cut ? { memoryBytesMax: sectionedBytes(places) } : {};
    const key = buildPlonkKey(gates, points, { curve: BN254, ...places, ...limit });
    expect(key.domainPower).toBeGreaterThan(12);
    expect(key.verifyingKey).toEqual(whole.verifyingKey);
    expect(key.sectionBytes !== undefined).toBe(cut);
    if (cut) expect(key.keyBytes).toBeLessThan(whole.keyBytes / 2);
    const alone = new PlonkProver(whole, BN254);
    const prover = new PlonkProver(key, BN254);
    const helper = new Worker(new URL("../../support/kernel-helper.worker.mjs", import.meta.url), {
      workerData: { key, scheme: "plonk" },
    });
    const heard = (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        helper.once("message", resolve);
        helper.once("error", reject);
      });
    try {
      await heard();
      for (let i = 0; i < 2; i += 1) {
        const blinding = plonkBlinding();
        const [team, helped] = [createTeam(), heard()];
        helper.postMessage({ team });
        const { proof } = prover.prove(fixture.witness, blinding, team);
        await helped;
        expect(proof).toEqual(alone.prove(fixture.witness, blinding).proof);
        expect(proof).toEqual(prover.prove(fixture.witness, blinding).proof);
        expect([...new Int32Array(key.memory.buffer, key.workspaceFlags, 2)]).toEqual([0, 0]);
      }
    } finally {
      await helper.terminate();
    }
  },
);

it("has no key in a memory that is too small for its sections, too", async () => {
  const points = await making;
  const places = { workspaces: 1 };
  const memoryBytesMax = sectionedBytes(places) - PAGE_BYTES;
  expect(() => buildPlonkKey(gates, points, { curve: BN254, ...places, memoryBytesMax })).toThrow(RangeError);
});
