/**
 * The vault as the handlers and other areas use it: one object over its parts, which do the work. Knows no HTTP.
 */
import type { Subject } from "../platform/auth/principal.js";
import type { Clock } from "../platform/clock.js";
import type { StoreCommit } from "../platform/store/store.js";
import type { Page } from "../platform/store/tables.js";
import { ByteEncryption } from "./keys/byte-encryption.js";
import { HandedValues } from "./handed-values.js";
import { HdWallets } from "./keys/hd-wallets.js";
import { KeyDerivation } from "./keys/key-derivation.js";
import { KeyOperations } from "./keys/key-operations.js";
import { type KeyCall } from "./keys/key-call.js";
import { Keys, type CreateKeyOptions, type PreparedKey, type PrepareKeyOptions } from "./keys/keys.js";
import { PublicOperations } from "./keys/public-operations.js";
import type { VaultRepository } from "./repository.js";
import type {
  CreateKeyInput,
  CreateSecretInput,
  CreateVaultInput,
  KeyFilters,
  KeyJson,
  SecretFilters,
  SecretJson,
  SecretWithValueJson,
  VaultFilters,
  VaultJson,
} from "./schemas.js";
import type { SealAttempts } from "./seal/seal-attempts.js";
import { SealOperations } from "./seal/seal-operations.js";
import type { SealState, SealStatus, VaultSeal } from "./seal/seal.js";
import { Secrets, type PreparedSecret } from "./secrets.js";
import type { TurnOf } from "./threads/request-queue.js";
import { Vaults, type Listed, type PreparedVault, type PrepareOptions } from "./vaults.js";

export interface VaultServiceDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly attempts: SealAttempts;
  readonly clock: Clock;
  /** See VaultDependencies.turnOf. */
  readonly turnOf?: TurnOf | undefined;
}

/** The vault. Methods named `prepare...` and `...deletion` leave the commit to the caller. */
export class VaultService {
  readonly #seal: VaultSeal;
  readonly #sealOperations: SealOperations;
  readonly #vaults: Vaults;
  readonly #keys: Keys;
  readonly #secrets: Secrets;
  readonly #bytes: ByteEncryption;
  /** Signing, verifying, encrypting, decrypting and agreeing, one item or a batch. */
  readonly operations: KeyOperations;
  readonly derivation: KeyDerivation;
  readonly wallets: HdWallets;
  /** Verification under public keys that callers bring, and the public keys of a vault. */
  readonly publicKeys: PublicOperations;
  /** Values that go to proving threads and nowhere else. */
  readonly handed: HandedValues;

  constructor(dependencies: VaultServiceDependencies) {
    this.#seal = dependencies.seal;
    this.#sealOperations = new SealOperations(dependencies);
    this.#vaults = new Vaults(dependencies);
    const parts = { ...dependencies, vaults: this.#vaults };
    this.#keys = new Keys(parts);
    this.#secrets = new Secrets(parts);
    this.#bytes = new ByteEncryption(dependencies);
    this.wallets = new HdWallets(dependencies);
    this.operations = new KeyOperations({ ...dependencies, wallets: this.wallets });
    this.derivation = new KeyDerivation({ ...dependencies, wallets: this.wallets });
    this.publicKeys = new PublicOperations(dependencies);
    this.handed = new HandedValues({ ...dependencies, secrets: this.#secrets });
  }

  // The seal: seal/seal.ts and seal/seal-operations.ts

  /** See VaultSeal.state. */
  state(): SealState {
    return this.#seal.state;
  }

  /** Whether key material is in memory, so that operations can run. */
  isUnsealed(): boolean {
    return this.#seal.isUnsealed;
  }

  /** Resolves once the vault is unsealed; rejects with the signal's reason. */
  async untilUnsealed(signal: AbortSignal): Promise<void> {
    await this.#seal.untilUnsealed(signal);
  }

  /** See VaultSeal.status. */
  sealStatus(): SealStatus {
    return this.#seal.status();
  }

  /** See SealOperations.unseal. */
  async unseal(subject: Subject, body: Uint8Array): Promise<void> {
    await this.#sealOperations.unseal(subject, body);
  }

  /** See SealOperations.seal. */
  async seal(subject: Subject, body: Uint8Array): Promise<readonly string[]> {
    return await this.#sealOperations.seal(subject, body);
  }

  /** See SealOperations.createUnsealerKey. */
  createUnsealerKey(): Uint8Array {
    return this.#sealOperations.createUnsealerKey();
  }

  // Vaults: vaults.ts

  /** See Vaults.list. */
  listVaults(owner: Subject, query: Page & VaultFilters): Listed<VaultJson> {
    return this.#vaults.list(owner, query);
  }

  /** See Vaults.get. */
  getVault(owner: Subject, vaultId: string): VaultJson {
    return this.#vaults.get(owner, vaultId);
  }

  /** See Vaults.prepare. */
  async prepareVault(owner: Subject, input: CreateVaultInput): Promise<PreparedVault> {
    return await this.#vaults.prepare(owner, input);
  }

  /** See Vaults.create. */
  async createVault(...creation: Parameters<Vaults["create"]>): Promise<VaultJson> {
    return await this.#vaults.create(...creation);
  }

  /** See Vaults.deletion. */
  deletion(owner: Subject, vaultId: string): StoreCommit {
    return this.#vaults.deletion(owner, vaultId);
  }

  /** See Vaults.delete. */
  async deleteVault(owner: Subject, vaultId: string): Promise<void> {
    await this.#vaults.delete(owner, vaultId);
  }

  /** See VaultSeal.forgetVault; for callers that committed a `deletion`. */
  async forget(vaultId: string): Promise<void> {
    await this.#seal.forgetVault(vaultId);
  }

  // Keys: keys/keys.ts and keys/byte-encryption.ts

  /** See Keys.list. */
  listKeys(owner: Subject, vaultId: string, query: Page & KeyFilters): Listed<KeyJson> {
    return this.#keys.list(owner, vaultId, query);
  }

  /** See Keys.get. */
  getKey(owner: Subject, vaultId: string, keyId: string): KeyJson {
    return this.#keys.get(owner, vaultId, keyId);
  }

  /** See Keys.prepare. */
  async prepareKey(
    owner: Subject,
    vaultId: string,
    input: CreateKeyInput,
    options?: PrepareKeyOptions,
  ): Promise<PreparedKey> {
    return await this.#keys.prepare(owner, vaultId, input, options);
  }

  /** See Keys.create. */
  async createKey(
    owner: Subject,
    vaultId: string,
    input: CreateKeyInput,
    options?: CreateKeyOptions,
  ): Promise<KeyJson> {
    return await this.#keys.create(owner, vaultId, input, options);
  }

  /** See Keys.deletion. */
  keyDeletion(owner: Subject, vaultId: string, keyId: string): StoreCommit {
    return this.#keys.deletion(owner, vaultId, keyId);
  }

  /** See Keys.delete. */
  async deleteKey(owner: Subject, vaultId: string, keyId: string): Promise<void> {
    await this.#keys.delete(owner, vaultId, keyId);
  }

  /** See ByteEncryption.encrypt. */
  async encrypt(call: KeyCall, plaintext: Uint8Array, context = ""): Promise<Uint8Array> {
    return await this.#bytes.encrypt(call, plaintext, context);
  }

  /** See ByteEncryption.decrypt. */
  async decrypt(call: KeyCall, frame: Uint8Array, context = ""): Promise<Uint8Array> {
    return await this.#bytes.decrypt(call, frame, context);
  }

  // Secrets: secrets.ts

  /** See Secrets.sealValue. */
  async sealValue(...place: Parameters<Secrets["sealValue"]>): Promise<string> {
    return await this.#secrets.sealValue(...place);
  }

  /** See Secrets.openValue. */
  async openValue(...place: Parameters<Secrets["openValue"]>): Promise<string> {
    return await this.#secrets.openValue(...place);
  }

  /** See Secrets.list. */
  listSecrets(owner: Subject, vaultId: string, query: Page & SecretFilters): Listed<SecretJson> {
    return this.#secrets.list(owner, vaultId, query);
  }

  /** See Secrets.prepare. */
  async prepareSecret(
    owner: Subject,
    vaultId: string,
    input: CreateSecretInput,
    options?: PrepareOptions,
  ): Promise<PreparedSecret> {
    return await this.#secrets.prepare(owner, vaultId, input, options);
  }

  /** See Secrets.create. */
  async createSecret(...creation: Parameters<Secrets["create"]>): Promise<SecretJson> {
    return await this.#secrets.create(...creation);
  }

  /** See Secrets.get. */
  async getSecret(owner: Subject, vaultId: string, secretId: string): Promise<SecretWithValueJson> {
    return await this.#secrets.get(owner, vaultId, secretId);
  }

  /** See Secrets.retrieve. */
  async retrieveSecret(owner: Subject, vaultId: string, secretId: string, asker?: string): Promise<string> {
    return await this.#secrets.retrieve(owner, vaultId, secretId, asker);
  }

  /** See Secrets.deletion. */
  secretDeletion(owner: Subject, vaultId: string, secretId: string): StoreCommit {
    return this.#secrets.deletion(owner, vaultId, secretId);
  }

  /** See Secrets.delete. */
  async deleteSecret(owner: Subject, vaultId: string, secretId: string): Promise<void> {
    await this.#secrets.delete(owner, vaultId, secretId);
  }
}
