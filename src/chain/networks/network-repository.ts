/**
 * Where networks and their nodes lie in the store: keys start with the owner, so that another tenant's network is not
 * there to be found.
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { AppError, assert } from "../../platform/errors.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";
import { defineTable, mergeCommits, type Listing, type Page, type Table } from "../../platform/store/tables.js";
import type { NetworkRecord } from "./network-port.js";
import type { NODE_ROLES } from "./network-schemas.js";

export type NodeRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly owner: Subject;
  readonly network_id: string;
  readonly role: (typeof NODE_ROLES)[number];
  readonly description: string | null;
  readonly url: string;
  readonly config: Readonly<Record<string, string | number | boolean | null>>;
};

export class NetworkRepository {
  readonly #store: Store;
  readonly #networks: Table<NetworkRecord, "owner", never>;
  readonly #nodes: Table<NodeRecord, "network", never>;

  constructor(dependencies: { readonly store: Store }) {
    this.#store = dependencies.store;
    this.#networks = defineTable<NetworkRecord, "owner">(
      {
        name: "chain_network",
        key: (network) => [...keyOfOwner(network), network.id],
        indexes: { owner: keyOfOwner },
      },
      dependencies,
    );
    this.#nodes = defineTable<NodeRecord, "network">(
      {
        name: "chain_node",
        key: (node) => [...ownerKey(node.owner), node.network_id, node.id],
        indexes: { network: (node) => [...ownerKey(node.owner), node.network_id] },
      },
      dependencies,
    );
  }

  find(owner: Subject, id: string): StoreRecord<NetworkRecord> | undefined {
    return this.#networks.get([...ownerKey(owner), id]);
  }

  list(owner: Subject, filter: (network: NetworkRecord) => boolean, page: Page): Listing<NetworkRecord> {
    return this.#networks.list("owner", ownerKey(owner), { page, filter });
  }

  count(owner: Subject): number {
    return this.#networks.count("owner", ownerKey(owner));
  }

  async insert(network: NetworkRecord, ...alongside: readonly StoreCommit[]): Promise<void> {
    await this.#store.commit(mergeCommits(this.#networks.insertCommit(network), ...alongside));
  }

  /** Rejects with StoreConflict when the record changed since. */
  async update(
    current: StoreRecord<NetworkRecord>,
    next: NetworkRecord,
    ...alongside: readonly StoreCommit[]
  ): Promise<void> {
    await this.#store.commit(mergeCommits(this.#networks.updateCommit(current, next), ...alongside));
  }

  /** The record with its nodes. */
  deletion(current: StoreRecord<NetworkRecord>): StoreCommit {
    const key: StoreKey = [...keyOfOwner(current.value), current.value.id];
    return mergeCommits(this.#networks.deleteCommit(current), {
      deletePrefixes: [
        ["chain_node", ...key],
        ["chain_node#network", ...key],
      ],
    });
  }

  nodes(network: NetworkRecord): NodeRecord[] {
    return network.owner === null ? [] : this.#nodes.list("network", [...ownerKey(network.owner), network.id]).rows;
  }

  findNode(network: NetworkRecord, id: string): StoreRecord<NodeRecord> | undefined {
    return network.owner === null ? undefined : this.#nodes.get([...ownerKey(network.owner), network.id, id]);
  }

  /** Only while the network is as read, so that none is left behind a deletion. */
  async insertNode(network: StoreRecord<NetworkRecord>, node: NodeRecord): Promise<void> {
    await this.#store.commit(
      mergeCommits({ checks: [{ key: network.key, version: network.version }] }, this.#nodes.insertCommit(node)),
    );
  }

  async deleteNode(current: StoreRecord<NodeRecord>): Promise<void> {
    await this.#store.commit(this.#nodes.deleteCommit(current));
  }

  async commit(commit: StoreCommit): Promise<void> {
    await this.#store.commit(commit);
  }

  async purge(owner: Subject): Promise<void> {
    for (;;) {
      const records = this.#networks.records("owner", ownerKey(owner), { page: 1, rpp: 100 });
      if (records.length === 0) return;
      await this.#store.commit(mergeCommits(...records.map((record) => this.deletion(record))));
    }
  }
}

function keyOfOwner({ owner }: NetworkRecord): StoreKey {
  assert(owner !== null, "public networks are not stored");
  return ownerKey(owner);
}

export function networkNotFound(): AppError {
  return new AppError("not_found", { message: "network not found" });
}
