/**
 * What can be proven with: the one table of supported provider, scheme and curve triples, and the spellings of them
 * that are accepted. A new back end is a new line here and nowhere else in this area.
 */
import { AppError } from "../platform/errors.js";

export interface Triple {
  readonly provider: string;
  readonly proving_scheme: string;
  readonly curve: string;
}

export interface SupportedTriple extends Triple {
  /** How the keys come to be: `single_party` keys are made by this server alone and trusted as far as it is. */
  readonly trusted_setup: "single_party";
}

export const SUPPORTED: readonly SupportedTriple[] = [
  { provider: "circom", proving_scheme: "groth16", curve: "BN254", trusted_setup: "single_party" },
];

/** Other names of curves, all in lower case. Inside there is one name. */
const CURVE_ALIASES: Readonly<Record<string, string>> = { bn128: "BN254", alt_bn128: "BN254" };

export const DEFAULT_PROVIDER = "circom";

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

  /** The provider's own name for any of its spellings. */
  canonicalProvider(text: string): string {
    const lower = text.trim().toLowerCase();
    return this.#providerAliases.get(lower) ?? lower;
  }

  canonicalScheme(text: string): string {
    return text.trim().toLowerCase();
  }

  canonicalCurve(text: string): string {
    const lower = text.trim().toLowerCase();
    return (
      CURVE_ALIASES[lower] ?? SUPPORTED.find((triple) => triple.curve.toLowerCase() === lower)?.curve ?? text.trim()
    );
  }

  /** @throws AppError `prover_unsupported`, naming what is supported, for any other triple. */
  resolve(asked: Triple): SupportedTriple {
    const provider = this.canonicalProvider(asked.provider);
    const scheme = this.canonicalScheme(asked.proving_scheme);
    const curve = this.canonicalCurve(asked.curve);
    const found = SUPPORTED.find(
      (triple) => triple.provider === provider && triple.proving_scheme === scheme && triple.curve === curve,
    );
    if (found !== undefined) return found;
    const known = SUPPORTED.map((triple) => `${triple.provider}/${triple.proving_scheme}/${triple.curve}`).join(", ");
    throw new AppError("prover_unsupported", {
      message: `${asked.provider}/${asked.proving_scheme}/${asked.curve} is not supported; supported provider/scheme/curve: ${known}`,
    });
  }
}
