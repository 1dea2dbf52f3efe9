/** The process dies at every commit of a provisioning once, and the prover still ends where it must. */
import { describe, expect, it } from "vitest";
import { PROVER_STATUSES, type ProverStatus } from "../../../src/prover/provisioning/lifecycle.js";
import { boot, dyingStore, proveAndVerify, reboot } from "../../prover/provisioning/lives.js";
import { eventually, provision, register } from "../../prover/support.js";
import { subject } from "../../vault/support.js";

describe("provisioning over crashes", () => {
  // create, lease, compiling, compiled, pending_setup, running_setup, keys, gates, provisioned, job done
  const commits = Array.from({ length: 9 }, (_, index) => index + 2);

  // After one commit the store is what it is before the next, and by then the step between has left its files too: so
  // `after` is for the last.
  it.each([...commits.map((at) => [at, "before"] as const), [10, "after"] as const])(
    "finishes when the process dies at commit %i, %s it is written",
    async (at, when) => {
      let isDead = false;
      const owner = subject();
      const first = await boot({
        wrapStore: dyingStore(at, when, () => {
          isDead = true;
        }),
      });
      const { id } = await register(first.provers, owner);
      await eventually("death", () => isDead);
      const before = first.provers.get(owner, id).status;
      const second = await reboot(first, { idle: true });
      expect(await second.artifacts.removeTemporaries()).toBe(0);
      const seen: ProverStatus[] = [before];
      second.jobs.subscribe(() => {
        seen.push(second.provers.get(owner, id).status);
      });
      await second.jobs.start();
      await eventually("provisioned", () => second.provers.get(owner, id).status === "provisioned");
      const order = seen.map((status) => PROVER_STATUSES.indexOf(status));
      expect(order).toEqual([...order].sort((a, b) => a - b));
      await proveAndVerify(second, owner, id);
    },
  );

  // The first is the creation, the others are those of its job, which is started afterwards.
  it.each([2, 3, 4, 5, 6, 7, 8])("finishes with the keys of another prover when it dies at commit %i", async (at) => {
    const owner = subject();
    const zeroth = await boot();
    const { id: giver } = await provision(zeroth.provers, owner);
    let isDead = false;
    const first = await reboot(zeroth, {
      idle: true,
      wrapStore: dyingStore(at, "after", () => {
        isDead = true;
      }),
    });
    const { id } = await register(first.provers, owner);
    await Promise.allSettled([first.jobs.start()]);
    await eventually("death or end", () => isDead || first.provers.get(owner, id).status === "provisioned");
    const second = await reboot(first);
    await eventually("provisioned", () => second.provers.get(owner, id).status === "provisioned");
    const keys = await Promise.all(
      [giver, id].map(async (each) => (await second.provers.artifact(owner, each, "proving_key")).sha256),
    );
    expect(keys[0]).toBe(keys[1]);
    await proveAndVerify(second, owner, id);
  });
});
