/**
 * The indexes and derived addresses of wallets in the store. They are stored under their vault and key, so that
 * deleting either deletes them (repository.ts).
 */
import { formatHdPath, type HdPath } from "../../crypto/wallets/hd-path.js";
import type { Store, StoreCommit, StoreKey } from "../../platform/store/store.js";
import { defineTable, type Listing, type Page, type Table } from "../../platform/store/tables.js";
import type { FoundKey } from "../vault-records.js";
import type { HdAddressJson } from "./operation-schemas.js";

/** A derived address of a wallet, as its list holds it. */
export interface HdAddressRecord extends HdAddressJson {
  readonly vault_id: string;
  readonly key_id: string;
}

/** [name, vault id, key id, purpose, account, change] -> the index that the branch uses next. */
export const HD_INDEX = "hd_index";

/** Reads wallets' indexes and addresses, and makes the commits that add to them. */
export class HdAddressRepository {
  readonly #store: Store;
  readonly #addresses: Table<HdAddressRecord, "key", "path">;

  constructor(dependencies: { readonly store: Store }) {
    this.#store = dependencies.store;
    this.#addresses = defineTable(
      {
        name: "hd_address",
        key: (address: HdAddressRecord) => [address.vault_id, address.key_id, address.id],
        indexes: { key: (address: HdAddressRecord) => [address.vault_id, address.key_id] },
        uniques: { path: (address: HdAddressRecord) => [address.vault_id, address.key_id, address.hd_derivation_path] },
      },
      dependencies,
    );
  }

  /**
   * Returns the next unused index of a branch of a wallet, and the commit that takes it, which conflicts when another
   * request took it first.
   */
  nextIndex({ record }: FoundKey, branch: HdPath): { readonly index: number; readonly claim: StoreCommit } {
    const key: StoreKey = [
      HD_INDEX,
      record.value.vault_id,
      record.value.id,
      branch.purpose,
      branch.account,
      branch.change,
    ];
    const counter = this.#store.get<number>(key);
    let index = counter?.value ?? 0;
    // An address that was derived by its path is in use as well.
    while (
      this.#addresses.findBy("path", [record.value.vault_id, record.value.id, formatHdPath({ ...branch, index })]) !==
      undefined
    )
      index += 1;
    return {
      index,
      claim: { checks: [{ key, version: counter?.version ?? "absent" }], puts: [{ key, value: index + 1 }] },
    };
  }

  /** Lists the derived addresses of a wallet, oldest first. */
  list({ record }: FoundKey, page: Page): Listing<HdAddressRecord> {
    return this.#addresses.list("key", [record.value.vault_id, record.value.id], { page });
  }

  /**
   * Returns the commit that puts an address on the wallet's list; empty when it is there. Conflicts when another
   * request put it there in the meantime.
   */
  insertion(
    { record }: FoundKey,
    path: HdPath,
    address: Omit<HdAddressJson, "hd_derivation_path" | "index">,
  ): StoreCommit {
    const { vault_id, id: key_id } = record.value;
    const hd_derivation_path = formatHdPath(path);
    if (this.#addresses.findBy("path", [vault_id, key_id, hd_derivation_path]) !== undefined) return {};
    return this.#addresses.insertCommit({ ...address, vault_id, key_id, hd_derivation_path, index: path.index });
  }
}
