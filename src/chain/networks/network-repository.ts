/**
 * Networks and their nodes in the store. Keys start with the owner, so that another tenant's network cannot be found.
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { assert } from "../../platform/errors.js";
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

/** The table of networks, of whose changes other nodes tell. */
export const NETWORK_TABLE = "chain_network";

export class NetworkRepository {
  readonly #store: Store;
  readonly #networks: Table<NetworkRecord, "owner" | "shared", "shared">;
  readonly #nodes: Table<NodeRecord, "network", never>;

  constructor(dependencies: { readonly store: Store }) {
    this.#store = dependencies.store;
    this.#networks = defineTable<NetworkRecord, "owner" | "shared", "shared">(
      {
        name: NETWORK_TABLE,
        key: (network) => [...keyOfOwner(network), network.id],
        indexes: {
          owner: keyOfOwner,
          shared: ({ shared_with: subject }) => (subject === undefined ? undefined : ownerKey(subject)),
        },
        uniques: {
          shared: ({ shared_with: subject, id }) => (subject === undefined ? undefined : [...ownerKey(subject), id]),
        },
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

  /** Returns a network of the owner by its id. */
  find(owner: Subject, id: string): StoreRecord<NetworkRecord> | undefined {
    return this.#networks.get([...ownerKey(owner), id]);
  }

  /** Returns a network of another owner, who shares it with the subject, by its id. */
  findShared(subject: Subject, id: string): StoreRecord<NetworkRecord> | undefined {
    return this.#networks.findBy("shared", [...ownerKey(subject), id]);
  }

  /** Returns one page of the subject's networks and of those shared with it that pass the filter, oldest first. */
  list(subject: Subject, filter: (network: NetworkRecord) => boolean, { page, rpp }: Page): Listing<NetworkRecord> {
    const shared = this.#networks.list("shared", ownerKey(subject), { filter }).rows;
    if (shared.length === 0) return this.#networks.list("owner", ownerKey(subject), { page: { page, rpp }, filter });
    const all = [...this.#networks.list("owner", ownerKey(subject), { filter }).rows, ...shared].sort(inOrder);
    return { rows: all.slice((page - 1) * rpp, page * rpp), total: all.length };
  }

  /** Counts the networks of an owner. */
  count(owner: Subject): number {
    return this.#networks.count("owner", ownerKey(owner));
  }

  /** Adds a network, in one commit with others. */
  async insert(network: NetworkRecord, ...alongside: readonly StoreCommit[]): Promise<void> {
    await this.#store.commit(mergeCommits(this.#networks.insertCommit(network), ...alongside));
  }

  /** Changes a network, in one commit with others. Rejects with StoreConflict when it is no longer as read. */
  async update(
    current: StoreRecord<NetworkRecord>,
    next: NetworkRecord,
    ...alongside: readonly StoreCommit[]
  ): Promise<void> {
    await this.#store.commit(mergeCommits(this.#networks.updateCommit(current, next), ...alongside));
  }

  /** Builds the commit that deletes a network with its nodes. */
  deletion(current: StoreRecord<NetworkRecord>): StoreCommit {
    const key: StoreKey = [...keyOfOwner(current.value), current.value.id];
    return mergeCommits(this.#networks.deleteCommit(current), {
      deletePrefixes: [
        ["chain_node", ...key],
        ["chain_node#network", ...key],
      ],
    });
  }

  /** Returns the nodes that were added to a network, oldest first. */
  nodes(network: NetworkRecord): NodeRecord[] {
    return network.owner === null ? [] : this.#nodes.list("network", [...ownerKey(network.owner), network.id]).rows;
  }

  /** Returns a node that was added to a network. */
  findNode(network: NetworkRecord, id: string): StoreRecord<NodeRecord> | undefined {
    return network.owner === null ? undefined : this.#nodes.get([...ownerKey(network.owner), network.id, id]);
  }

  /**
   * Adds a node, in one commit with others, and only while the network is as read, so that none is left when the
   * network is deleted.
   */
  async insertNode(
    network: StoreRecord<NetworkRecord>,
    node: NodeRecord,
    ...alongside: readonly StoreCommit[]
  ): Promise<void> {
    const check: StoreCommit = { checks: [{ key: network.key, version: network.version }] };
    await this.#store.commit(mergeCommits(check, this.#nodes.insertCommit(node), ...alongside));
  }

  /** Deletes a node. */
  async deleteNode(current: StoreRecord<NodeRecord>): Promise<void> {
    await this.#store.commit(this.#nodes.deleteCommit(current));
  }

  /** Commits what other methods built. */
  async commit(commit: StoreCommit): Promise<void> {
    await this.#store.commit(commit);
  }

  /** Deletes all networks of an owner. */
  async purge(owner: Subject): Promise<void> {
    for (;;) {
      const records = this.#networks.records("owner", ownerKey(owner), { page: 1, rpp: 100 });
      if (records.length === 0) return;
      await this.#store.commit(mergeCommits(...records.map((record) => this.deletion(record))));
    }
  }
}

function inOrder(one: NetworkRecord, other: NetworkRecord): number {
  return one.created_at.localeCompare(other.created_at) || one.id.localeCompare(other.id);
}

function keyOfOwner({ owner }: NetworkRecord): StoreKey {
  assert(owner !== null, "public networks are not stored");
  return ownerKey(owner);
}
