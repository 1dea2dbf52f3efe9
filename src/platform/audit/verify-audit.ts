/** Verifies the audit log and finds the first record that is not as it was written. Reads only; needs the key file. */
import {
  chainHeadKey,
  chainKeyId,
  chainMac,
  NO_PREDECESSOR,
  type ChainHead,
  type ChainRecord,
} from "../store/chain.js";
import type { Store, StoreRecord } from "../store/store.js";
import { AUDIT_CHAIN, AUDIT_STARTED, type StoredAuditEvent } from "./audit-event.js";

/** A record's number and code that were noted outside the log, to detect that the end of the log was cut off. */
export interface AuditAnchor {
  readonly number: number;
  readonly mac: string;
}

export type AuditVerdict =
  | { readonly sound: true; readonly records: number; readonly head: AuditAnchor | undefined }
  | { readonly sound: false; readonly records: number; readonly brokenAt: number; readonly reason: string };

const PAGE = 1000;

/**
 * Verifies every link of the log, from the first record to the head.
 * @param keys all keys that the log was ever linked with, 32 bytes each, in any order
 */
export function verifyAudit(
  store: Pick<Store, "get" | "range">,
  keys: readonly Uint8Array[],
  anchor?: AuditAnchor,
): AuditVerdict {
  const byId = new Map(keys.map((key) => [chainKeyId(key), key]));
  const walk = new Walk(byId, anchor);
  for (let after = 0; ;) {
    const records = store.range<ChainRecord>([AUDIT_CHAIN], {
      limit: PAGE,
      ...(after === 0 ? {} : { after: [AUDIT_CHAIN, after] }),
    });
    for (const record of records) {
      const reason = walk.step(record);
      if (reason !== undefined) return { sound: false, records: walk.number, brokenAt: walk.number + 1, reason };
    }
    if (records.length < PAGE) break;
    after = walk.number;
  }
  const reason = walk.end(store.get<ChainHead>(chainHeadKey(AUDIT_CHAIN))?.value);
  if (reason !== undefined) return { sound: false, records: walk.number, brokenAt: walk.number + 1, reason };
  return {
    sound: true,
    records: walk.number,
    head: walk.number === 0 ? undefined : { number: walk.number, mac: walk.mac },
  };
}

class Walk {
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  readonly #anchor: AuditAnchor | undefined;
  #key: Uint8Array | undefined;
  number = 0;
  mac = NO_PREDECESSOR;

  constructor(keys: ReadonlyMap<string, Uint8Array>, anchor: AuditAnchor | undefined) {
    this.#keys = keys;
    this.#anchor = anchor;
  }

  /** Checks the next record. Returns what is wrong with it, or undefined. */
  step({ key, value }: StoreRecord<ChainRecord>): string | undefined {
    const number = Number(key[1]);
    if (number !== this.number + 1) return `record ${String(this.number + 1)} is missing`;
    const event = value.event as StoredAuditEvent;
    if (event.action === AUDIT_STARTED) {
      const keyId = event.detail?.key_id;
      this.#key = typeof keyId === "string" ? this.#keys.get(keyId) : undefined;
      if (this.#key === undefined)
        return `from this record on the log was linked with another key (${typeof keyId === "string" ? keyId : "unnamed"}); give its file with --key`;
    }
    if (this.#key === undefined) return "the log does not begin with the record of a start";
    const mac = chainMac(this.#key, { chain: AUDIT_CHAIN, number, predecessor: this.mac, json: JSON.stringify(event) });
    if (mac !== value.mac) return "the record was changed, or a record before it";
    if (this.#anchor?.number === number && this.#anchor.mac !== mac)
      return "the record is not the one that the anchor names";
    this.number = number;
    this.mac = mac;
    return undefined;
  }

  /** Checks that the walk ended where the log ends. */
  end(head: ChainHead | undefined): string | undefined {
    if ((head?.number ?? 0) !== this.number || (head?.mac ?? NO_PREDECESSOR) !== this.mac)
      return "the end of the log was cut off or its head was changed";
    if (this.#anchor !== undefined && this.#anchor.number > this.number)
      return `the log ends before the anchor (${String(this.#anchor.number)}): its end was cut off, or it was replaced by an older copy`;
    return undefined;
  }
}
