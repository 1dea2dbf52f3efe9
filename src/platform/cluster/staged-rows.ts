/**
 * Rows of the log whose effect is known and compared, and that are not in LMDB yet: the next group is decided over
 * them, and they are written when nobody waits for it, several in one transaction.
 */
import { transact, writeMeta, type Environment, type StoreMeta } from "../store/lmdb/lmdb-environment.js";
import { storedMeta } from "../store/lmdb/lmdb-migrate.js";
import { OverlaySpace, storedRecords, type RecordReader } from "../store/lmdb/record-space.js";
import { TAG_BYTES } from "../store/record.js";
import { rowDamaged, type LogRow, type RowBody } from "./log/log-row.js";

export class StagedRows {
  readonly #environment: Environment;
  readonly #space: OverlaySpace;
  readonly #meta: StoreMeta;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#space = new OverlaySpace(storedRecords(environment));
    this.#meta = storedMeta(environment);
  }

  /** The records as they are with these rows. */
  get records(): RecordReader {
    return this.#space;
  }

  /** The meta record as it is with these rows. */
  get meta(): StoreMeta {
    return { ...this.#meta };
  }

  /**
   * Adds the next row, whose code was checked.
   * @returns whether the state is the one that the row's writer had; otherwise nothing is added
   */
  add(row: LogRow, { changes }: RowBody): boolean {
    let { count, tag_sum: sum } = this.#meta;
    for (const { key, bytes } of changes) {
      const old = this.#space.read(key);
      if (old !== undefined) {
        count -= 1;
        sum -= tagOf(old);
      }
      if (bytes !== undefined) {
        count += 1;
        sum += tagOf(bytes);
      }
    }
    if (count !== row.count || BigInt.asUintN(64, sum) !== row.tagSum) return false;
    this.#space.take(changes);
    Object.assign(this.#meta, { sequence: row.version, count: row.count, tag_sum: row.tagSum });
    return true;
  }

  /** Writes them all in one transaction, and what `besides` writes. */
  write(besides: () => void): void {
    const environment = this.#environment;
    transact(environment, () => {
      for (const { key, bytes } of this.#space.changes)
        if (bytes === undefined) void environment.remove(key);
        else void environment.put(key, bytes);
      writeMeta(environment, this.#meta);
      besides();
    });
    // lmdb-js keeps one read snapshot per turn of the event loop.
    environment.resetReadTxn();
  }
}

function tagOf(record: Buffer): bigint {
  if (record.length < TAG_BYTES) throw rowDamaged();
  return record.readBigUInt64BE(record.length - TAG_BYTES);
}
