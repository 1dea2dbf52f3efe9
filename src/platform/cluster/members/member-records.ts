/**
 * Who belongs to the cluster, and who has which duty, as records of the store, so that the log's order decides it.
 *   node / incarnation -> the process, from its start until it ends or is given up for dead
 *   duty / name        -> the incarnation that has it, for as long as that one's record is there
 */
import type { NodeRole } from "../../nodes/nodes.js";
import type { StoreKey } from "../../store/store.js";
import type { SettingValues } from "./member-settings.js";

export const MEMBER_TABLE = "node";
export const DUTY_TABLE = "duty";

export interface MemberRecord {
  /** UUID of the node, which stays with its folder. */
  readonly node: string;
  readonly name: string;
  readonly role: NodeRole;
  /** ISO 8601. */
  readonly started_at: string;
  /** What is compared with those of other nodes. */
  readonly settings: SettingValues;
}

export interface DutyRecord {
  readonly incarnation: string;
}

/** Returns the key of a member. @param incarnation UUID of its process */
export function memberKey(incarnation: string): StoreKey {
  return [MEMBER_TABLE, incarnation];
}

/** Returns the key of a duty. */
export function dutyKey(name: string): StoreKey {
  return [DUTY_TABLE, name];
}
