/**
 * What the audit log records of an event: ids, error codes and keyed hashes of names; never a value, a name or a text
 * of the caller.
 */
import type { StoreValue } from "../store/store.js";

/** A type and not an interface, so that it is assignable to StoreValue. */
export type AuditEvent = {
  /** Operation id of the route, or the name of an action of the service itself (`seal.fault_sealed`). */
  readonly action: string;
  readonly outcome: "ok" | "refused";
  /** Error code of a refused request. */
  readonly code?: string;
  /** `user:<uuid>`; absent when the caller is unknown, such as after a failed login. */
  readonly subject?: string;
  readonly acting_user_id?: string;
  readonly session_id?: string;
  readonly request_id?: string;
  /** Network address of the peer. */
  readonly address?: string;
  /** Parameters of the path: ids as they are, anything else as a keyed hash. */
  readonly target?: Record<string, string>;
  /** Records that the commit writes or deletes, such as `put key/<vault id>/<key id>`. */
  readonly objects?: string[];
  /** Keyed hashes of names; the same name has the same hash. */
  readonly names?: Record<string, string>;
  /** Items of a batch. */
  readonly count?: number;
  readonly detail?: Record<string, StoreValue>;
};

/** An event as it is stored and returned, with its time in ISO 8601. */
export type StoredAuditEvent = AuditEvent & {
  readonly at: string;
  /** Name of the node of a cluster that recorded it; absent where a single server did. */
  readonly node?: string;
};

export const AUDIT_CHAIN = "audit";
export const AUDIT_SUBJECT_INDEX = "audit#subject";

/** Action of the record that begins a section linked with one key; written at each start. */
export const AUDIT_STARTED = "audit.started";
