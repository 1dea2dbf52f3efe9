/**
 * Derivation: child keys of ChaCha20 keys, which are stored as keys, and addresses of wallets. One item or a batch.
 */
import { randomInt } from "node:crypto";
import type { MaybeRefused, WithRefusedItems } from "../../platform/contract/refused-item.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import { StoreConflict, type StoreCommit } from "../../platform/store/store.js";
import type { HdWallets } from "./hd-wallets.js";
import { batchOf, itemsOf, outcomeUnlessFault, refusalOf, type BatchJson } from "../threads/item-batches.js";
import { keyDisabled, keyJson, newKeyRecord, requireForCallers } from "./key-records.js";
import type { KeyCall } from "./key-call.js";
import { requireAbility } from "../key-specs/abilities.js";
import { BIP39 } from "../key-specs/bip39.js";
import { readHdWallet } from "../key-specs/hd-options.js";
import { keySpecNamed } from "../key-specs/table.js";
import type { DeriveKeyInput } from "./operation-schemas.js";
import type { ItemOutcome } from "../protocol.js";
import { isNonceConflict, nonceClaim, unchanged, type VaultRepository } from "../repository.js";
import type { FoundKey, FoundVault } from "../vault-records.js";
import type { KeyJson } from "../schemas.js";
import type { VaultSeal } from "../seal/seal.js";
import { contextBytes } from "./validation.js";

export interface KeyDerivationDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly clock: Clock;
  readonly wallets: HdWallets;
}

/** What is derived: one key, or the results of a batch. */
export type Derived = KeyJson | BatchJson<KeyJson>;

/** What the caller keeps with what is derived. */
export interface KeptDerivations {
  /** Returns what goes into the commit of a single item or of the last one of a batch. */
  readonly derived: (derived: Derived) => StoreCommit;
  /** Returns what goes into the first commit of a batch. */
  readonly begun: () => StoreCommit;
}

type DeriveItem = MaybeRefused<Omit<DeriveKeyInput, "batch">>;
/** Returns what goes into the commit of an item. */
type KeepItem = (derived: KeyJson) => StoreCommit;
interface Child {
  readonly name: string;
  readonly description?: string;
  readonly context: Uint8Array;
}
interface ChildOf {
  readonly vault: FoundVault;
  readonly parent: FoundKey;
  readonly child: Child;
  readonly keep: KeepItem | undefined;
}

/** Tries at a random unused nonce. With a thousand nonces used, a try fails once in four million times. */
const NONCE_TRIES_MAX = 16;
const NONCE_LIMIT = 2 ** 32;

/** Derives child keys and addresses. */
export class KeyDerivation {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;
  readonly #clock: Clock;
  readonly #wallets: HdWallets;

  constructor(dependencies: KeyDerivationDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
    this.#clock = dependencies.clock;
    this.#wallets = dependencies.wallets;
  }

  /**
   * Derives one child key or address, or a batch of them.
   * @param kept what else goes into the commits; when the last item of a batch fails, only that it has begun
   * @throws spec_cannot_derive, `key_disabled`, `key_server_only`, `not_found`, and for a single item `nonce_reused`,
   * `derivation_path_invalid` and others
   */
  async derive(
    { owner, vaultId, keyId, signal }: KeyCall,
    input: WithRefusedItems<DeriveKeyInput>,
    kept?: KeptDerivations,
  ): Promise<Derived> {
    this.#seal.requireUnsealed();
    const vault = this.#repository.findUsableVault(owner, vaultId);
    const key = this.#repository.findKey(vaultId, keyId);
    requireForCallers(key.record.value);
    const isWallet = key.reference.spec === BIP39;
    if (!isWallet) requireAbility(keySpecNamed(key.reference.spec), "derive");
    // As in all other operations, a disabled key fails the call rather than each of its items.
    if (key.reference.isDisabled === true) throw keyDisabled();
    const { items, isBatch } = itemsOf<DeriveItem>(input);
    const derive = async (item: DeriveItem, keep: KeepItem | undefined): Promise<KeyJson> =>
      isWallet ? await this.#deriveAddress(vault, key, item, keep) : await this.#deriveChild(vault, key, item, keep);
    if (!isBatch) return await derive(items[0] ?? {}, kept?.derived);
    // One after the other: each is a commit, and the results are in the order of the nonces and indexes.
    const outcomes: ItemOutcome[] = [];
    for (const item of items) {
      signal?.throwIfAborted();
      const keep = keepingItem(kept, outcomes, items.length);
      outcomes.push(refusalOf(item) ?? (await outcomeUnlessFault(async () => await derive(item, keep))));
    }
    return batchOf<KeyJson>(outcomes);
  }

  async #deriveAddress(
    vault: FoundVault,
    key: FoundKey,
    { hd_derivation_path: path, options, ...others }: DeriveItem,
    keep: KeepItem | undefined,
  ): Promise<KeyJson> {
    const other = (["nonce", "context", "name", "description"] as const).find((name) => others[name] !== undefined);
    if (other !== undefined)
      throw invalidMember(
        other,
        `\`${other}\` is for ChaCha20 keys; the addresses of a wallet do not have it`,
        "option_unsupported",
      );
    if (path !== undefined && options?.hdwallet !== undefined)
      throw invalidMember(
        "hd_derivation_path",
        "give `hd_derivation_path` or `options.hdwallet`, not both",
        "derivation_path_invalid",
      );
    return await this.#wallets.derive(
      vault,
      key,
      readHdWallet(path === undefined ? options?.hdwallet : { hd_derivation_path: path }),
      keep,
    );
  }

  async #deriveChild(
    vault: FoundVault,
    parent: FoundKey,
    item: DeriveItem,
    keep: KeepItem | undefined,
  ): Promise<KeyJson> {
    if (item.hd_derivation_path !== undefined || item.options?.hdwallet !== undefined)
      throw invalidMember("hd_derivation_path", "only BIP39 keys have paths", "option_unsupported");
    if (item.context === undefined) throw invalidMember("context", "context required");
    if (item.name === undefined) throw invalidMember("name", "name required");
    const context = contextBytes(item.context);
    const child = {
      name: item.name,
      context,
      ...(item.description === undefined ? {} : { description: item.description }),
    };
    const childOf = { vault, parent, child, keep };
    if (item.nonce !== undefined) {
      const key = await this.#deriveWith(childOf, item.nonce);
      if (key === undefined) throw new AppError("nonce_reused", { message: "the nonce was used with this key before" });
      return key;
    }
    for (let tries = 0; tries < NONCE_TRIES_MAX; tries += 1) {
      const key = await this.#deriveWith(childOf, randomInt(NONCE_LIMIT));
      if (key !== undefined) return key;
    }
    throw new AppError("nonce_reused", { message: "no unused nonce was found for this key" });
  }

  /** Derives and stores the child key; returns undefined when the nonce is used already. */
  async #deriveWith({ vault, parent, child, keep }: ChildOf, nonce: number): Promise<KeyJson | undefined> {
    const { vaultId } = vault.reference;
    const keyId = newId();
    const made = await this.#seal.run(
      "derive_key",
      { vault: vault.reference, parent: parent.reference, keyId, nonce, context: child.context },
      parent.reference.keyId,
    );
    const record = newKeyRecord(
      { id: keyId, created_at: isoTimestamp(this.#clock.nowMs()), vault_id: vaultId },
      keySpecNamed(parent.reference.spec),
      child,
      made,
    );
    const key = keyJson(record);
    try {
      await this.#repository.commit(
        unchanged(vault.record),
        unchanged(parent.record),
        nonceClaim(parent.record.value, nonce),
        this.#repository.keyInsertion(record),
        keep?.(key) ?? {},
      );
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      if (isNonceConflict(error)) return undefined;
      throw this.#repository.keyConflict(parent, error);
    }
    return key;
  }
}

/** Returns what keeps the next item of a batch of `itemsCount`, after the items of `outcomes`. */
function keepingItem(
  kept: KeptDerivations | undefined,
  outcomes: readonly ItemOutcome[],
  itemsCount: number,
): KeepItem | undefined {
  if (kept === undefined) return undefined;
  if (outcomes.length + 1 === itemsCount)
    return (value) => kept.derived(batchOf<KeyJson>([...outcomes, { ok: true, value }]));
  return outcomes.some(({ ok }) => ok) ? undefined : () => kept.begun();
}
