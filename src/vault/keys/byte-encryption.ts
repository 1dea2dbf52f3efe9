/**
 * Encryption of bytes with a vault's keys, for other areas of the server. The frames are those of the API, so that
 * either side can decrypt what the other encrypted.
 */
import type { VaultRepository } from "../repository.js";
import type { VaultSeal } from "../seal/seal.js";
import { frameGeneration } from "../worker/ciphertext-frame.js";
import type { KeyCall } from "./key-call.js";
import { exactBytes, utf8Bytes } from "./validation.js";

export interface ByteEncryptionDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
}

/** Encrypts and decrypts bytes. */
export class ByteEncryption {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;

  constructor(dependencies: ByteEncryptionDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
  }

  /**
   * Encrypts bytes and returns the frame of the API.
   * @param context must be given again to decrypt
   * @throws spec_cannot_encrypt, `key_disabled`, `not_found`
   */
  async encrypt({ owner, vaultId, keyId }: KeyCall, plaintext: Uint8Array, context: string): Promise<Uint8Array> {
    this.#seal.requireUnsealed();
    const { vault, key } = this.#repository.findKeyInVault(owner, vaultId, keyId);
    const data = exactBytes(plaintext);
    return await this.#seal.run(
      "encrypt",
      { vault: vault.reference, key: key.reference, data, context: utf8Bytes(context, "context") },
      keyId,
    );
  }

  /**
   * Decrypts a frame that was encrypted with the same key and context.
   * @throws decryption_failed, `spec_cannot_decrypt`, `key_disabled`, `not_found`
   */
  async decrypt({ owner, vaultId, keyId }: KeyCall, frame: Uint8Array, context: string): Promise<Uint8Array> {
    this.#seal.requireUnsealed();
    const { vault, key } = this.#repository.findKeyInVault(owner, vaultId, keyId);
    // The worker rejects an unknown generation, like every other frame that does not decrypt.
    const reference =
      this.#repository.findGeneration(key, frameGeneration(frame) ?? key.reference.generation) ?? key.reference;
    const data = exactBytes(frame);
    return await this.#seal.run(
      "decrypt",
      { vault: vault.reference, key: reference, data, context: utf8Bytes(context, "context") },
      keyId,
    );
  }
}
