/** Limits that each node counts for itself, in its memory: together the nodes allow what a single server does. */
import type { Nodes } from "./nodes.js";

/**
 * Returns how much of a limit this node may allow: an equal share with the other nodes that take requests, rounded up,
 * so that it is one at least, and together less than one a node above the limit.
 * @param limit of a single server, a whole number
 * @param nodes without them there is no other
 */
export function shareOfLimit(limit: number, nodes: Pick<Nodes, "serving"> | undefined): number {
  return Math.ceil(limit / (nodes?.serving ?? 1));
}
