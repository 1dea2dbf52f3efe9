/**
 * The `environment` provider: a validation hash in the settings, and the phrase by POST /unseal. A phrase in the
 * settings unseals at start. It stays readable in the environment of the process, so it is for trials only.
 */
import { canonicalPhrase, phraseEntropy, validationHash } from "../../../crypto/wallets/seal-phrase.js";
import { AppError } from "../../../platform/errors.js";
import type { SealProvider } from "./provider.js";

export interface EnvironmentSealOptions {
  /** 64 hex digits in any case, with or without 0x: SHA-256 of the canonical phrase. */
  readonly validationHash?: string | undefined;
  /** The phrase itself; its hash is used when no validation hash is given. */
  readonly key?: string | undefined;
}

const HASH = /^(?:0x)?([0-9a-f]{64})$/i;

/**
 * Returns the provider.
 * @throws invalid_request for a malformed hash or phrase, so that a start with a wrong setting fails
 */
export function environmentSealProvider(options: EnvironmentSealOptions): SealProvider {
  const { key } = options;
  const hash =
    options.validationHash === undefined
      ? key === undefined
        ? undefined
        : hashOfPhrase(key)
      : parseValidationHash(options.validationHash);
  return {
    name: "environment",
    isConfigured: hash !== undefined,
    validationHash: hash,
    issuesKeys: true,
    readKey: () => Promise.resolve(key === undefined ? undefined : new TextEncoder().encode(key)),
  };
}

/** Returns the 32 bytes of a hex text, with or without 0x. Throws `invalid_request`. */
export function parseValidationHash(text: string): Uint8Array {
  const digits = HASH.exec(text)?.[1];
  if (digits === undefined)
    throw new AppError("invalid_request", { message: "SEAL_UNSEAL_VALIDATION_HASH is not the hex text of 32 bytes" });
  return new Uint8Array(Buffer.from(digits, "hex"));
}

function hashOfPhrase(text: string): Uint8Array {
  const canonical = canonicalPhrase(new TextEncoder().encode(text));
  const entropy = canonical === undefined ? undefined : phraseEntropy(canonical);
  if (canonical === undefined || entropy === undefined)
    throw new AppError("invalid_request", { message: "SEAL_UNSEAL_KEY is not a phrase of 24 BIP-39 words" });
  entropy.fill(0);
  const hash = validationHash(canonical);
  canonical.fill(0);
  return hash;
}
