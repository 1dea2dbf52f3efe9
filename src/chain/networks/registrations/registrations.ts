/** Records of one kind that an application makes about its networks, such as oracles: kept, listed, forgotten. */
import { ownerKey, type Subject } from "../../../platform/auth/principal.js";
import { AppError } from "../../../platform/errors.js";
import type { Store } from "../../../platform/store/store.js";
import {
  defineTable,
  mergeCommits,
  retryOnConflict,
  type Page,
  type Table,
  type TableRow,
} from "../../../platform/store/tables.js";
import type { Networks } from "../network-port.js";

export interface RegistrationRow extends TableRow {
  readonly application_id: string;
  readonly network_id: string;
}

/** Of one kind and application. */
const REGISTRATIONS_MAX = 1_000;

export class Registrations<T extends RegistrationRow> {
  readonly #kind: string;
  readonly #store: Store;
  readonly #networks: Networks;
  readonly #table: Table<T, "owner" | "network", never>;

  /** @param options.kind one word, for the store and for people. */
  constructor(
    { kind }: { readonly kind: string },
    { store, networks }: { readonly store: Store; readonly networks: Networks },
  ) {
    this.#kind = kind;
    this.#store = store;
    this.#networks = networks;
    const ownerOf = ({ application_id }: T): readonly [string, string] => ["application", application_id];
    this.#table = defineTable<T, "owner" | "network">(
      {
        name: `chain_${kind}`,
        key: (row) => [...ownerOf(row), row.id],
        indexes: { owner: ownerOf, network: (row) => [...ownerOf(row), row.network_id] },
      },
      { store },
    );
  }

  /** Throws `not_found` for a network that the owner does not see. */
  async create(owner: Subject, row: T): Promise<T> {
    this.#networks.find(owner, row.network_id);
    if (this.#table.count("owner", ownerKey(owner)) >= REGISTRATIONS_MAX)
      throw new AppError("network_limit_reached", { message: `${String(REGISTRATIONS_MAX)} are the most of a kind` });
    await this.#store.commit(this.#table.insertCommit(row));
    return row;
  }

  /** Oldest first. */
  list(owner: Subject, networkId: string | undefined, page: Page): { body: T[]; total: number } {
    const { rows, total } =
      networkId === undefined
        ? this.#table.list("owner", ownerKey(owner), { page })
        : this.#table.list("network", [...ownerKey(owner), networkId], { page });
    return { body: rows, total };
  }

  /** Throws `not_found`. */
  get(owner: Subject, id: string): T {
    return this.#find(owner, id).value;
  }

  async delete(owner: Subject, id: string): Promise<void> {
    await retryOnConflict(async () => {
      await this.#store.commit(this.#table.deleteCommit(this.#find(owner, id)));
    });
  }

  async purge(owner: Subject): Promise<void> {
    for (;;) {
      const records = this.#table.records("owner", ownerKey(owner), { page: 1, rpp: 100 });
      if (records.length === 0) return;
      await this.#store.commit(mergeCommits(...records.map((record) => this.#table.deleteCommit(record))));
    }
  }

  #find(owner: Subject, id: string) {
    const found = this.#table.get([...ownerKey(owner), id]);
    if (found === undefined) throw new AppError("not_found", { message: `${this.#kind} not found` });
    return found;
  }
}
