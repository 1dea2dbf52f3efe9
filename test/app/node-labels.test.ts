import { describe, expect, it } from "vitest";
import { jobsTaken } from "../../src/app/node-labels.js";
import { PROOF_JOB_KIND } from "../../src/prover/proof-jobs/proof-jobs.js";
import { PROVISION_JOB } from "../../src/prover/provisioning/provisioning-jobs.js";

const NODE = { database_url: "postgres://proofwright@localhost/proofwright" };
const KINDS = [PROOF_JOB_KIND, PROVISION_JOB, "deploy_verifier"];

describe("the labels of a node", () => {
  it.each([
    ["prove,compile", "server", [true, true, true]],
    ["prove", "server", [true, false, true]],
    ["none", "server", [false, false, true]],
    ["compile,prove", "worker", [true, true, false]],
    ["compile", "worker", [false, true, false]],
  ] as const)("%s make a %s take proofs, compilations and the rest: %j", (labels, role, taken) => {
    expect(KINDS.map(jobsTaken({ ...NODE, labels }, role))).toEqual(taken);
  });

  it("are all of them on a single server, which has nobody else", () => {
    expect(KINDS.map(jobsTaken({ database_url: undefined, labels: "prove,compile" }, "server"))).not.toContain(false);
    for (const labels of ["prove", "compile", "none"])
      expect(() => jobsTaken({ database_url: undefined, labels }, "server")).toThrow("PROOFWRIGHT_LABELS");
  });
});
