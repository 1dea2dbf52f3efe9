import { describe, expect, it } from "vitest";
import { AppError } from "../../src/platform/errors.js";
import { Catalog } from "../../src/prover/catalog.js";
import type { Provider } from "../../src/prover/providers/provider.js";
import { CIRCOM_SYSTEMS, requirePrime } from "../../src/prover/providers/circom-systems.js";

const uncalled = (): never => {
  throw new Error("a catalog computes nothing");
};
const circom: Provider = {
  ...{ name: "circom", systems: CIRCOM_SYSTEMS, downloads: {}, isAnalyzed: true },
  ...{ readProgram: uncalled, compile: uncalled, setup: uncalled, gates: uncalled },
  ...{ prove: uncalled, verify: uncalled, verifyBatch: uncalled, publicNames: uncalled },
};
const catalog = new Catalog({ providerAliases: { Gnark: "circom" } }, { providers: [circom] });

describe("catalog of provers", () => {
  it("takes any spelling of the supported triple", () => {
    for (const curve of ["BN254", "bn254", "bn128", "BN128", "alt_bn128"]) {
      expect(catalog.resolve({ provider: "Circom", proving_scheme: "GROTH16", curve })).toMatchObject({
        provider: "circom",
        proving_scheme: "groth16",
        curve: "BN254",
      });
    }
  });

  it("takes any spelling of the second curve, and its prime by circom's name", () => {
    for (const curve of ["BLS12_381", "bls12_381", "bls12381", "BLS12-381"]) {
      expect(catalog.resolve({ provider: "circom", proving_scheme: "groth16", curve }).curve).toBe("BLS12_381");
      expect(() => {
        requirePrime(curve, "BLS12_381");
      }).not.toThrow();
      expect(() => {
        requirePrime(curve, "BN254");
      }).toThrow("supported: BN254, bn128, alt_bn128");
    }
    expect(() => {
      requirePrime("bn128", "BLS12_381");
    }).toThrow("supported: BLS12_381, bls12381, bls12-381");
  });

  it("takes a provider by the alias of the settings", () => {
    expect(catalog.resolve({ provider: "GNARK", proving_scheme: "groth16", curve: "BN254" }).provider).toBe("circom");
  });

  it("refuses another triple and lists the supported ones", () => {
    const others = [
      ["zokrates", "groth16", "BN254"],
      ["circom", "fflonk", "BLS12_381"],
      ["circom", "plonk", "BLS12_377"],
      ["circom", "groth16", "BLS12_377"],
      ["", "", ""],
    ] as const;
    for (const [provider, proving_scheme, curve] of others) {
      let caught: unknown;
      try {
        catalog.resolve({ provider, proving_scheme, curve });
      } catch (error) {
        caught = error;
      }
      expect(caught).toBeInstanceOf(AppError);
      expect(caught).toMatchObject({ code: "prover_unsupported", status: 422 });
      expect((caught as AppError).message).toContain("circom/groth16/BN254");
    }
  });
});
