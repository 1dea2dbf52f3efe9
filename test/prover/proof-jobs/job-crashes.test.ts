/** The process dies at every commit of a job once: what was accepted is made in the next life, and kept once. */
import { expect, it } from "vitest";
import { PAGE, eventually, provision } from "../support.js";
import { subject } from "../../vault/support.js";
import { boot, dyingStore, reboot } from "../provisioning/lives.js";
import { INPUTS, inputParts, jobOf, listJobs, readJob } from "./job-requests.js";

const BODY = { witness: INPUTS, receipt: true };

// Accepted, leased, proven, and ended with its receipt.
it.each([1, 2, 3, 4].flatMap((at) => [[at, "before"] as const, [at, "after"] as const]))(
  "a job is made once when the process dies at commit %i, %s it is written",
  async (at, when) => {
    const owner = subject();
    const zeroth = await boot();
    const { id: cubic } = await provision(zeroth.provers, owner);
    await eventually("the prover's job is done", () => zeroth.jobs.get(cubic)?.state === "done");
    let isDead = false;
    const died = (): void => {
      isDead = true;
    };
    const first = await reboot(zeroth, { wrapStore: dyingStore(at, when, died, ["job", "proof_job"]) });
    const [asked] = await Promise.allSettled([jobOf(first, owner, cubic, { body: BODY })]);
    await eventually("death", () => isDead);
    const next = await reboot(first);
    const jobs = await listJobs(next, owner);
    expect(jobs).toHaveLength(at === 1 && when === "before" ? 0 : 1);
    expect(asked.status).toBe(at === 1 ? "rejected" : "fulfilled");
    for (const { id } of jobs) {
      const { status, result } = await readJob(next, owner, id);
      expect(status).toBe("succeeded");
      // A proof that is kept is not made again for the sake of its receipt, which the answer says.
      const isCutOff = (at === 3 && when === "after") || (at === 4 && when === "before");
      expect([result?.receipt === undefined, result?.receipt_error?.code]).toEqual([
        isCutOff,
        isCutOff ? "receipt_interrupted" : undefined,
      ]);
    }
    expect(next.provers.listProofs(owner, cubic, PAGE).total).toBe(jobs.length);
    expect(inputParts(next, owner)).toBe(0);
    expect(jobs.map(({ id }) => next.jobs.get(id))).toEqual(jobs.map(() => undefined));
  },
);
