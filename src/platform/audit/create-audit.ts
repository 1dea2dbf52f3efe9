/**
 * The audit log in one piece, for the composition root: the log, the trail around requests, and the stores whose
 * commits are recorded.
 */
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { Store } from "../store/store.js";
import { AuditLog } from "./audit-log.js";
import { AuditTrail } from "./audit-trail.js";
import { AuditRefusals } from "./refusals.js";

export interface Audit {
  readonly log: AuditLog;
  readonly trail: AuditTrail;
  /** For the front: records what it turns away. */
  readonly refusals: AuditRefusals;
  /** For the vault, and for whoever commits the vault's records with its own: records what touches them. */
  readonly vaultStore: Store;
  /** For identity: records everything but its housekeeping. */
  readonly identityStore: Store;
}

export interface CreateAuditDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly onUnwritable: () => void;
}

const VAULT_TABLES: ReadonlySet<string> = new Set(["vault", "key", "key_generation", "secret", "seal"]);
/** Counters and pointers that say nothing about who may do what. */
const IDENTITY_HOUSEKEEPING: ReadonlySet<string> = new Set([
  "login_throttle",
  "refresh_handle",
  "api_token_use",
  "client_assertion",
]);

/** Records the start; everything else that is recorded comes after it. */
export async function createAudit(
  options: { readonly key: Uint8Array },
  dependencies: CreateAuditDependencies,
): Promise<Audit> {
  const log = new AuditLog(options, dependencies);
  const trail = new AuditTrail({ audit: log, log: dependencies.log });
  await log.start();
  return {
    log,
    trail,
    refusals: new AuditRefusals({ audit: log, clock: dependencies.clock, log: dependencies.log }),
    vaultStore: trail.audited(dependencies.store, (table) => VAULT_TABLES.has(table)),
    identityStore: trail.audited(dependencies.store, (table) => !IDENTITY_HOUSEKEEPING.has(table)),
  };
}
