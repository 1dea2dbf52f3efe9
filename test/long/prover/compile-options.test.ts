/** The compiler's options of a prover: what they do, and what its record says of them. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { subject } from "../../vault/support.js";
import { failureOf, openTestRegistry, provision, register, type TestRegistry } from "../../prover/support.js";

const owner = subject();
let test: TestRegistry;

beforeAll(async () => {
  test = await openTestRegistry();
});
afterAll(async () => {
  await test.close();
});

describe("registering a prover with options", () => {
  it("compiles with the options that it records, and keeps results of others apart", async () => {
    const source =
      "pragma circom 2.1.0; template M() { signal input a; signal output b; signal d <== a; signal c <== d + 1; b <== c * c; } component main = M();";
    const builds = [
      [undefined, { optimization: 2, rounds: null }, 1],
      [{ optimization: 2, rounds: 3 }, { optimization: 2, rounds: 3 }, 1],
      [{ optimization: 1 }, { optimization: 1, rounds: null }, 2],
      [{ optimization: 0, prime: "bn128" }, { optimization: 0, rounds: null }, 3],
    ] as const;
    for (const [options, recorded, constraints] of builds) {
      const { id, ...prover } = await provision(test.provers, owner, {
        source,
        ...(options === undefined ? {} : { options }),
      });
      expect(prover).toMatchObject({ status: "provisioned", options: recorded });
      const file = await test.provers.artifact(owner, id, "interface.json");
      const { constraintCount } = JSON.parse(readFileSync(file.path, "utf8")) as { constraintCount: number };
      expect(constraintCount, JSON.stringify(options)).toBe(constraints);
    }
    const builtIn = await provision(test.provers, owner, { options: { optimization: 1 } });
    expect(builtIn).toMatchObject({ status: "provisioned", options: { optimization: 1 } });
  });

  it("refuses rounds without optimization 2, and other primes, naming the supported ones", async () => {
    expect(
      await failureOf(() => register(test.provers, owner, { options: { optimization: 1, rounds: 2 } })),
    ).toMatchObject({ code: "source_invalid", details: [{ path: "options.rounds" }] });
    for (const prime of ["bls12381", "goldilocks", "grumpkin", "pallas", "vesta", "secq256r1", "nonsense"]) {
      const failure = await failureOf(() => register(test.provers, owner, { options: { prime } }));
      expect(failure).toMatchObject({ code: "prover_unsupported", status: 422 });
      expect(failure.message).toContain("bn128");
    }
    const { id } = await register(test.provers, owner, { options: { prime: "bn128" } });
    await test.provers.delete(owner, id);
  });
});
