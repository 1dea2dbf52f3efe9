/** One PLONK proof on several threads: the same as on one for the same blinding. */
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { buildPlonkKey } from "../../../src/engine/kernels/plonk/build-plonk-key.js";
import { PlonkProver } from "../../../src/engine/kernels/plonk/plonk-prover.js";
import { createTeam } from "../../../src/engine/kernels/threads/thread-team.js";
import { makeDevelopmentSetup } from "../../../src/engine/plonk/development-setup.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import { domainPowerOf } from "../../../src/engine/plonk/key.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { chainFixture } from "../../support/groth16-fixtures.js";
import { plonkBlinding } from "../../support/plonk-fixtures.js";

it("equals the proof of one thread, on a domain of several blocks, and gives all workspaces back", async () => {
  const fixture = chainFixture(3000);
  const gates = gatesOf(fixture.r1cs);
  const points = await makeDevelopmentSetup(await loadReferenceKernels(), domainPowerOf(gates.gateCount));
  const key = buildPlonkKey(gates, points, { curve: BN254, workspaces: 2 });
  expect(key.domainPower).toBeGreaterThan(12);
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
      expect(proof).toEqual(prover.prove(fixture.witness, blinding).proof);
      expect([...new Int32Array(key.memory.buffer, key.workspaceFlags, 2)]).toEqual([0, 0]);
    }
  } finally {
    await helper.terminate();
  }
});
