/** What is asked of a prover before it proves or verifies. */
import { describe, expect, it } from "vitest";
import { requireProvisioned } from "../../src/prover/built-prover.js";
import { diagnostic } from "../../src/prover/provisioning/diagnostics.js";

const messageOf = (...prover: Parameters<typeof requireProvisioned>): string | undefined => {
  try {
    requireProvisioned(...prover);
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: "prover_not_provisioned" });
    return (error as Error).message;
  }
};

describe("a prover that proves and verifies", () => {
  it("is provisioned", () => {
    expect(messageOf({ status: "provisioned", errors: [] })).toBeUndefined();
    expect(messageOf({ status: "compiling", errors: [] })).toBe(
      "the prover is not provisioned, its status is compiling",
    );
  });

  it("tells of a failure its codes, each once, and nothing of the source that a message quotes", () => {
    const errors = [
      diagnostic("P1008", "Missing semicolon in secret.circom"),
      diagnostic("P1008", "Missing semicolon in secret.circom"),
      diagnostic("circuit_too_large", "it has 3 constraints"),
    ];
    expect(messageOf({ status: "failed", errors })).toBe(
      "the prover is not provisioned, its status is failed (P1008, circuit_too_large)",
    );
  });
});
