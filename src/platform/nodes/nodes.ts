/**
 * The processes that share one store, as the areas see them: which live, which of them does what only one may do, and
 * what the others have changed. A single server is the only one (solo-nodes.ts); the nodes of a cluster know each other
 * through their store (cluster/members/cluster-nodes.ts).
 */
import type { StoreKey } from "../store/store.js";

/** What a node is there for: a worker takes no requests and has no duties; it only computes. */
export type NodeRole = "server" | "worker";

export interface OtherNode {
  readonly incarnation: string;
  /** For operators. */
  readonly name: string;
}

export interface Nodes {
  /** This process: a UUID, new with each start. */
  readonly incarnation: string;
  /** How many nodes live, this one included. */
  readonly count: number;
  /** How many of them take requests. */
  readonly serving: number;
  /** The other nodes that live. */
  others(): readonly OtherNode[];
  /** Whether the process of an incarnation lives: what a dead one has begun, it does not go on with. */
  isAlive(incarnation: string): boolean;
  /**
   * Takes a duty that only one node may have, as soon as no living node has it, and calls `begin` then. This node keeps
   * it until its process ends: nothing that it commits after it was given up for dead is accepted, so that the next
   * holder need not look out for it. Where `begin` throws on a node of a cluster, that is logged, and the duty is left
   * to the others and tried again later.
   * @param end given for work that needs an unsealed vault: such a duty this node gives up while its vault is sealed
   *   and another node's is not. Ends the work and resolves when nothing of it is under way, also when it had ended
   *   before; `begin` may be called again afterwards
   */
  take(duty: string, begin: () => void, end?: () => Promise<void>): void;
  /** Whether this node has the duty. */
  has(duty: string): boolean;
  /** A number that grows with the commits of other nodes that can be read here. */
  changes(): number;
  /** Calls the listener after another node has ended. Returns a function that ends it. */
  onEnded(listener: () => void): () => void;
  /**
   * Calls the listener after changes of a table by other nodes can be read, with the keys that were put or deleted.
   * Strict reads wait for the promise that it returns, which never rejects. Returns a function that ends it.
   */
  onChange(table: string, listener: (keys: readonly StoreKey[]) => void | Promise<void>): () => void;
}
