/**
 * Shared files in the cluster's PostgreSQL: a row a file, and its content in pieces of 1 MiB. Each upload has pieces of
 * its own, so that two of the same file, or a removal beside an upload, cannot mix; the first whole one counts. No
 * transaction lasts longer than a piece, as one that does holds back the clearing of old rows in the whole database.
 */
import { createHash } from "node:crypto";
import { open, type FileHandle } from "node:fs/promises";
import { AppError, assert } from "../../errors.js";
import { newId } from "../../ids.js";
import { KEPT_HOURS, type OldFile, type SharedFiles } from "../../store/shared-files.js";
import type { DatabaseAddress } from "../database-address.js";
import { DatabaseConnections } from "./database-connections.js";
import { changedFile, readWhole } from "./read-whole.js";

/** Of a piece: large against a round trip, small against the memory of a node. */
const PART_BYTES = 1 << 20;
/** Files that are listed at a time. */
const PAGE = 1_000;
/** Uploads of one content that were first while this one was sent, and were removed before it could be told. */
const TRIES_MAX = 3;
/** Pieces that are removed at a time, well within the time of a statement. */
const REMOVED_PARTS = 64;
const DUPLICATE = "23505";
const IS_OLD = `put_at < clock_timestamp() - make_interval(hours => ${String(KEPT_HOURS)})`;

export class PostgresFiles implements SharedFiles {
  readonly #database: DatabaseConnections;
  /** Names this process to the others: what nobody else has put or kept, it may remove. */
  readonly #self = newId();

  /** @param options.giveUpMs how long a piece is tried while the database is away. 10 s unless given. */
  constructor(address: DatabaseAddress, options: { readonly giveUpMs?: number } = {}) {
    this.#database = new DatabaseConnections(address, options);
  }

  /** See SharedFiles. */
  async put(file: { readonly sha256: string; readonly bytes: number; readonly path: string }): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      if (await this.keep(file.sha256)) return;
      if (await this.#upload(file)) return;
    }
    throw new AppError("storage_failed", {
      message: "a file is stored and removed again and again by other nodes",
      retryAfterSec: 5,
    });
  }

  /** See SharedFiles. */
  async keep(sha256: string): Promise<boolean> {
    const { count } = await this.#database.query(
      `UPDATE pw_artifact_file SET put_at = clock_timestamp(), put_by = CASE WHEN put_by = $2 THEN put_by END
        WHERE sha256 = $1 AND is_whole`,
      [bytesOf(sha256), this.#self],
    );
    return count > 0;
  }

  /** See SharedFiles. */
  async read(sha256: string, write: (piece: Uint8Array) => Promise<void>): Promise<boolean> {
    const found = await this.#database.query(
      "SELECT upload::text AS upload, bytes::text AS bytes FROM pw_artifact_file WHERE sha256 = $1 AND is_whole",
      [bytesOf(sha256)],
    );
    const [row] = found.rows;
    if (row === undefined) return false;
    const bytes = Number(row["bytes"]);
    for (let part = 0; part * PART_BYTES < bytes; part += 1) {
      const { rows } = await this.#database.query("SELECT bytes FROM pw_artifact WHERE upload = $1 AND part = $2", [
        row["upload"],
        part,
      ]);
      const piece = rows[0]?.["bytes"];
      if (!(piece instanceof Uint8Array)) return false;
      await write(piece);
    }
    return true;
  }

  /** See SharedFiles. */
  async remove(sha256: string): Promise<void> {
    await this.#remove(`sha256 = $1 AND is_whole AND (put_by = $2 OR ${IS_OLD})`, [bytesOf(sha256), this.#self]);
  }

  /** See SharedFiles. */
  async removeOld(sha256: string): Promise<boolean> {
    return await this.#remove(`sha256 = $1 AND is_whole AND ${IS_OLD}`, [bytesOf(sha256)]);
  }

  /** See SharedFiles. */
  async *old(): AsyncIterable<OldFile> {
    for (let after = Buffer.alloc(0); ;) {
      const { rows } = await this.#database.query(
        `SELECT sha256, bytes::text AS bytes FROM pw_artifact_file WHERE is_whole AND ${IS_OLD} AND sha256 > $1
          ORDER BY sha256 LIMIT ${String(PAGE)}`,
        [after],
      );
      for (const row of rows) {
        after = row["sha256"] as Buffer<ArrayBuffer>;
        yield { sha256: after.toString("hex"), bytes: Number(row["bytes"]) };
      }
      if (rows.length < PAGE) return;
    }
  }

  /** See SharedFiles. */
  async removeUnfinished(): Promise<void> {
    const { rows } = await this.#database.query(
      `SELECT upload::text AS upload FROM pw_artifact_file WHERE NOT is_whole AND ${IS_OLD}`,
    );
    for (const { upload } of rows) await this.#remove("upload = $1 AND NOT is_whole", [upload]);
  }

  /** See SharedFiles. */
  close(): Promise<void> {
    this.#database.close();
    return Promise.resolve();
  }

  /** Returns false when another upload of the content was first. */
  async #upload({ sha256, bytes, path }: Parameters<SharedFiles["put"]>[0]): Promise<boolean> {
    const upload = newId();
    const handle = await open(path, "r");
    let isPut = false;
    try {
      await this.#database.query(
        "INSERT INTO pw_artifact_file (upload, sha256, bytes, put_by) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        [upload, bytesOf(sha256), bytes, this.#self],
      );
      await this.#sendParts(upload, { handle, sha256, bytes });
      isPut = await this.#finish(upload, sha256);
      return isPut;
    } finally {
      await handle.close();
      // What stays when that fails, nobody reads; it is removed a day later.
      if (!isPut) await this.#remove("upload = $1 AND NOT is_whole", [upload]).catch(() => undefined);
    }
  }

  async #sendParts(
    upload: string,
    { handle, sha256, bytes }: { readonly handle: FileHandle; readonly sha256: string; readonly bytes: number },
  ): Promise<void> {
    const hash = createHash("sha256");
    const piece = Buffer.allocUnsafe(Math.min(PART_BYTES, bytes));
    for (let part = 0; part * PART_BYTES < bytes; part += 1) {
      const sent = piece.subarray(0, Math.min(PART_BYTES, bytes - part * PART_BYTES));
      await readWhole(handle, sent, part * PART_BYTES);
      hash.update(sent);
      await this.#database.query(
        "INSERT INTO pw_artifact (upload, part, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        [upload, part, sent],
      );
    }
    if (hash.digest("hex") !== sha256) throw changedFile();
  }

  /** Makes an upload whole, unless another one of the content is. Returns whether it did. */
  async #finish(upload: string, sha256: string): Promise<boolean> {
    try {
      const { count } = await this.#database.query(
        `UPDATE pw_artifact_file SET is_whole = true, put_at = clock_timestamp() WHERE upload = $1 AND bytes >= 0 AND
          NOT EXISTS (SELECT 1 FROM pw_artifact_file WHERE sha256 = $2 AND is_whole AND upload <> $1)`,
        [upload, bytesOf(sha256)],
      );
      return count === 1;
    } catch (error) {
      if (error instanceof AppError && sqlStateOf(error.cause) === DUPLICATE) return false;
      throw error;
    }
  }

  /** Removes a file: from then on nobody finds it, and its pieces follow. Returns whether there was such a file. */
  async #remove(which: string, values: readonly unknown[]): Promise<boolean> {
    const { rows } = await this.#database.query(
      `UPDATE pw_artifact_file SET is_whole = false, bytes = -1 WHERE ${which} RETURNING upload::text AS upload`,
      values,
    );
    for (const { upload } of rows) {
      const text = `DELETE FROM pw_artifact WHERE upload = $1 AND part IN
        (SELECT part FROM pw_artifact WHERE upload = $1 LIMIT ${String(REMOVED_PARTS)})`;
      while ((await this.#database.query(text, [upload])).count > 0);
      await this.#database.query("DELETE FROM pw_artifact_file WHERE upload = $1", [upload]);
    }
    return rows.length > 0;
  }
}

function bytesOf(sha256: string): Buffer {
  assert(/^[0-9a-f]{64}$/.test(sha256), "a shared file is named by a SHA-256");
  return Buffer.from(sha256, "hex");
}

function sqlStateOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
