/**
 * Records requests that were rejected before their handler: no token, a missing permission, a sealed vault. Strangers
 * can cause these, so that only 60 a minute are recorded one by one. The others are counted, and the count is recorded.
 */
import type { Clock } from "../clock.js";
import type { RouteSpec } from "../contract/route.js";
import type { Log } from "../log.js";
import type { AuditPort } from "./audit-log.js";
import { auditModeOf } from "./audited-routes.js";

/** A request that the HTTP front rejected. */
export interface Refusal {
  readonly route: RouteSpec;
  readonly code: string;
  /** Undefined when the request had no valid token. */
  readonly subject: string | undefined;
  readonly requestId: string;
  readonly address: string;
}

export const REFUSALS_COUNTED = "refusals.counted";

const WINDOW_MS = 60_000;
/**
 * Records per window: 10 MB of log a day at most. The limit per caller keeps one caller from using up all of them and
 * hiding the rejected requests of others.
 */
const RECORDS_MAX = 60;
const RECORDS_PER_CALLER_MAX = 10;
/** Addresses and subjects that are counted separately in a window; the rest share one count. */
const CALLERS_MAX = 1_000;
const OTHERS = "others";
const CODES: ReadonlySet<string> = new Set(["unauthorized", "forbidden", "vault_sealed"]);

export class AuditRefusals {
  readonly #audit: AuditPort;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #byCaller = new Map<string, number>();
  readonly #counted = new Map<string, number>();
  #recorded = 0;
  #startedMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: { readonly audit: AuditPort; readonly clock: Clock; readonly log: Log }) {
    this.#audit = dependencies.audit;
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
  }

  /** Records or counts a rejected request of a recorded route. The answer does not wait: it reveals nothing. */
  note({ route, code, subject, requestId, address }: Refusal): void {
    if (!CODES.has(code) || auditModeOf(route) === "none") return;
    if (this.#clock.monotonicMs() - this.#startedMs >= WINDOW_MS) this.#startWindow();
    const caller = subject ?? address;
    const name = this.#byCaller.has(caller) || this.#byCaller.size < CALLERS_MAX ? caller : OTHERS;
    const ofCaller = (this.#byCaller.get(name) ?? 0) + 1;
    this.#byCaller.set(name, ofCaller);
    if (this.#recorded >= RECORDS_MAX || ofCaller > RECORDS_PER_CALLER_MAX) {
      this.#counted.set(code, (this.#counted.get(code) ?? 0) + 1);
      return;
    }
    this.#recorded += 1;
    this.#append({
      action: route.id,
      code,
      request_id: requestId,
      address,
      ...(subject === undefined ? {} : { subject }),
    });
  }

  /** Records the counts so far. Called at the end of a window and when the server stops. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#counted.size === 0) return;
    const detail = Object.fromEntries(this.#counted);
    this.#counted.clear();
    this.#append({
      action: REFUSALS_COUNTED,
      count: Object.values(detail).reduce((sum, count) => sum + count, 0),
      detail,
    });
  }

  #startWindow(): void {
    this.flush();
    this.#startedMs = this.#clock.monotonicMs();
    this.#byCaller.clear();
    this.#recorded = 0;
    this.#timer = setTimeout(() => {
      this.flush();
    }, WINDOW_MS).unref();
  }

  #append(event: Omit<Parameters<AuditPort["append"]>[0], "outcome">): void {
    this.#audit.append({ ...event, outcome: "refused" }).catch(() => {
      this.#log.warn("a refusal was not recorded", { kind: event.action });
    });
  }
}
