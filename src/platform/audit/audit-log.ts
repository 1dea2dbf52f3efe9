/**
 * The audit log: a hash chain of the store, linked with a key that lies outside the vault's barrier, so that it can be
 * written while the vault is sealed. It fails closed: a request whose event cannot be recorded is refused, and after
 * three failures in a row the vault is sealed.
 */
import { createHmac } from "node:crypto";
import { isoTimestamp, type Clock } from "../clock.js";
import { AppError } from "../errors.js";
import type { Log } from "../log.js";
import { secretFile, secretKey } from "../files/secret-file.js";
import { chainHeadKey, chainKeyId, type ChainHead, type ChainRecord } from "../store/chain.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../store/store.js";
import {
  AUDIT_CHAIN,
  AUDIT_STARTED,
  AUDIT_SUBJECT_INDEX,
  type AuditEvent,
  type StoredAuditEvent,
} from "./audit-event.js";

/** The part of the log that the rest of the service uses. */
export interface AuditPort {
  /** Returns a commit that records the event, to be merged into another: both are written, or neither. */
  record(event: AuditEvent): StoreCommit;
  /**
   * Records an event in its own commit; resolves when it is on disk. Rejects with `audit_unavailable` if that fails.
   */
  append(event: AuditEvent): Promise<void>;
  /** Returns the keyed hash of a name, 32 hex digits. Case and Unicode compatibility forms make no difference. */
  hashName(text: string): string;
}

export interface AuditLogOptions {
  /** 32 bytes, the same with which the store was opened (`chainKey`). */
  readonly key: Uint8Array;
  /** Name of this node of a cluster, which its records have. */
  readonly node?: string | undefined;
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
/** One failure may be temporary; after three in a row the vault must reveal nothing more. */
const FAILURES_MAX = 3;
/**
 * The store is busy, is closing, or lost its database while it wrote: nothing was revealed, and a later attempt may
 * succeed.
 */
const TEMPORARY_CODES: ReadonlySet<string> = new Set([
  ...["overloaded", "shutting_down"],
  ...["store_unreachable", "outcome_unknown"],
]);
/** Name of the key file in the data folder. */
export const AUDIT_KEY_FILE = "audit-key";

/**
 * Reads the key file of a data folder, or creates it (mode 0600) when there is none.
 * @returns 32 bytes
 * @throws StartError when the file is damaged
 * @throws PrivateFileError when other users can read it
 */
export async function openAuditKey(dataDir: string): Promise<Uint8Array> {
  const file = secretFile(`${dataDir}/${AUDIT_KEY_FILE}`);
  return await secretKey(file, "restore the right file, or move it away to start a new section of the audit log");
}

export class AuditLog implements AuditPort {
  readonly #key: Uint8Array;
  readonly #nameKey: Buffer;
  readonly #origin: Pick<StoredAuditEvent, "node">;
  readonly #dependencies: AuditLogDependencies;
  #failures = 0;

  constructor(options: AuditLogOptions, dependencies: AuditLogDependencies) {
    this.#key = options.key;
    this.#nameKey = createHmac("sha256", options.key).update(NAME_LABEL).digest();
    this.#origin = options.node === undefined ? {} : { node: options.node };
    this.#dependencies = dependencies;
  }

  /**
   * Records the start and the id of the key that links the following records. Must be called once, before anything else
   * is recorded.
   */
  async start(): Promise<void> {
    const head = this.head();
    const keyId = chainKeyId(this.#key);
    if (head !== undefined && head.key_id !== keyId) {
      this.#dependencies.log.warn(
        "the audit log continues with another key: keep the old audit-key file to verify the older records",
      );
    }
    await this.append({ action: AUDIT_STARTED, outcome: "ok", detail: { key_id: keyId } });
  }

  /** Returns the head of the hash chain, or undefined before the first record. */
  head(): ChainHead | undefined {
    return this.#dependencies.store.get<ChainHead>(chainHeadKey(AUDIT_CHAIN))?.value;
  }

  /** See AuditPort. Adds the time, and the node of a cluster. */
  record(event: AuditEvent): StoreCommit {
    const stored: StoredAuditEvent = {
      at: isoTimestamp(this.#dependencies.clock.nowMs()),
      ...event,
      ...this.#origin,
    };
    const indexes: StoreKey[] = event.subject === undefined ? [] : [[AUDIT_SUBJECT_INDEX, event.subject]];
    return { appends: [{ chain: AUDIT_CHAIN, value: stored, indexes }] };
  }

  /** See AuditPort. Counts failures in a row and calls `onUnwritable` from the third on. */
  async append(event: AuditEvent): Promise<void> {
    try {
      // Urgent: uses the space that is reserved for a full disk.
      await this.#dependencies.store.commit({ urgent: true, ...this.record(event) });
      this.#failures = 0;
    } catch (error) {
      if (error instanceof AppError && TEMPORARY_CODES.has(error.code)) throw error;
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

  /** See AuditPort. */
  hashName(text: string): string {
    return createHmac("sha256", this.#nameKey)
      .update(text.normalize("NFKC").toLowerCase())
      .digest("hex")
      .slice(0, 2 * NAME_HASH_BYTES);
  }

  /** Returns a page of all events, or of one subject's events, newest first, and their total number. */
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

  /** Returns the records after a number, oldest first, as lines of JSON with all that a verification needs. */
  exportLines(after: number, limit: number): string {
    return auditLines(this.#dependencies.store, after, limit);
  }
}

/**
 * Returns the records after a number as lines of JSON, `{"number","mac","event"}`, oldest first.
 * @param after number of the last record to skip; 0 for none
 */
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
