/** A circuit of real size through the registry: membership in a Merkle tree of depth 20. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { failureOf, never, openTestRegistry, principalOf, provision } from "../../prover/support.js";
import { subject } from "../../vault/support.js";

it("proves membership in a Merkle tree of depth 20, and no other statement", async () => {
  const test = await openTestRegistry();
  try {
    const owner = subject();
    const prover = await provision(test.provers, owner, { identifier: "merkle_membership" });
    expect(prover).toMatchObject({ status: "provisioned", errors: [] });
    const { satisfying, violating } = JSON.parse(
      readFileSync(join(PACKAGE_ROOT, "circuits/merkle_membership/inputs.json"), "utf8"),
    ) as { satisfying: object; violating: object };
    const made = await test.provers.prove(owner, prover.id, { inputs: satisfying, signal: never });
    expect(made.timings!.prove_ms).toBeGreaterThan(0);
    const verified = await test.provers.verify(principalOf(owner), prover.id, {
      item: { witness: satisfying, proof: made.proof },
      store: false,
      signal: never,
    });
    expect(verified).toBe(true);
    expect(
      await failureOf(() => test.provers.prove(owner, prover.id, { inputs: violating, signal: never })),
    ).toMatchObject({ code: "constraints_unsatisfied" });
  } finally {
    await test.close();
  }
});
