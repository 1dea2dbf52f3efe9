/**
 * What requests do with the seal: unsealing and sealing with the body of a request, and making seal keys for other
 * instances. The phrase stays in bytes that are overwritten and never becomes a string.
 */
import { randomBytes } from "node:crypto";
import { entropyPhrase, SEAL_ENTROPY_BYTES, validationHash } from "../../crypto/wallets/seal-phrase.js";
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import { AppError } from "../../platform/errors.js";
import { toHex } from "../keys/validation.js";
import type { SealAttempts } from "./seal-attempts.js";
import { readSealKey } from "./seal-request.js";
import type { VaultSeal } from "./seal.js";

/** `{}` with some white space; a body with a phrase is longer, and must not become a string. */
const EMPTY_OBJECT_BYTES_MAX = 8;

export interface SealOperationsDependencies {
  readonly seal: VaultSeal;
  readonly attempts: SealAttempts;
}

/** Unseals and seals for callers. */
export class SealOperations {
  readonly #seal: VaultSeal;
  readonly #attempts: SealAttempts;

  constructor(dependencies: SealOperationsDependencies) {
    this.#seal = dependencies.seal;
    this.#attempts = dependencies.attempts;
  }

  /**
   * Unseals with `{"key": phrase}`, or with `{}` where the provider has the key.
   * @param body overwritten
   * @throws too_many_requests after ten wrong keys a minute, and as VaultSeal.unseal does
   */
  async unseal(subject: Subject, body: Uint8Array): Promise<void> {
    if (this.#isWithoutKey(body)) {
      await this.#attempts.attempt(formatSubject(subject), async () => await this.#seal.unsealByProvider());
      return;
    }
    const phrase = readSealKey(body);
    await this.#attempts.attempt(formatSubject(subject), async () => await this.#seal.unseal(phrase));
  }

  /**
   * Seals with `{"key": phrase}`, or with `{}` where the provider has the key.
   * @param body overwritten
   * @returns the names of other nodes that have not said that they are sealed
   * @throws too_many_requests after ten wrong keys a minute, and as VaultSeal.seal does
   */
  async seal(subject: Subject, body: Uint8Array): Promise<readonly string[]> {
    if (this.#isWithoutKey(body)) return await this.#seal.sealByPermission();
    const phrase = readSealKey(body);
    return await this.#attempts.attempt(formatSubject(subject), async () => await this.#seal.seal(phrase));
  }

  /**
   * Returns a fresh seal key for another instance and its validation hash, as JSON bytes. Throws `seal_unsupported`.
   */
  createUnsealerKey(): Uint8Array {
    if (!this.#seal.issuesKeys)
      throw new AppError("seal_unsupported", { message: "only the seal provider `environment` makes seal keys" });
    const entropy = randomBytes(SEAL_ENTROPY_BYTES);
    const phrase = entropyPhrase(entropy);
    try {
      return Buffer.concat([
        Buffer.from('{"key":"'),
        phrase,
        Buffer.from(`","validation_hash":"${toHex(validationHash(phrase))}"}`),
      ]);
    } finally {
      entropy.fill(0);
      phrase.fill(0);
    }
  }

  /** Whether the body is `{}` and that is enough. Where people hold the seal key, `{}` is read and rejected. */
  #isWithoutKey(body: Uint8Array): boolean {
    return (
      !this.#seal.issuesKeys &&
      body.length <= EMPTY_OBJECT_BYTES_MAX &&
      /^\s*\{\s*\}\s*$/.test(Buffer.from(body).toString("latin1"))
    );
  }
}
