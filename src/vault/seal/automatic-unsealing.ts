/** Unsealing with the provider's own key, at start and on request, and the reason why it failed last. */
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import { SealProviderError } from "./providers/provider-failure.js";
import type { SealProvider } from "./providers/provider.js";

export interface AutomaticFailure {
  /** A sentence for the operator; holds no secret. */
  readonly reason: string;
  /** Whether the cause may pass by itself, so that trying again makes sense. */
  readonly mayPass: boolean;
}

export interface AutomaticUnsealingDependencies {
  readonly provider: SealProvider;
  readonly log: Log;
  /** Unseals with a phrase, which it wipes. */
  readonly unseal: (phrase: Uint8Array) => Promise<void>;
  /** Records a failure. */
  readonly onFailed: (code: string) => Promise<void>;
}

/** Unseals with the key that the provider has. */
export class AutomaticUnsealing {
  readonly #dependencies: AutomaticUnsealingDependencies;
  #lastFailure: AutomaticFailure | undefined;

  constructor(dependencies: AutomaticUnsealingDependencies) {
    this.#dependencies = dependencies;
  }

  /** Why the last attempt failed; undefined after one that did not, and after a sealing. */
  get lastFailure(): AutomaticFailure | undefined {
    return this.#lastFailure;
  }

  /** Reads the provider's key and unseals with it. Never rejects: a failure is logged, recorded and remembered. */
  async attempt(): Promise<void> {
    const { provider, unseal } = this.#dependencies;
    try {
      this.#lastFailure = undefined;
      const phrase = await provider.readKey();
      if (phrase !== undefined) await unseal(phrase);
    } catch (error) {
      await this.#noteFailure(error);
    }
  }

  /** Forgets the last failure: a vault that was sealed on purpose is not unsealed by itself. */
  forgetFailure(): void {
    this.#lastFailure = undefined;
  }

  async #noteFailure(error: unknown): Promise<void> {
    const { log, onFailed } = this.#dependencies;
    const code = error instanceof AppError ? error.code : "seal_provider_failed";
    const reason = reasonOf(error);
    this.#lastFailure = { reason, mayPass: error instanceof SealProviderError && error.mayPass };
    log.error(`the vault stays sealed: ${reason}`, { code });
    try {
      await onFailed(code);
    } catch {
      log.error("a failed unsealing could not be recorded", { code });
    }
  }
}

/** Only messages of our own are repeated: those of other errors may quote a request. */
function reasonOf(error: unknown): string {
  const isOurs = error instanceof AppError || error instanceof SealProviderError;
  return isOurs ? error.message : "the seal key could not be read";
}
