/** One FFLONK proof on several threads: the same as on one for the same blinding. */
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { fflonkDomainPowerOf, fflonkPowerCount } from "../../../src/engine/fflonk/fflonk-values.js";
import { prepareFflonkKey, verifyFflonk } from "../../../src/engine/fflonk/verify-fflonk.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import { buildFflonkKey } from "../../../src/engine/kernels/fflonk/build-fflonk-key.js";
import { FflonkProver } from "../../../src/engine/kernels/fflonk/fflonk-prover.js";
import { createTeam } from "../../../src/engine/kernels/threads/thread-team.js";
import { makeDevelopmentPowers } from "../../../src/engine/plonk/development-setup.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { chainFixture } from "../../support/groth16-fixtures.js";
import { fflonkBlinding } from "../../support/fflonk-fixtures.js";

it("equals the proof of one thread, on a domain of several blocks, and gives all workspaces back", async () => {
  const fixture = chainFixture(1400);
  const gates = gatesOf(fixture.r1cs, { dropsZeroTerms: true });
  const points = await makeDevelopmentPowers(
    await loadReferenceKernels(),
    fflonkPowerCount(fflonkDomainPowerOf(gates.gateCount)),
  );
  const key = buildFflonkKey(gates, points, { workspaces: 2 });
  // Two shares of a long polynomial and more.
  expect(key.domainPower).toBeGreaterThan(11);
  const prepared = prepareFflonkKey(await loadPairing("wasm"), key.verifyingKey);
  const prover = new FflonkProver(key);
  const helper = new Worker(new URL("../../support/kernel-helper.worker.mjs", import.meta.url), {
    workerData: { key, scheme: "fflonk" },
  });
  const heard = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      helper.once("message", resolve);
      helper.once("error", reject);
    });
  try {
    await heard();
    for (let i = 0; i < 2; i += 1) {
      const blinding = fflonkBlinding();
      const [team, helped] = [createTeam(), heard()];
      helper.postMessage({ team });
      const { proof } = prover.prove(fixture.witness, blinding, team);
      await helped;
      expect(proof).toEqual(prover.prove(fixture.witness, blinding).proof);
      expect(verifyFflonk(prepared, proof, fixture.publicSignals)).toBe(true);
      expect([...new Int32Array(key.memory.buffer, key.workspaceFlags, 2)]).toEqual([0, 0]);
    }
  } finally {
    await helper.terminate();
  }
});
