/**
 * Keys inside the vault worker: making, wrapping and lending them. The only code that sees unwrapped keys, beside the functions that
 * they are lent to. Everything readable that steers a key's use is bound into its envelope.
 */
import { SecretBytes } from "../crypto/secret-bytes.js";
import { AppError } from "../platform/errors.js";
import { unwrapRecord, wrapRecord, type EnvelopePlace } from "./envelope.js";
import { MATERIAL_KINDS, type GeneratedKey, type KeySpec, type UnwrappedKey } from "./key-specs/key-spec.js";
import { keySpecNamed } from "./key-specs/table.js";
import type { KeyObjects } from "./key-objects.js";
import type { Keyring } from "./keyring.js";
import type { KeyOptions } from "./operation-schemas.js";
import type { KeyReference, VaultReference, VaultTasks } from "./protocol.js";
import { hexBytes, toHex } from "./text.js";

export const FIRST_GENERATION = 1;
const NO_BYTES = new Uint8Array();

type WrittenKey = VaultTasks["create_key"]["value"];

export class WorkerKeys {
  readonly keyring: Keyring;
  readonly #keyObjects: KeyObjects;

  constructor(keyring: Keyring, keyObjects: KeyObjects) {
    this.keyring = keyring;
    this.#keyObjects = keyObjects;
  }

  lock(): void {
    this.keyring.lock();
    this.#keyObjects.clear();
  }

  forgetVault(vaultId: string): void {
    this.keyring.forgetVault(vaultId);
    this.#keyObjects.forgetVault(vaultId);
  }

  /** Generates a key and wraps it as the given generation. */
  async create(vault: VaultReference, key: { readonly keyId: string; readonly generation: number }, spec: KeySpec, options: KeyOptions): Promise<WrittenKey> {
    return this.wrap(vault, key, spec, await spec.generate(options));
  }

  /** Wraps kind(1) || material under the vault's record key, bound to the public part, and overwrites the material. */
  wrap(vault: VaultReference, key: { readonly keyId: string; readonly generation: number }, spec: KeySpec, { material, publicKey, address }: GeneratedKey): WrittenKey {
    const plaintext = new Uint8Array(1 + material.length);
    try {
      plaintext[0] = MATERIAL_KINDS[spec.materialKind];
      material.use((bytes) => { plaintext.set(bytes, 1); });
      const publicPart = { ...(publicKey === undefined ? {} : { publicKey: toHex(publicKey) }), ...(address === undefined ? {} : { address }) };
      const place = keyPlace(vault, { ...key, spec: spec.name, type: spec.type, usage: spec.usage, ...publicPart });
      return { envelope: wrapRecord(this.keyring.recordKey(vault, vault.generation), vault.generation, place, plaintext), ...publicPart };
    } finally {
      plaintext.fill(0);
      material.wipe();
    }
  }

  /**
   * Lends an unwrapped key to a function and overwrites it afterwards. The master key is a key like others here, under its own
   * sub-key. Throws `key_disabled`, and `data_corrupt` when the record is not as it was written.
   */
  lend<T>(vault: VaultReference, key: KeyReference, use: (spec: KeySpec, key: UnwrappedKey) => T): T {
    if (key.isDisabled === true) throw new AppError("key_disabled", { message: "the key is disabled" });
    const spec = keySpecNamed(key.spec);
    if (key.keyId === vault.masterKeyId) {
      return this.keyring.withMasterKey(vault, (masterKey) => use(spec, this.#unwrapped(vault, key, masterKey)));
    }
    const plaintext = unwrapRecord(key.envelope, (generation) => this.keyring.recordKey(vault, generation), keyPlace(vault, key));
    try {
      if (plaintext[0] !== MATERIAL_KINDS[spec.materialKind]) throw new AppError("data_corrupt", { message: "a stored key holds another kind of material than its spec" });
      return use(spec, this.#unwrapped(vault, key, plaintext.subarray(1)));
    } finally {
      plaintext.fill(0);
    }
  }

  #unwrapped(vault: VaultReference, key: KeyReference, bytes: Uint8Array): UnwrappedKey {
    const material = SecretBytes.take(bytes);
    return {
      vaultId: vault.vaultId,
      keyId: key.keyId,
      generation: key.generation,
      material,
      publicKey: key.publicKey === undefined ? NO_BYTES : hexBytes(key.publicKey, "public_key"),
      toKeyObject: (make) => this.#keyObjects.get([vault.vaultId, key.keyId, key.spec, key.publicKey, key.envelope].join("|"), vault.vaultId, () => material.use(make)),
    };
  }
}

/** Later generations are bound to their number, so that an old one cannot be put in the place of a new one. */
function keyPlace(vault: VaultReference, key: Omit<KeyReference, "envelope">): EnvelopePlace {
  const rotated = key.generation === FIRST_GENERATION ? {} : { generation: String(key.generation) };
  const publicPart = { ...(key.publicKey === undefined ? {} : { public_key: key.publicKey }), ...(key.address === undefined ? {} : { address: key.address }) };
  return { purpose: "key", vaultId: vault.vaultId, recordId: key.keyId, metadata: { spec: key.spec, type: key.type, usage: key.usage, ...rotated, ...publicPart } };
}
