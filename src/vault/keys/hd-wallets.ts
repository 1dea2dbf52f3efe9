/**
 * Wallets of BIP39 keys: addresses at paths, the list of those that were derived, the next unused index and extended
 * public keys. An index is taken by the commit that comes before its answer, so that no two callers ever get the same
 * one.
 */
import { formatAccountPath, formatHdPath, HD_INDEX_MAX, type HdPath } from "../../crypto/wallets/hd-path.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import { StoreConflict } from "../../platform/store/store.js";
import type { Page } from "../../platform/store/tables.js";
import { KeyedMutex } from "../../platform/concurrency/keyed-mutex.js";
import { keyJson } from "./key-records.js";
import { BIP39 } from "../key-specs/bip39.js";
import { readHdWallet, type HdChoice } from "../key-specs/hd-options.js";
import type { HdAddressJson, SignInput, SignResultJson } from "./operation-schemas.js";
import type { HdAccount, ItemOutcome } from "../protocol.js";
import {
  unchanged,
  type FoundKey,
  type FoundVault,
  type HdAddressRecord,
  type VaultRepository,
} from "../repository.js";
import type { KeyJson } from "../schemas.js";
import type { VaultSeal } from "../seal/seal.js";

export interface HdWalletsDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly clock: Clock;
}

/**
 * Somebody else may write first (another process, a list entry of the same path); each try starts from what is stored
 * then.
 */
const TRIES_MAX = 8;
/** Requests for the next index of one wallet that may wait for each other; each takes some milliseconds. */
const WAITING_MAX = 256;
const ACCOUNT: HdAccount = { purpose: 44, coin: 60, account: 0 };

export class HdWallets {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;
  readonly #clock: Clock;
  readonly #turns = new KeyedMutex({ waitingMax: WAITING_MAX });

  constructor(dependencies: HdWalletsDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
    this.#clock = dependencies.clock;
  }

  /**
   * Derives the address at a path, or at the next index, and puts it on the wallet's list. Throws
   * `derivation_index_exhausted`.
   */
  async derive(vault: FoundVault, key: FoundKey, choice: HdChoice): Promise<KeyJson> {
    const derived = async (path: HdPath): Promise<KeyJson> => {
      const text = formatHdPath(path);
      const address = await this.#seal.run(
        "hd_address",
        { vault: vault.reference, key: key.reference, path: text },
        key.reference.keyId,
      );
      return { ...keyJson(key.record.value), address, hd_derivation_path: text };
    };
    if (choice.isNext) return await this.#withNext(key, choice.path, derived, (result) => result.address);
    const result = await derived(choice.path);
    await this.#retried(async () => {
      await this.#repository.commit(unchanged(key.record), this.#listing(key, choice.path, result.address ?? ""));
    });
    return result;
  }

  /**
   * Signs an item with the next unused index. The signature is made first and answered last: in between the index is
   * taken durably. A refused item takes none.
   */
  async signNext(
    vault: FoundVault,
    key: FoundKey,
    item: SignInput,
    run: (items: readonly object[]) => Promise<readonly ItemOutcome[]>,
  ): Promise<ItemOutcome> {
    const { path } = readHdWallet(item.options?.hdwallet);
    return await this.#withNext(
      key,
      path,
      async (next): Promise<ItemOutcome> => {
        const [outcome] = await run([
          { ...item, options: { ...item.options, hdwallet: { hd_derivation_path: formatHdPath(next) } } },
        ]);
        if (outcome === undefined) throw new Error("invariant broken: each item has an outcome");
        return outcome;
      },
      (outcome) => (outcome.ok ? (outcome.value as SignResultJson).address : undefined),
    );
  }

  /** The addresses that were derived from a wallet, oldest first. Throws `spec_cannot_derive`. */
  listAddresses(owner: Subject, vaultId: string, keyId: string, page: Page): { body: HdAddressJson[]; total: number } {
    const { key } = this.#find(owner, vaultId, keyId, "spec_cannot_derive");
    const { rows, total } = this.#repository.listHdAddresses(key, page);
    return { body: rows.map(addressJson), total };
  }

  /** The extended public key of an account, of purpose 44 unless another is given. Throws `spec_has_no_xpub`. */
  async xpub(
    owner: Subject,
    vaultId: string,
    keyId: string,
    account: number,
    purpose = ACCOUNT.purpose,
  ): Promise<{ xpub: string; hd_derivation_path: string }> {
    const { vault, key } = this.#find(owner, vaultId, keyId, "spec_has_no_xpub");
    const branch = { ...ACCOUNT, purpose, account };
    const xpub = await this.#seal.run(
      "hd_xpub",
      { vault: vault.reference, key: key.reference, account: branch },
      keyId,
    );
    return { xpub, hd_derivation_path: formatAccountPath(branch) };
  }

  /**
   * Does work at the next index of a branch; the index is taken when the work has an address, before the result is
   * given.
   */
  async #withNext<T>(
    key: FoundKey,
    branch: HdPath,
    work: (path: HdPath) => Promise<T>,
    addressOf: (result: T) => string | undefined,
  ): Promise<T> {
    return await this.#turns.run(
      key.reference.keyId,
      async () =>
        await this.#retried(async () => {
          const { index, claim } = this.#repository.nextHdIndex(key, branch);
          if (index > HD_INDEX_MAX)
            throw new AppError("derivation_index_exhausted", {
              message: "every index of this account was given out; use the next account",
            });
          const path = { ...branch, index };
          const result = await work(path);
          const address = addressOf(result);
          if (address !== undefined)
            await this.#repository.commit(unchanged(key.record), claim, this.#listing(key, path, address));
          return result;
        }),
    );
  }

  #listing(key: FoundKey, path: HdPath, address: string): ReturnType<VaultRepository["hdAddressInsertion"]> {
    return this.#repository.hdAddressInsertion(key, path, {
      id: newId(),
      created_at: isoTimestamp(this.#clock.nowMs()),
      address,
    });
  }

  async #retried<T>(attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error;
        if (error.key[0] === "key") throw new AppError("not_found", { message: "key not found", cause: error });
        if (tries === TRIES_MAX)
          throw new AppError("conflict", {
            message: "the wallet is changed by others at the same time; try again",
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
    const vault = this.#repository.findVault(owner, vaultId);
    const key = this.#repository.findKey(vaultId, keyId);
    if (key.reference.spec !== BIP39) throw new AppError(otherwise, { message: `only ${BIP39} keys are wallets` });
    return { vault, key };
  }
}

function addressJson({ vault_id: _vault, key_id: _key, ...address }: HdAddressRecord): HdAddressJson {
  return address;
}
