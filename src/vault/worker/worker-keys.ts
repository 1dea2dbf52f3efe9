/**
 * Keys inside a vault worker: where they are made, wrapped, unwrapped and used.
 *
 * Where a key is wrapped: `WorkerKeys.wrap` below puts material into an envelope with `wrapRecord`
 * (record-wrapping.ts), under the vault's record key, bound to the vault, the record and the columns that steer its
 * use. Master keys are wrapped by `Keyring.wrapMasterKey` (keyring.ts) under the KEK, secrets by the task `seal_secret`
 * (tasks.ts).
 *
 * Where a key is unwrapped: `WorkerKeys.lend` opens the record, or takes the key from the opened ones (key-objects.ts),
 * lends it to one operation and wipes its bytes afterwards. Only this file, the operations (operations.ts) and the key
 * specs see unwrapped keys.
 *
 * Which key comes from which: key-hierarchy.ts, one label per use.
 *
 * Layers, lowest first: ciphertext-frame.ts (versioned AEAD frame), record-wrapping.ts (frames at rest, bound to their
 * place), api-ciphertexts.ts (frames for callers, under a sub-key), keyring.ts (root keys), this file, operations.ts
 * (items of the API), tasks.ts (messages of the main thread).
 */
import { createSecretKey, type KeyObject } from "node:crypto";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { AppError } from "../../platform/errors.js";
import { unwrapRecord, wrapRecord, type EnvelopePlace } from "./record-wrapping.js";
import { MATERIAL_KINDS, type GeneratedKey, type KeySpec, type UnwrappedKey } from "../key-specs/key-spec.js";
import { keySpecNamed } from "../key-specs/table.js";
import type { OpenedKey, KeyObjects } from "./key-objects.js";
import { FIRST_GENERATION, keyDisabled } from "../keys/key-records.js";
import type { Keyring } from "./keyring.js";
import type { KeyOptions } from "../schemas.js";
import type { KeyReference, VaultReference, VaultTasks } from "../protocol.js";
import { hexBytes, toHex } from "../keys/validation.js";

const NO_BYTES = new Uint8Array();

type WrittenKey = VaultTasks["create_key"]["value"];

/** The keys of one worker. */
export class WorkerKeys {
  readonly keyring: Keyring;
  readonly #keyObjects: KeyObjects;
  /**
   * The key that was named last. Requests of one message share the objects that describe their key, so its name, a KB
   * of text, is made once.
   */
  #lastNamed: NamedKey | undefined;

  constructor(keyring: Keyring, keyObjects: KeyObjects) {
    this.keyring = keyring;
    this.#keyObjects = keyObjects;
  }

  /** Drops the seal entropy, all record keys and all opened keys. */
  lock(): void {
    this.keyring.lock();
    this.#keyObjects.clear();
  }

  /** Drops what is cached of a vault. */
  forgetVault(vaultId: string): void {
    this.keyring.forgetVault(vaultId);
    this.#keyObjects.forgetVault(vaultId);
  }

  /** Generates a key and wraps it as the given generation. */
  async create(
    vault: VaultReference,
    key: { readonly keyId: string; readonly generation: number },
    spec: KeySpec,
    options: KeyOptions,
  ): Promise<WrittenKey> {
    return this.wrap(vault, key, spec, await spec.generate(options));
  }

  /**
   * Wraps kind(1) || material under the vault's record key, bound to the key's columns and public part, and wipes the
   * material.
   */
  wrap(
    vault: VaultReference,
    key: { readonly keyId: string; readonly generation: number },
    spec: KeySpec,
    { material, publicKey, address }: GeneratedKey,
  ): WrittenKey {
    const plaintext = new Uint8Array(1 + material.length);
    try {
      plaintext[0] = MATERIAL_KINDS[spec.materialKind];
      material.use((bytes) => {
        plaintext.set(bytes, 1);
      });
      const publicPart = {
        ...(publicKey === undefined ? {} : { publicKey: toHex(publicKey) }),
        ...(address === undefined ? {} : { address }),
      };
      const place = keyPlace(vault, { ...key, spec: spec.name, type: spec.type, usage: spec.usage, ...publicPart });
      return {
        envelope: wrapRecord(this.keyring.wrappingKey(vault), place, plaintext),
        ...publicPart,
      };
    } finally {
      plaintext.fill(0);
      material.wipe();
    }
  }

  /**
   * Lends an unwrapped key to a function and wipes its bytes afterwards. The master key is lent like other keys, under
   * its own sub-key, but is never kept.
   * @throws key_disabled, and `data_corrupt` when the record is not as it was written
   */
  lend<T>(vault: VaultReference, key: KeyReference, use: (spec: KeySpec, key: UnwrappedKey) => T): T {
    if (key.isDisabled === true) throw keyDisabled();
    const spec = keySpecNamed(key.spec);
    if (key.keyId === vault.masterKeyId) {
      return this.keyring.withMasterKey(vault, (masterKey) =>
        use(spec, {
          ...identity(vault, key),
          material: SecretBytes.take(masterKey),
          toKeyObject: (_purpose, make) => make(masterKey),
        }),
      );
    }
    const named = this.#named(vault, key);
    const opened = this.#keyObjects.get(named.name, vault.vaultId, () => this.#open(vault, key, spec));
    // Read only after the record was opened, which authenticates these columns.
    named.identity ??= identity(vault, key);
    const lent = new LentKey(named.identity, opened);
    try {
      return use(spec, lent);
    } finally {
      lent.wipe();
    }
  }

  #named(vault: VaultReference, key: KeyReference): NamedKey {
    if (this.#lastNamed?.vault !== vault || this.#lastNamed.key !== key)
      this.#lastNamed = { vault, key, name: nameOf(vault, key) };
    return this.#lastNamed;
  }

  /** Opens a record and returns its material without the kind byte. */
  #open(vault: VaultReference, key: KeyReference, spec: KeySpec): KeyObject {
    const plaintext = unwrapRecord(
      key.envelope,
      (generation) => this.keyring.recordKey(vault, generation),
      keyPlace(vault, key),
    );
    try {
      if (plaintext[0] !== MATERIAL_KINDS[spec.materialKind])
        throw new AppError("data_corrupt", { message: "a stored key holds another kind of material than its spec" });
      return createSecretKey(plaintext.subarray(1));
    } finally {
      plaintext.fill(0);
    }
  }
}

type KeyIdentity = Pick<UnwrappedKey, "vaultId" | "keyId" | "generation" | "publicKey">;

interface NamedKey {
  readonly vault: VaultReference;
  readonly key: KeyReference;
  /** See `nameOf`. */
  readonly name: string;
  identity?: KeyIdentity;
}

/** A key for the length of one operation. Its material becomes bytes only where a caller reads them. */
class LentKey implements UnwrappedKey {
  readonly vaultId: string;
  readonly keyId: string;
  readonly generation: number;
  readonly publicKey: Uint8Array;
  readonly #opened: OpenedKey;
  #material: SecretBytes | undefined;

  constructor(identity: KeyIdentity, opened: OpenedKey) {
    ({ vaultId: this.vaultId, keyId: this.keyId, generation: this.generation, publicKey: this.publicKey } = identity);
    this.#opened = opened;
  }

  get material(): SecretBytes {
    this.#material ??= SecretBytes.take(this.#opened.secret.export());
    return this.#material;
  }

  /** See UnwrappedKey. */
  toKeyObject(purpose: string, make: (material: Uint8Array) => KeyObject): KeyObject {
    const kept = this.#opened.derived.get(purpose);
    if (kept !== undefined) return kept;
    const made = this.material.use(make);
    this.#opened.derived.set(purpose, made);
    return made;
  }

  /** Overwrites the bytes of the material. */
  wipe(): void {
    this.#material?.wipe();
  }
}

function identity(vault: VaultReference, key: KeyReference): KeyIdentity {
  return {
    vaultId: vault.vaultId,
    keyId: key.keyId,
    generation: key.generation,
    publicKey: key.publicKey === undefined ? NO_BYTES : hexBytes(key.publicKey, "public_key"),
  };
}

/** Joins everything that opening the record checks: the vault's owner, its master key, the record and its columns. */
function nameOf(vault: VaultReference, key: KeyReference): string {
  return [
    vault.vaultId,
    vault.owner,
    vault.masterKeyId,
    vault.masterEnvelope,
    key.keyId,
    key.spec,
    key.type,
    key.usage,
    key.generation,
    key.publicKey,
    key.address,
    key.envelope,
  ].join("|");
}

/**
 * Returns the place of a key's record. Later generations are bound to their number, so that an old one cannot be put in
 * the place of a new one.
 */
function keyPlace(vault: VaultReference, key: Omit<KeyReference, "envelope">): EnvelopePlace {
  const rotated = key.generation === FIRST_GENERATION ? {} : { generation: String(key.generation) };
  const publicPart = {
    ...(key.publicKey === undefined ? {} : { public_key: key.publicKey }),
    ...(key.address === undefined ? {} : { address: key.address }),
  };
  return {
    purpose: "key",
    vaultId: vault.vaultId,
    recordId: key.keyId,
    metadata: { spec: key.spec, type: key.type, usage: key.usage, ...rotated, ...publicPart },
  };
}
