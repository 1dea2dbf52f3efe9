/** What a failure on the way of a group means: whether it may be tried again, and what its callers are told. */
import { AppError } from "../../errors.js";
import { reasonOf } from "../../store/lmdb/lmdb-environment.js";
import type { WriteFailure } from "../../store/writer-protocol.js";
import { ReplicaSpent } from "../replica.js";
import { DatabaseRefused, DatabaseUnreachable } from "./log-database.js";

export interface GroupFailure {
  /** True when another try would end the same way. */
  readonly isLasting: boolean;
  /** True when this node can write no more until it is started anew. */
  readonly isFatal: boolean;
  readonly failure: WriteFailure;
}

/**
 * Serialisation, deadlock, a lock or a statement that took too long, a name of a statement that a pooler mixed up: the
 * next try may pass.
 */
const PASSING: ReadonlySet<string> = new Set(["40001", "40P01", "55P03", "57014", "26000", "42P05"]);
const DISK_FULL = "53100";

/** Judges a failure. @param known.isUnknown whether the group's row may be in the log */
export function groupFailure(error: unknown, { isUnknown }: { readonly isUnknown: boolean }): GroupFailure {
  const judged = judge(error);
  if (!isUnknown) return judged;
  const { failure } = judged;
  const why = judged.isFatal && "message" in failure ? failure.message : "the cluster's database went away";
  const message = `${why} while a row was written; whether the commit is in it will show when the log is read`;
  return { ...judged, failure: { code: "outcome_unknown", message } };
}

/** Returns the error of a node that was away for longer than the log is kept. */
export function placeFault(g: number): ReplicaSpent {
  return new ReplicaSpent(`the cluster's log does not go on from its row ${String(g)}: it was away for too long`);
}

/** Returns the error of a node that has what the database has not. */
export function aheadFault(g: number, last: number): AppError {
  return new AppError("data_corrupt", {
    message: `this node has commit ${String(g)}, and the database's log ends at ${String(last)}: a failover or an older backup lost what was acknowledged. Keep the node's folder for inspection, and start it with an empty one`,
  });
}

function judge(error: unknown): GroupFailure {
  if (error instanceof DatabaseRefused) {
    if (error.code === DISK_FULL) return lasting("storage_full", "the disk of the cluster's database is full");
    const message = `${error.message}; nothing was written`;
    // What other nodes' commits or a standby hold up for too long is no fault of the storage.
    if (PASSING.has(error.code))
      return { isLasting: false, isFatal: false, failure: { code: "store_unreachable", message } };
    return lasting("storage_failed", message);
  }
  if (error === undefined || error instanceof DatabaseUnreachable) {
    const message = error?.message ?? "other nodes of the cluster wrote first, for too long";
    return { isLasting: false, isFatal: false, failure: { code: "store_unreachable", message } };
  }
  const message = error instanceof AppError ? error.message : `this node's replica fails (${reasonOf(error)})`;
  const code = error instanceof AppError && error.code === "data_corrupt" ? "data_corrupt" : "storage_failed";
  return { ...lasting(code, message), isFatal: true };
}

function lasting(code: "storage_full" | "storage_failed" | "data_corrupt", message: string): GroupFailure {
  return { isLasting: true, isFatal: false, failure: { code, message } };
}
