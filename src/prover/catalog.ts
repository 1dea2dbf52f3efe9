/**
 * The providers of the server with the schemes and curves that each offers, and the accepted spellings of all three
 * names.
 */
import { AppError, assert } from "../platform/errors.js";
import { canonicalCurve } from "./curve-names.js";
import type { OfferedSystem, Provider } from "./providers/provider.js";

interface Triple {
  readonly provider: string;
  readonly proving_scheme: string;
  readonly curve: string;
}

interface SupportedTriple extends Triple {
  /**
   * How the keys are made: `single_party` keys by this server alone, and trusted only as far as it is; `universal` ones
   * follow from a structured reference string, and are trusted as far as that; `transparent` ones from the program.
   */
  readonly trusted_setup: "single_party" | "universal" | "transparent";
  readonly system: OfferedSystem;
}

const TRUSTED_SETUP = { own: "single_party", universal: "universal", none: "transparent" } as const satisfies Readonly<
  Record<OfferedSystem["setup"], SupportedTriple["trusted_setup"]>
>;

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
  readonly #providers: ReadonlyMap<string, Provider>;
  readonly #supported: readonly SupportedTriple[];

  /** @param providerAliases other name of a provider -> its name, from the settings; case does not matter. */
  constructor(
    options: { readonly providerAliases: Readonly<Record<string, string>> },
    { providers }: { readonly providers: readonly Provider[] },
  ) {
    this.#providerAliases = new Map(
      Object.entries(options.providerAliases).map(([alias, name]) => [alias.toLowerCase(), name.toLowerCase()]),
    );
    this.#providers = new Map(providers.map((provider) => [provider.name, provider]));
    assert(this.#providers.size === providers.length, "each provider has a name of its own");
    this.#supported = providers.flatMap(({ name, systems }) =>
      systems.map((system) => {
        const { proving_scheme, curve, setup } = system;
        return { provider: name, proving_scheme, curve, trusted_setup: TRUSTED_SETUP[setup], system };
      }),
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
    return canonicalCurve(
      text,
      this.#supported.map(({ curve }) => curve),
    );
  }

  /**
   * Returns the provider of a prover.
   * @throws AppError `prover_unsupported` when a server that had it made the prover, as `systemOf`
   */
  providerOf(prover: Pick<Triple, "provider">): Provider {
    const found = this.#providers.get(prover.provider);
    if (found !== undefined) return found;
    throw new AppError("prover_unsupported", { message: `this server has no provider ${prover.provider}` });
  }

  /** Returns the scheme and curve of a prover as its provider offers them. */
  systemOf(prover: Triple): OfferedSystem {
    const { systems, name } = this.providerOf(prover);
    const { proving_scheme, curve } = prover;
    const found = systems.find((system) => system.proving_scheme === proving_scheme && system.curve === curve);
    if (found !== undefined) return found;
    const message = `the provider ${name} of this server has no ${proving_scheme} on ${curve}`;
    throw new AppError("prover_unsupported", { message });
  }

  /**
   * Finds a supported triple by any of its spellings.
   * @throws AppError `prover_unsupported` for any other triple, naming the supported ones
   */
  resolve(asked: Triple): SupportedTriple {
    const provider = this.canonicalProvider(asked.provider);
    const scheme = this.canonicalScheme(asked.proving_scheme);
    const curve = this.canonicalCurve(asked.curve);
    const found = this.#supported.find(
      (triple) => triple.provider === provider && triple.proving_scheme === scheme && triple.curve === curve,
    );
    if (found !== undefined) return found;
    const supported = this.#supported
      .map((triple) => `${triple.provider}/${triple.proving_scheme}/${triple.curve}`)
      .join(", ");
    throw new AppError("prover_unsupported", {
      message: `${asked.provider}/${asked.proving_scheme}/${asked.curve} is not supported; supported provider/scheme/curve: ${supported}`,
    });
  }
}
