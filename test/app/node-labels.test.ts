import { describe, expect, it } from "vitest";
import { nodeWork } from "../../src/app/node-labels.js";
import { PROOF_JOB_KIND } from "../../src/prover/proof-jobs/proof-jobs.js";
import { PROVISION_JOB } from "../../src/prover/provisioning/provisioning-jobs.js";

const NODE = { database_url: "postgres://proofwright@localhost/proofwright" };
const KINDS = [PROOF_JOB_KIND, PROVISION_JOB, "contract_build"];

describe("the labels of a node", () => {
  it.each([
    ["prove,compile", "server", [true, true, true]],
    ["prove", "server", [true, false, true]],
    ["none", "server", [false, false, true]],
    ["compile,prove", "worker", [true, true, false]],
    ["compile", "worker", [false, true, false]],
  ] as const)("%s make a %s take proofs, compilations and the rest: %j", (labels, role, taken) => {
    const work = nodeWork({ ...NODE, labels }, role);
    work.vaultIs(true);
    expect(KINDS.map(work.takes)).toEqual(taken);
  });

  it("wait on a node whose vault is sealed, where others could go on", () => {
    const work = nodeWork({ ...NODE, labels: "prove,compile" }, "server");
    expect(KINDS.map(work.takes)).toEqual([false, false, true]);
    work.vaultIs(true);
    expect(KINDS.map(work.takes)).toEqual([true, true, true]);
    work.vaultIs(false);
    expect(KINDS.map(work.takes)).toEqual([false, false, true]);
  });

  it("leave what needs secrets of owners to the nodes of a cluster whose vault is unsealed", () => {
    const kinds = ["deploy_verifier", "provision_connector", "deprovision_connector"];
    const node = nodeWork({ ...NODE, labels: "none" }, "server");
    // Which connectors need the vault is known by their jobs.
    expect(kinds.map(node.takes)).toEqual([false, true, true]);
    expect(node.hasVault()).toBe(false);
    node.vaultIs(true);
    expect(kinds.map(node.takes)).toEqual([true, true, true]);
    expect(node.hasVault()).toBe(true);
    const single = nodeWork({ database_url: undefined, labels: "prove,compile" }, "server");
    expect(kinds.map(single.takes)).toEqual([true, true, true]);
    expect(single.hasVault()).toBe(true);
  });

  it("are all of them on a single server, which has nobody else", () => {
    const work = nodeWork({ database_url: undefined, labels: "prove,compile" }, "server");
    expect(KINDS.map(work.takes)).not.toContain(false);
    work.vaultIs(false);
    expect(KINDS.map(work.takes)).not.toContain(false);
    for (const labels of ["prove", "compile", "none"])
      expect(() => nodeWork({ database_url: undefined, labels }, "server")).toThrow("PROOFWRIGHT_LABELS");
  });
});
