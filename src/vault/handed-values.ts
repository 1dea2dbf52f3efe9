/**
 * Values that a proof takes from a vault and nobody sees: secrets, signatures for circuits, and the content keys of
 * inputs that came encrypted. They are opened in the vault's threads and leave them sealed to the key of one proving
 * thread.
 */
import type { JweCurve, KeyAgreementHeader } from "../crypto/jwe/content-key.js";
import type { Subject } from "../platform/auth/principal.js";
import { AppError, notFound } from "../platform/errors.js";
import { BABY_JUBJUB } from "./key-specs/baby-jubjub.js";
import { C25519 } from "./key-specs/c25519.js";
import { P256_ECDH } from "./key-specs/p256-ecdh.js";
import { keySpecNamed } from "./key-specs/table.js";
import { keyDisabled, requireForCallers } from "./keys/key-records.js";
import type { VaultRepository } from "./repository.js";
import type { KeyInVault } from "./vault-records.js";
import type { VaultSeal } from "./seal/seal.js";
import type { Secrets } from "./secrets.js";
import { workerKindFor } from "./threads/item-batches.js";

/** A value, by where it is and what is done for it. */
export type HandedValue =
  | { readonly kind: "secret"; readonly vaultId: string; readonly id: string }
  | {
      readonly kind: "signature";
      readonly vaultId: string;
      /** Of the key. */
      readonly id: string;
      /** Element of BN254's scalar field, big-endian hex. */
      readonly message: string;
    }
  | {
      readonly kind: "content_key";
      readonly vaultId: string;
      /** Of the key. */
      readonly id: string;
      readonly header: KeyAgreementHeader;
    };

/** Specs of the keys to which inputs may be encrypted, by the curve that their tokens name. */
const INPUT_KEY_SPECS: Readonly<Record<JweCurve, string>> = { X25519: C25519, "P-256": P256_ECDH };

interface HandedValuesDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly secrets: Secrets;
}

/** Finds values and hands them over. */
export class HandedValues {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;
  readonly #secrets: Secrets;

  constructor(dependencies: HandedValuesDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
    this.#secrets = dependencies.secrets;
  }

  /**
   * Requires that the owner's vault has what the value needs, as it would be needed to read or to sign it.
   * @throws vault_sealed, `not_found`, `deletion_planned`, `key_disabled`, `key_server_only`,
   *   `spec_cannot_sign`, `spec_cannot_decrypt`, `key_type_mismatch` for a token on another curve than its key
   */
  require(owner: Subject, value: HandedValue): void {
    this.#seal.requireUnsealed();
    if (value.kind === "secret") this.#secrets.find(owner, value.vaultId, value.id);
    else this.#findKey(owner, value);
  }

  /**
   * Returns the value in a box (crypto/ciphers/sealed-box.ts) whose purpose is the value's kind: a secret's text, the
   * inputs of a signature as JSON, or 32 bytes.
   * @param to public key of the recipient, 32 bytes
   * @throws as `require`, and `decryption_failed`, `data_corrupt`, `overloaded`
   */
  async handOver(owner: Subject, value: HandedValue, to: Uint8Array): Promise<Uint8Array> {
    this.#seal.requireUnsealed();
    if (value.kind === "secret") {
      const { vault, record, reference } = this.#secrets.find(owner, value.vaultId, value.id);
      const { envelope } = record.value;
      return await this.#seal.run("hand_secret", { vault, secret: reference, envelope, to }, value.id);
    }
    const { vault, key } = this.#findKey(owner, value);
    const message = { vault: vault.reference, key: key.reference, to };
    if (value.kind === "content_key")
      return await this.#seal.run("hand_content_key", { ...message, header: value.header }, value.id);
    const worker = workerKindFor(keySpecNamed(key.reference.spec));
    return await this.#seal.run("hand_signature", { ...message, message: value.message, worker }, value.id);
  }

  #findKey(owner: Subject, value: Exclude<HandedValue, { readonly kind: "secret" }>): KeyInVault {
    const found = this.#repository.findKeyInVault(owner, value.vaultId, value.id);
    requireForCallers(found.key.record.value);
    const { spec, isDisabled } = found.key.reference;
    if (value.kind === "signature" && spec !== BABY_JUBJUB)
      throw new AppError("spec_cannot_sign", { message: `only keys of the spec ${BABY_JUBJUB} sign for circuits` });
    if (value.kind === "content_key") requireInputKey(found, value.header.curve);
    if (isDisabled === true) throw keyDisabled();
    return found;
  }
}

function requireInputKey({ key }: KeyInVault, curve: JweCurve): void {
  const { spec } = key.reference;
  const specs = Object.values(INPUT_KEY_SPECS);
  if (!specs.includes(spec))
    throw new AppError("spec_cannot_decrypt", {
      message: `inputs are encrypted to keys of the specs ${specs.join(" and ")}`,
    });
  // The vault's other keys are for messages that were never meant for a proof.
  if (key.record.value.input_key !== true) throw notFound("key");
  if (spec !== INPUT_KEY_SPECS[curve])
    throw new AppError("key_type_mismatch", {
      message: `the token's key agreement is on ${curve}, and the key is of the spec ${spec}`,
    });
}
