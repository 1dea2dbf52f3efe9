/** When a node may read its replica for a request, with strict reads and with local ones. */
import { AppError } from "../errors.js";
import type { Freshness } from "../http/freshness.js";
import type { NodeStore } from "./cluster-store.js";

/** `strict`: what any node answered before is seen. `local`: what this node has, which is seconds old at most. */
export type Reads = "strict" | "local";

/** A node that does not know for longer whether it stands at the end of the log answers nothing that reads. */
const UNCONFIRMED_MS_MAX = 5_000;
const POSITION = /^[0-9]{1,15}$/;

/** Returns what the HTTP front of a node asks. */
export function nodeFreshness(
  { reads }: { readonly reads: Reads },
  { store }: { readonly store: NodeStore },
): Freshness {
  return {
    position: () => store.position,
    before: (route, { headers }) => {
      if (route.area === "service" || route.withoutStore === true) return undefined;
      const after = positionOf(headers["proofwright-after"]);
      return reads === "strict" || after > store.position ? confirmed(store, after) : recent(store);
    },
  };
}

/** Whether a node stands near enough to the end of the log to serve. */
export function isRecent(store: NodeStore): boolean {
  return store.unconfirmedMs <= UNCONFIRMED_MS_MAX;
}

async function confirmed(store: NodeStore, after: number): Promise<void> {
  await store.confirm();
  if (store.position < after)
    throw new AppError("replica_behind", {
      message: "Proofwright-After: names a commit that the cluster has not made",
      retryAfterSec: 1,
    });
}

function recent(store: NodeStore): Promise<void> | undefined {
  if (isRecent(store)) return undefined;
  return Promise.reject(
    new AppError("replica_behind", {
      message: "this node has not heard from the cluster's database for some seconds; try again, or ask another node",
      retryAfterSec: 2,
    }),
  );
}

function positionOf(header: string | undefined): number {
  if (header === undefined) return 0;
  if (POSITION.test(header)) return Number(header);
  throw new AppError("invalid_request", {
    message: "Proofwright-After: must be a number as Proofwright-Position has it",
  });
}
