/**
 * Wallets of BIP39 keys: addresses at paths, the list of derived addresses, the next unused index and extended public
 * keys. A commit takes an index before the answer with it is sent, so that no two callers ever get the same one.
 */
import { formatAccountPath, formatHdPath, HD_INDEX_MAX, type HdPath } from "../../crypto/wallets/hd-path.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, assert } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import { StoreConflict, type StoreCommit } from "../../platform/store/store.js";
import type { Page } from "../../platform/store/tables.js";
import { KeyedMutex } from "../../platform/concurrency/keyed-mutex.js";
import type { KeyCall } from "./key-call.js";
import type { HdAddressRecord } from "./hd-address-repository.js";
import { keyJson } from "./key-records.js";
import { BIP39 } from "../key-specs/bip39.js";
import { readHdWallet, type HdChoice } from "../key-specs/hd-options.js";
import type { HdAddressJson, SignInput, SignResultJson } from "./operation-schemas.js";
import type { HdAccount, ItemOutcome } from "../protocol.js";
import { unchanged, type VaultRepository } from "../repository.js";
import type { FoundKey, FoundVault } from "../vault-records.js";
import type { KeyJson } from "../schemas.js";
import type { VaultSeal } from "../seal/seal.js";

/** Work at the next index of a branch of a wallet. */
interface NextWork<T> {
  readonly run: (path: HdPath) => Promise<T>;
  /** Returns the address that a result has; without one the index is not taken. */
  readonly addressOf: (result: T) => string | undefined;
  /** Returns what else goes into the commit that takes the index. */
  readonly keep?: ((result: T) => StoreCommit) | undefined;
}

export interface HdWalletsDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly clock: Clock;
}

/** Another request may write first, such as the list entry of the same path; each try reads the store again. */
const TRIES_MAX = 8;
/** Requests for the next index that may wait at one wallet; each takes some milliseconds. */
const WAITING_MAX = 256;
const COIN = 60;
/** BIP-44. */
const PURPOSE = 44;

/** The wallets of all vaults. */
export class HdWallets {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;
  readonly #clock: Clock;
  /** One request for the next index at a time, by key id. */
  readonly #nextIndex = new KeyedMutex({ waitingMax: WAITING_MAX });

  constructor(dependencies: HdWalletsDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
    this.#clock = dependencies.clock;
  }

  /**
   * Derives the address at a path, or at the next index, and puts it on the wallet's list. Returns the wallet's key
   * with the address. Throws `derivation_index_exhausted`, `not_found`, `conflict`.
   * @param keep returns what else goes into the commit, anew for each try
   */
  async derive(
    vault: FoundVault,
    key: FoundKey,
    choice: HdChoice,
    keep?: (derived: KeyJson) => StoreCommit,
  ): Promise<KeyJson> {
    const derived = async (path: HdPath): Promise<KeyJson & { readonly address: string }> => {
      const text = formatHdPath(path);
      const address = await this.#seal.run(
        "hd_address",
        { vault: vault.reference, key: key.reference, path: text },
        key.reference.keyId,
      );
      return { ...keyJson(key.record.value), address, hd_derivation_path: text };
    };
    if (choice.isNext)
      return await this.#withNext(key, choice.path, { run: derived, addressOf: ({ address }) => address, keep });
    const result = await derived(choice.path);
    await this.#retried(key, async () => {
      const listing = this.#listing(key, choice.path, result.address);
      await this.#repository.commit(unchanged(key.record), listing, keep?.(result) ?? {});
    });
    return result;
  }

  /**
   * Signs an item with the key at the next unused index. The index is taken durably after the signature is made and
   * before it is returned. A refused item takes no index.
   * @param run runs the sign operation on items that name their path
   */
  async signNext(
    vault: FoundVault,
    key: FoundKey,
    item: SignInput,
    run: (items: readonly SignInput[]) => Promise<readonly ItemOutcome[]>,
  ): Promise<ItemOutcome> {
    const { path } = readHdWallet(item.options?.hdwallet);
    return await this.#withNext<ItemOutcome>(key, path, {
      run: async (next) => {
        const [outcome] = await run([
          { ...item, options: { ...item.options, hdwallet: { hd_derivation_path: formatHdPath(next) } } },
        ]);
        assert(outcome !== undefined, "each item has an outcome");
        return outcome;
      },
      addressOf: (outcome) => (outcome.ok ? (outcome.value as SignResultJson).address : undefined),
    });
  }

  /** Lists the derived addresses of a wallet, oldest first. Throws `spec_cannot_derive`, `not_found`. */
  listAddresses(owner: Subject, vaultId: string, keyId: string, page: Page): { body: HdAddressJson[]; total: number } {
    const { key } = this.#find(owner, vaultId, keyId, "spec_cannot_derive");
    const { rows, total } = this.#repository.wallets.list(key, page);
    return { body: rows.map(addressJson), total };
  }

  /**
   * Returns the extended public key of an account, by default of purpose 44 (BIP-44).
   * @throws spec_has_no_xpub, `key_disabled`, `not_found`
   */
  async xpub(
    { owner, vaultId, keyId }: KeyCall,
    { account, purpose = PURPOSE }: { readonly account: number; readonly purpose?: number },
  ): Promise<{ xpub: string; hd_derivation_path: string }> {
    const { vault, key } = this.#find(owner, vaultId, keyId, "spec_has_no_xpub");
    const branch: HdAccount = { purpose, coin: COIN, account };
    const xpub = await this.#seal.run(
      "hd_xpub",
      { vault: vault.reference, key: key.reference, account: branch },
      keyId,
    );
    return { xpub, hd_derivation_path: formatAccountPath(branch) };
  }

  /**
   * Runs work at the next index of a branch. When its result has an address, the index is taken before the result is
   * returned.
   */
  async #withNext<T>(key: FoundKey, branch: HdPath, { run, addressOf, keep }: NextWork<T>): Promise<T> {
    return await this.#nextIndex.run(
      key.reference.keyId,
      async () =>
        await this.#retried(key, async () => {
          const { index, claim } = this.#repository.wallets.nextIndex(key, branch);
          if (index > HD_INDEX_MAX)
            throw new AppError("derivation_index_exhausted", {
              message: "every index of this account is used; use the next account",
            });
          const path = { ...branch, index };
          const result = await run(path);
          const address = addressOf(result);
          if (address === undefined) return result;
          const listing = this.#listing(key, path, address);
          await this.#repository.commit(unchanged(key.record), claim, listing, keep?.(result) ?? {});
          return result;
        }),
    );
  }

  #listing(key: FoundKey, path: HdPath, address: string): StoreCommit {
    return this.#repository.wallets.insertion(key, path, {
      id: newId(),
      created_at: isoTimestamp(this.#clock.nowMs()),
      address,
    });
  }

  /**
   * Runs a commit again when another request wrote first. Throws `not_found` when the key was deleted, `conflict` when
   * it was changed.
   */
  async #retried<T>(key: FoundKey, attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error;
        if (this.#repository.isKeyConflict(error)) throw this.#repository.keyConflict(key, error);
        if (tries === TRIES_MAX)
          throw new AppError("conflict", {
            message: "the wallet is changed by other requests at the same time; try again",
            cause: error,
          });
      }
    }
  }

  #find(
    owner: Subject,
    vaultId: string,
    keyId: string,
    otherwise: "spec_cannot_derive" | "spec_has_no_xpub",
  ): { vault: FoundVault; key: FoundKey } {
    this.#seal.requireUnsealed();
    const vault = this.#repository.findUsableVault(owner, vaultId);
    const key = this.#repository.findKey(vaultId, keyId);
    if (key.reference.spec !== BIP39) throw new AppError(otherwise, { message: `only ${BIP39} keys are wallets` });
    return { vault, key };
  }
}

function addressJson({ vault_id: _vault, key_id: _key, ...address }: HdAddressRecord): HdAddressJson {
  return address;
}
