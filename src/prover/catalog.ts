/**
 * The table of supported provider, scheme and curve triples, and their accepted spellings. A row offers a triple;
 * what computes it must exist first.
 */
import { PROOF_SYSTEMS, proofSystemName, type ProofSystemName } from "../engine/proof-systems/names.js";
import type { CurveName } from "../engine/curves/curve-parameters.js";
import { AppError, assert } from "../platform/errors.js";

interface Triple {
  readonly provider: string;
  readonly proving_scheme: string;
  readonly curve: string;
}

interface SupportedTriple extends Triple {
  readonly curve: CurveName;
  /**
   * How the keys are made: `single_party` keys by this server alone, and trusted only as far as it is; `universal` ones
   * follow from a structured reference string, and are trusted as far as that.
   */
  readonly trusted_setup: "single_party" | "universal";
}

const SUPPORTED: readonly SupportedTriple[] = [
  { provider: "circom", proving_scheme: "groth16", curve: "BN254", trusted_setup: "single_party" },
  { provider: "circom", proving_scheme: "groth16", curve: "BLS12_381", trusted_setup: "single_party" },
  { provider: "circom", proving_scheme: "plonk", curve: "BN254", trusted_setup: "universal" },
  { provider: "circom", proving_scheme: "plonk", curve: "BLS12_381", trusted_setup: "universal" },
  { provider: "circom", proving_scheme: "fflonk", curve: "BN254", trusted_setup: "universal" },
];

/** Other names of curves, in lower case; the code uses one name. */
const CURVE_ALIASES: Readonly<Record<string, string>> = {
  bn128: "BN254",
  alt_bn128: "BN254",
  bls12381: "BLS12_381",
  "bls12-381": "BLS12_381",
};
/** The curve of the EVM's precompiles, on which the Solidity verifiers stand. */
const SOLIDITY_CURVE = "BN254";

export const DEFAULT_PROVIDER = "circom";

/** Returns the proof system of a prover. */
export function proofSystemOf(prover: Pick<Triple, "proving_scheme" | "curve">): ProofSystemName {
  const name = proofSystemName(prover.proving_scheme, prover.curve);
  assert(name !== undefined, "a prover was registered with a proof system that this server has");
  return name;
}

/** Returns what is fixed for the proof system of a prover. */
export function proofSystemRow(
  prover: Pick<Triple, "proving_scheme" | "curve">,
): (typeof PROOF_SYSTEMS)[ProofSystemName] {
  return PROOF_SYSTEMS[proofSystemOf(prover)];
}

/** Tells whether proofs of a prover have a form that a Solidity contract takes. */
export function hasSolidityForm(prover: Pick<Triple, "proving_scheme" | "curve">): boolean {
  return proofSystemRow(prover).curve === SOLIDITY_CURVE;
}

/** Reads the setting `alias:provider,alias:provider`. */
export function parseProviderAliases(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .split(",")
      .filter((pair) => pair !== "")
      .map((pair) => pair.split(":", 2) as [string, string]),
  );
}

export class Catalog {
  readonly #providerAliases: ReadonlyMap<string, string>;

  /** @param providerAliases other name of a provider -> its name, from the settings; case does not matter. */
  constructor(options: { readonly providerAliases: Readonly<Record<string, string>> }) {
    this.#providerAliases = new Map(
      Object.entries(options.providerAliases).map(([alias, name]) => [alias.toLowerCase(), name.toLowerCase()]),
    );
  }

  /** Returns the provider's name for any of its spellings. */
  canonicalProvider(text: string): string {
    const lower = text.trim().toLowerCase();
    return this.#providerAliases.get(lower) ?? lower;
  }

  /** Returns the scheme's name for any spelling of it. */
  canonicalScheme(text: string): string {
    return text.trim().toLowerCase();
  }

  /** Returns the curve's name for any of its spellings; an unknown name as it is. */
  canonicalCurve(text: string): string {
    const lower = text.trim().toLowerCase();
    return (
      CURVE_ALIASES[lower] ?? SUPPORTED.find((triple) => triple.curve.toLowerCase() === lower)?.curve ?? text.trim()
    );
  }

  /**
   * Requires that a circuit's prime, by circom's name, is that of its curve.
   * @throws AppError `prover_unsupported`, naming the supported one
   */
  requirePrime(prime: string | undefined, curve: string): void {
    if (prime === undefined || this.canonicalCurve(prime) === curve) return;
    const names = Object.keys(CURVE_ALIASES).filter((alias) => CURVE_ALIASES[alias] === curve);
    throw new AppError("prover_unsupported", {
      message: `the prime ${prime} is not supported with ${curve}; supported: ${[curve, ...names].join(", ")}`,
      details: [
        { message: `supported: ${[curve, ...names].join(", ")}`, code: "prover_unsupported", path: "options.prime" },
      ],
    });
  }

  /**
   * Finds a supported triple by any of its spellings.
   * @throws AppError `prover_unsupported` for any other triple, naming the supported ones
   */
  resolve(asked: Triple): SupportedTriple {
    const provider = this.canonicalProvider(asked.provider);
    const scheme = this.canonicalScheme(asked.proving_scheme);
    const curve = this.canonicalCurve(asked.curve);
    const found = SUPPORTED.find(
      (triple) => triple.provider === provider && triple.proving_scheme === scheme && triple.curve === curve,
    );
    if (found !== undefined) return found;
    const supported = SUPPORTED.map((triple) => `${triple.provider}/${triple.proving_scheme}/${triple.curve}`).join(
      ", ",
    );
    throw new AppError("prover_unsupported", {
      message: `${asked.provider}/${asked.proving_scheme}/${asked.curve} is not supported; supported provider/scheme/curve: ${supported}`,
    });
  }
}
