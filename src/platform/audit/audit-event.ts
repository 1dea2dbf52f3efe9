/**
 * What the audit log holds of an event. Ids, codes and codes of names; never a value, a name or a text of the caller.
 */
import type { StoreValue } from "../store/store.js";

/** A type, not an interface, so that it is a StoreValue. */
export type AuditEvent = {
  /** Operation id of the route, or what the service did by itself (`seal.fault_sealed`). */
  readonly action: string;
  readonly outcome: "ok" | "refused";
  /** Error code of what was refused. */
  readonly code?: string;
  /** `user:<uuid>`; absent when nobody is known to have asked, such as at a login that failed. */
  readonly subject?: string;
  readonly acting_user_id?: string;
  readonly session_id?: string;
  readonly request_id?: string;
  /** Network address of the peer. */
  readonly address?: string;
  /** Parameters of the path: ids as they are, of anything else a keyed hash. */
  readonly target?: Record<string, string>;
  /** Records that the commit writes or deletes: `put key/<vault id>/<key id>`. */
  readonly objects?: string[];
  /** Keyed hashes of names: the same name gives the same hash. */
  readonly names?: Record<string, string>;
  /** Items of a batch. */
  readonly count?: number;
  readonly detail?: Record<string, StoreValue>;
};

/** As stored and answered. */
export type StoredAuditEvent = AuditEvent & { readonly at: string };

export const AUDIT_CHAIN = "audit";
export const AUDIT_SUBJECT_INDEX = "audit#subject";

/** First record of a stretch that is linked with one key; written at each start. */
export const AUDIT_STARTED = "audit.started";
