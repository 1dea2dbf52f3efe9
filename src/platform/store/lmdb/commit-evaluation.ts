/** Decides a commit: its checks against the records as they are, its changes planned. Writes nothing. */
import { AppError } from "../../errors.js";
import { decodeKey } from "../keys.js";
import { ABSENT, APPEND, CHECK, DELETE_PREFIX, PUT, type PackedCommit } from "../wire.js";
import type { WriteFailure } from "../writer-protocol.js";
import type { ChainTails } from "./lmdb-chains.js";
import { ChangeSet } from "./lmdb-changes.js";
import type { RecordSpace } from "./record-space.js";

/** Records that the deletion of one prefix may remove: about a second of the writer's time. */
const PREFIX_RECORDS_MAX = 100_000;

/** Returns the changes of a commit, or why it is not applied. Only reads, so that a refused commit leaves no trace. */
export function evaluateCommit(commit: PackedCommit, space: RecordSpace, tails: ChainTails): ChangeSet | WriteFailure {
  const changes = new ChangeSet(space, tails);
  try {
    for (const operation of commit.operations) {
      if (operation.kind === CHECK) {
        const current = changes.versionOf(operation.key) ?? ABSENT;
        if (current !== operation.version) return { code: "conflict", key: decodeKey(operation.key) };
      } else if (operation.kind === DELETE_PREFIX) {
        if (!planPrefix(operation.key, space, changes)) {
          return {
            code: "too_many_records",
            message: `a deletion covers more than ${PREFIX_RECORDS_MAX} records; delete its parts first`,
          };
        }
      } else if (operation.kind === APPEND) {
        changes.append(operation);
      } else {
        changes.plan(operation.key, operation.kind === PUT ? operation.json : undefined);
      }
    }
    return changes;
  } catch (error) {
    if (error instanceof AppError && error.code === "data_corrupt")
      return { code: "data_corrupt", message: error.message };
    throw error;
  }
}

function planPrefix(prefix: Buffer, space: RecordSpace, changes: ChangeSet): boolean {
  const keys = space.keysOf(prefix, PREFIX_RECORDS_MAX + 1);
  for (const key of keys) changes.plan(key, undefined);
  return keys.length <= PREFIX_RECORDS_MAX;
}
