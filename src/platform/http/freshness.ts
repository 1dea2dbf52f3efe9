/** What a node of a cluster looks to before it serves a request: that it reads what was committed before. */
import type { RouteSpec } from "../contract/route.js";
import type { RequestHead } from "./request/request-head.js";

export interface Freshness {
  /** Number of the last commit of the cluster that an answer has seen; the header `Proofwright-Position`. */
  readonly position: () => number;
  /**
   * Resolves when the store may be read for a request; undefined where it is not read.
   * @throws store_unreachable, and replica_behind when `Proofwright-After` names what this node has not got
   */
  before(route: RouteSpec, head: RequestHead): Promise<void> | undefined;
}
