/**
 * Keys inside the vault worker: making, wrapping and lending them. The only code that sees unwrapped keys, beside the
 * functions that they are lent to. Everything readable that steers a key's use is bound into its envelope.
 */
import { createSecretKey, type KeyObject } from "node:crypto";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { AppError } from "../../platform/errors.js";
import { unwrapRecord, wrapRecord, type EnvelopePlace } from "./record-wrapping.js";
import { MATERIAL_KINDS, type GeneratedKey, type KeySpec, type UnwrappedKey } from "../key-specs/key-spec.js";
import { keySpecNamed } from "../key-specs/table.js";
import type { HeldKey, KeyObjects } from "./key-objects.js";
import { keyDisabled } from "../keys/key-records.js";
import type { Keyring } from "./keyring.js";
import type { KeyOptions } from "../keys/operation-schemas.js";
import type { KeyReference, VaultReference, VaultTasks } from "../protocol.js";
import { hexBytes, toHex } from "../keys/validation.js";

export const FIRST_GENERATION = 1;
/** What is kept of one key: the accounts of a wallet that sign, one or two things of any other. */
const MADE_MAX = 64;
const NO_BYTES = new Uint8Array();

type WrittenKey = VaultTasks["create_key"]["value"];

export class WorkerKeys {
  readonly keyring: Keyring;
  readonly #keyObjects: KeyObjects;
  /**
   * The key that was named last: requests of one message share the objects that describe it, and each name is a KB of
   * text.
   */
  #lastNamed: NamedKey | undefined;

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
  async create(
    vault: VaultReference,
    key: { readonly keyId: string; readonly generation: number },
    spec: KeySpec,
    options: KeyOptions,
  ): Promise<WrittenKey> {
    return this.wrap(vault, key, spec, await spec.generate(options));
  }

  /** Wraps kind(1) || material under the vault's record key, bound to the public part, and overwrites the material. */
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
        envelope: wrapRecord(this.keyring.recordKey(vault, vault.generation), vault.generation, place, plaintext),
        ...publicPart,
      };
    } finally {
      plaintext.fill(0);
      material.wipe();
    }
  }

  /**
   * Lends an unwrapped key to a function and overwrites it afterwards. The master key is a key like others here, under
   * its own sub-key, but never kept. Throws `key_disabled`, and `data_corrupt` when the record is not as it was
   * written.
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
    const held = this.#keyObjects.get(named.name, vault.vaultId, () => this.#open(vault, key, spec));
    // Read only now: opening has authenticated it.
    named.identity ??= identity(vault, key);
    const lent = new LentKey(named.identity, held);
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

  /** The material of a record that is as it was written; without the kind byte. */
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

/** A key for the length of one operation. Its material becomes bytes only for those that ask for them. */
class LentKey implements UnwrappedKey {
  readonly vaultId: string;
  readonly keyId: string;
  readonly generation: number;
  readonly publicKey: Uint8Array;
  readonly #held: HeldKey;
  #material: SecretBytes | undefined;

  constructor(identity: KeyIdentity, held: HeldKey) {
    ({ vaultId: this.vaultId, keyId: this.keyId, generation: this.generation, publicKey: this.publicKey } = identity);
    this.#held = held;
  }

  get material(): SecretBytes {
    this.#material ??= SecretBytes.take(this.#held.secret.export());
    return this.#material;
  }

  toKeyObject(purpose: string, make: (material: Uint8Array) => KeyObject): KeyObject {
    const known = this.#held.made.get(purpose);
    if (known !== undefined) return known;
    const made = this.material.use(make);
    if (this.#held.made.size >= MADE_MAX) this.#held.made.delete(this.#held.made.keys().next().value ?? "");
    this.#held.made.set(purpose, made);
    return made;
  }

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

/** All that opening the record checks: who owns the vault, its master key, the record and its columns. */
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

/** Later generations are bound to their number, so that an old one cannot be put in the place of a new one. */
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
