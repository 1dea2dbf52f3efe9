/**
 * The audit log: a hash chain of the store, linked with a key that lies outside the vault's barrier, so that it is
 * written while the vault is sealed. Fails closed: what cannot be recorded is refused, and after three failures the
 * vault is sealed.
 */
import { createHmac } from "node:crypto";
import { randomBytes } from "node:crypto";
import { isoTimestamp, type Clock } from "../clock.js";
import { AppError } from "../errors.js";
import type { Log } from "../log.js";
import { createPrivateFile, readPrivateFile } from "../files/private-file.js";
import { StartError } from "../start-error.js";
import { CHAIN_KEY_BYTES, chainHeadKey, chainKeyId, type ChainHead, type ChainRecord } from "../store/chain.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../store/store.js";
import {
  AUDIT_CHAIN,
  AUDIT_STARTED,
  AUDIT_SUBJECT_INDEX,
  type AuditEvent,
  type StoredAuditEvent,
} from "./audit-event.js";

/** What other parts of the service may do with the log. */
export interface AuditPort {
  /** The event as a part of a commit: recorded with it or not at all. */
  record(event: AuditEvent): StoreCommit;
  /** Records an event by itself; resolves when it is on disk. Throws `audit_unavailable` when it cannot be. */
  append(event: AuditEvent): Promise<void>;
  /** Keyed hash of a name, 32 hex digits. */
  hashName(text: string): string;
}

export interface AuditLogOptions {
  /** 32 bytes; the store was opened with the same (`chainKey`). */
  readonly key: Uint8Array;
}

export interface AuditLogDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the log could not be written three times in a row. */
  readonly onUnwritable: () => void;
}

export interface AuditEntry extends StoredAuditEvent {
  readonly number: number;
}

export interface AuditPage {
  readonly page: number;
  readonly rpp: number;
}

const NAME_LABEL = "pv/v1/audit-name";
const NAME_HASH_BYTES = 16;
/** One failure may be bad luck; three in a row mean that nothing more may be revealed. */
const FAILURES_MAX = 3;
/** The store is busy or going down: nothing was revealed, and the next try may succeed. */
const PASSING: ReadonlySet<string> = new Set(["overloaded", "shutting_down"]);
const KEY_FILE = "audit-key";

/**
 * Reads or makes the key file of a data folder (mode 0600). Throws StartError for a damaged one, PrivateFileError for
 * an open one.
 */
export async function openAuditKey(dataDir: string): Promise<Uint8Array> {
  const path = `${dataDir}/${KEY_FILE}`;
  await createPrivateFile(path, randomBytes(CHAIN_KEY_BYTES));
  const key = await readPrivateFile(path);
  if (key?.length !== CHAIN_KEY_BYTES)
    throw new StartError(
      `${path} does not hold ${String(CHAIN_KEY_BYTES)} bytes; put the right file back, or move it away to start a new stretch of the audit log`,
    );
  return key;
}

export class AuditLog implements AuditPort {
  readonly #key: Uint8Array;
  readonly #nameKey: Buffer;
  readonly #dependencies: AuditLogDependencies;
  #failures = 0;

  constructor(options: AuditLogOptions, dependencies: AuditLogDependencies) {
    this.#key = options.key;
    this.#nameKey = createHmac("sha256", options.key).update(NAME_LABEL).digest();
    this.#dependencies = dependencies;
  }

  /**
   * Records the start, and with it which key links from here on. To be called once, before anything else is recorded.
   */
  async start(): Promise<void> {
    const head = this.head();
    const keyId = chainKeyId(this.#key);
    if (head !== undefined && head.key_id !== keyId) {
      this.#dependencies.log.warn(
        "the audit log goes on with another key than before: keep the old audit-key file to verify the older part",
      );
    }
    await this.append({ action: AUDIT_STARTED, outcome: "ok", detail: { key_id: keyId } });
  }

  head(): ChainHead | undefined {
    return this.#dependencies.store.get<ChainHead>(chainHeadKey(AUDIT_CHAIN))?.value;
  }

  record(event: AuditEvent): StoreCommit {
    const stored: StoredAuditEvent = { at: isoTimestamp(this.#dependencies.clock.nowMs()), ...event };
    const indexes: StoreKey[] = event.subject === undefined ? [] : [[AUDIT_SUBJECT_INDEX, event.subject]];
    return { appends: [{ chain: AUDIT_CHAIN, value: stored, indexes }] };
  }

  async append(event: AuditEvent): Promise<void> {
    try {
      // The reserve of a full disk is for this, among others.
      await this.#dependencies.store.commit({ urgent: true, ...this.record(event) });
      this.#failures = 0;
    } catch (error) {
      if (error instanceof AppError && PASSING.has(error.code)) throw error;
      this.#failures += 1;
      this.#dependencies.log.error("the audit log cannot be written", {
        count: this.#failures,
        ...(error instanceof AppError ? { code: error.code } : {}),
      });
      if (this.#failures >= FAILURES_MAX) this.#dependencies.onUnwritable();
      throw new AppError("audit_unavailable", {
        message: "the audit log cannot be written; the request is refused",
        cause: error,
      });
    }
  }

  hashName(text: string): string {
    return createHmac("sha256", this.#nameKey)
      .update(text.normalize("NFKC").toLowerCase())
      .digest("hex")
      .slice(0, 2 * NAME_HASH_BYTES);
  }

  /** Newest first: everybody's events, or one subject's. */
  list(page: AuditPage, subject?: string): { readonly entries: AuditEntry[]; readonly total: number } {
    const { store } = this.#dependencies;
    const window = { reverse: true, offset: (page.page - 1) * page.rpp, limit: page.rpp };
    if (subject === undefined) {
      return { entries: store.range<ChainRecord>([AUDIT_CHAIN], window).map(toEntry), total: this.head()?.number ?? 0 };
    }
    const numbers = store.range([AUDIT_SUBJECT_INDEX, subject], window).map(({ key }) => Number(key.at(-1)));
    const entries = numbers.flatMap((number) => {
      const record = store.get<ChainRecord>([AUDIT_CHAIN, number]);
      return record === undefined ? [] : [toEntry(record)];
    });
    return { entries, total: store.count([AUDIT_SUBJECT_INDEX, subject]) };
  }

  /** Records after a number, oldest first, as lines of JSON with everything that a verification needs. */
  exportLines(after: number, limit: number): string {
    return auditLines(this.#dependencies.store, after, limit);
  }
}

/** One line per record: `{"number","mac","event"}`. */
export function auditLines(store: Pick<Store, "range">, after: number, limit: number): string {
  const records = store.range<ChainRecord>([AUDIT_CHAIN], {
    limit,
    ...(after === 0 ? {} : { after: [AUDIT_CHAIN, after] }),
  });
  return records
    .map(({ key, value }) => `${JSON.stringify({ number: Number(key[1]), mac: value.mac, event: value.event })}\n`)
    .join("");
}

function toEntry({ key, value }: StoreRecord<ChainRecord>): AuditEntry {
  return { number: Number(key[1]), ...(value.event as StoredAuditEvent) };
}
