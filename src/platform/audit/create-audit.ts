/** Creates the audit log, the trail around requests, and the stores whose commits are recorded. */
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { Store } from "../store/store.js";
import { AuditLog, type AuditLogOptions } from "./audit-log.js";
import { AuditTrail } from "./audit-trail.js";
import { AuditRefusals } from "./refusals.js";

export interface Audit {
  readonly log: AuditLog;
  readonly trail: AuditTrail;
  /** Records requests that the HTTP front rejects. */
  readonly refusals: AuditRefusals;
  /** For the vault, and for areas that commit vault records with their own: records changes of vault records. */
  readonly vaultStore: Store;
  /** For identity: records every change except housekeeping. */
  readonly identityStore: Store;
}

export interface CreateAuditDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly onUnwritable: () => void;
}

const VAULT_TABLES: ReadonlySet<string> = new Set(["vault", "key", "key_generation", "secret", "seal"]);
/** Tables of counters, pointers and kept answers, which decide nothing about who may do what. */
const IDENTITY_HOUSEKEEPING: ReadonlySet<string> = new Set([
  "login_throttle",
  "refresh_handle",
  "api_token_use",
  "client_assertion",
  "idempotency",
]);

/** Creates the parts and records the start, before any other event. */
export async function createAudit(options: AuditLogOptions, dependencies: CreateAuditDependencies): Promise<Audit> {
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
