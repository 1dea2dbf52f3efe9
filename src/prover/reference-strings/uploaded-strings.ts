/**
 * Powers-of-tau files that administrators upload: they grow part by part in the artifact store, go on after a restart,
 * and are checked by a job that the last part's commit queues. Uploads are durable records; which of them a request
 * writes to is this process's memory.
 */
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { StreamedBody } from "../../platform/contract/streamed-body.js";
import { AppError, invalidMember, notFound } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { ArtifactWriter, Artifacts } from "../../platform/store/artifacts.js";
import type { Store, StoreCommit, StoreKey } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import { Uploads, type FinishedUpload, type UploadKey, type UploadPlaces } from "../imports/uploads.js";
import type { SourceFiles } from "../provisioning/source-files.js";
import type { UploadedFile } from "./powers-folder.js";
import type { PowersRecords, PowersUpload } from "./powers-records.js";

export interface UploadedStringsDependencies {
  readonly store: Pick<Store, "commit">;
  readonly records: PowersRecords;
  readonly artifacts: Pick<
    Artifacts,
    "beginPartial" | "isShared" | "partialBytes" | "removePartial" | "removePartials"
  >;
  readonly files: Pick<SourceFiles, "holdFile" | "removeUnused">;
  /** Prepares the job that checks a file. */
  readonly queueCheck: (file: string) => StoreCommit;
  readonly clock: Clock;
}

/** An upload that is not complete. */
interface WaitingUpload extends PowersUpload {
  readonly received: number;
}

/** One for each size and more; a ceremony has one file for each power. */
const UPLOADS_MAX = 64;
/** All uploaded files together, as a multiple of the largest. */
const QUOTA_FILES = 4;
/** An administrator may go on a day later. */
const IDLE_MS = 24 * 3_600_000;
const SUFFIX = ".ptau";
/** Whose the uploads are for their limits: the server's, whoever sends them. */
const OWNER = "reference_strings";

export class UploadedStrings {
  readonly #with: UploadedStringsDependencies;
  readonly #uploads: Uploads;
  /** Which file a request of this process writes to, by the upload's name. */
  readonly #partials = new Map<string, string>();

  /** @param options.fileBytesMax longest file */
  constructor(options: { readonly fileBytesMax: number }, dependencies: UploadedStringsDependencies) {
    this.#with = dependencies;
    const limits = {
      ...{ openPerOwnerMax: UPLOADS_MAX, openMax: UPLOADS_MAX, fileBytesMax: options.fileBytesMax },
      ...{ bytesPerOwnerMax: QUOTA_FILES * options.fileBytesMax, idleMs: IDLE_MS },
    };
    this.#uploads = new Uploads(limits, { artifacts: this.#places(), clock: dependencies.clock });
  }

  /** Returns the files that are complete, for their check. */
  found(): UploadedFile[] {
    return this.#with.records.uploads().flatMap(({ file, bytes, sha256 }) => {
      return sha256 === null ? [] : [{ file, bytes, sha256, identity: `upload-${sha256}` }];
    });
  }

  /** Returns the uploads that are not complete, with the bytes that have come. */
  waiting(): WaitingUpload[] {
    return this.#with.records
      .uploads()
      .filter(({ sha256 }) => sha256 === null)
      .map((upload) => ({ ...upload, received: this.#received(upload) }));
  }

  /**
   * Takes a file or a part of it; with the last one its check is queued.
   * @param file its name, which no other string has
   * @returns whether the file is complete
   * @throws AppError `conflict` for a name that is taken, `invalid_request`, and as `Uploads.take`
   */
  async take(file: string, body: StreamedBody): Promise<boolean> {
    const { records, store, files } = this.#with;
    if (!file.endsWith(SUFFIX)) throw invalidMember("file", `the name of a powers-of-tau file ends with ${SUFFIX}`);
    this.#requireFree(file);
    const finished = await this.#receive(file, body);
    if (finished === undefined) return false;
    const { sha256, writer } = finished;
    await files.holdFile(
      sha256,
      async () => await writer.publish(),
      async ({ bytes }) => {
        const upload = records.findUpload(file);
        if (upload === undefined) throw notFound("upload");
        await store.commit(
          mergeCommits(
            records.putUpload({ ...upload, bytes, sha256 }),
            records.remove(file),
            this.#with.queueCheck(file),
          ),
        );
      },
    );
    return true;
  }

  /**
   * Removes an upload, and the file where nothing else is known of it.
   * @param more what else is deleted with it
   * @throws AppError `not_found`
   */
  async remove(file: string, more: StoreCommit): Promise<void> {
    const { records, store } = this.#with;
    const upload = records.findUpload(file);
    if (upload === undefined) throw notFound("upload");
    await store.commit(mergeCommits(records.removeUpload(file), records.remove(file), more));
    if (upload.sha256 !== null) await this.#with.files.removeUnused(upload.sha256);
    // One that a request writes to is deleted by its writer; of one from before a restart nobody else knows.
    else if (this.#uploads.received(keyOf(file)) > 0) await this.#uploads.discard(OWNER, file);
    else await this.#with.artifacts.removePartial(upload.partial);
  }

  /** Deletes what no upload names, and uploads that began too long ago; at start, before any request. */
  async start(): Promise<void> {
    const { records, store, clock, artifacts } = this.#with;
    const before = isoTimestamp(clock.nowMs() - IDLE_MS);
    for (const upload of this.waiting())
      if (upload.begun_at < before) await store.commit(records.removeUpload(upload.file));
    await artifacts.removePartials((id) => this.#isWaiting(id));
  }

  /**
   * Drops what this node has of uploads that another has deleted, begun anew or ended. It counts no more when this
   * returns; a file that cannot be removed is removed at the next start.
   * @param keys those of the uploads
   */
  follow(keys: readonly StoreKey[]): void {
    const changed = new Set(keys.map((key) => key.at(-1)));
    const isOver = ({ name }: UploadKey): boolean => {
      const partial = this.#partials.get(name);
      return partial !== undefined && changed.has(name) && !this.#isWaiting(partial);
    };
    this.#uploads
      .dropWhere(isOver)
      // And what an earlier run of this node has begun, to which nothing was added since.
      .then(async () => await this.#with.artifacts.removePartials((id) => this.#isWaiting(id)))
      .catch(() => undefined);
  }

  async #receive(file: string, body: StreamedBody): Promise<FinishedUpload | undefined> {
    try {
      return await this.#uploads.take(keyOf(file), body, { said: undefined, heldBytes: this.#heldBytes() });
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") throw notFound("upload");
      throw error;
    }
  }

  /** Whether parts are missing of the upload that grows in a file. */
  #isWaiting(partial: string): boolean {
    return this.#with.records.uploads().some((upload) => upload.partial === partial && upload.sha256 === null);
  }

  #places(): UploadPlaces {
    return {
      isShared: this.#with.artifacts.isShared,
      begin: async ({ key, total }) => {
        const { records, store, clock, artifacts } = this.#with;
        const before = records.findUpload(key.name);
        const upload = {
          ...{ file: key.name, begun_at: isoTimestamp(clock.nowMs()), partial: newId() },
          ...{ bytes: total, sha256: null },
        };
        await store.commit(records.putUpload(upload));
        if (before?.sha256 === null) await artifacts.removePartial(before.partial);
        return await this.#opened(upload);
      },
      restore: async ({ name }) => {
        const { records, artifacts } = this.#with;
        const upload = records.findUpload(name);
        if (upload?.sha256 !== null || artifacts.partialBytes(upload.partial) === 0) return undefined;
        return { writer: await this.#opened(upload), total: upload.bytes };
      },
    };
  }

  /** @throws AppError `not_found` for an upload that another node has ended meanwhile */
  async #opened(upload: PowersUpload): Promise<ArtifactWriter> {
    const writer = this.#writer(upload, await this.#with.artifacts.beginPartial(upload.partial));
    this.#partials.set(upload.file, upload.partial);
    if (this.#isWaiting(upload.partial)) return writer;
    await writer.discard();
    throw notFound("upload");
  }

  /** A place whose record goes with it. */
  #writer(upload: PowersUpload, writer: ArtifactWriter): ArtifactWriter {
    return {
      get bytes() {
        return writer.bytes;
      },
      write: async (chunk) => {
        await writer.write(chunk);
      },
      sha256: () => writer.sha256(),
      publish: async () => {
        this.#partials.delete(upload.file);
        return await writer.publish();
      },
      discard: async () => {
        await writer.discard();
        if (this.#partials.get(upload.file) === upload.partial) this.#partials.delete(upload.file);
        const { records, store } = this.#with;
        // Another upload of the name may have begun.
        if (records.findUpload(upload.file)?.partial === upload.partial)
          await store.commit(records.removeUpload(upload.file)).catch(() => undefined);
      },
    };
  }

  #requireFree(file: string): void {
    const { records } = this.#with;
    const upload = records.findUpload(file);
    const known = records.find(file);
    if (upload?.sha256 === null || known?.state === "refused") return;
    if (upload !== undefined || known !== undefined)
      throw new AppError("conflict", { message: "a reference string has this name; delete it first, or take another" });
    if (records.uploads().length >= UPLOADS_MAX)
      throw new AppError("conflict", { message: `at most ${String(UPLOADS_MAX)} files may be uploaded; delete some` });
  }

  #heldBytes(): number {
    // That of a file that was refused is gone.
    const kept = this.found().filter(({ file }) => this.#with.records.find(file)?.state !== "refused");
    return kept.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #received(upload: PowersUpload): number {
    const open = this.#uploads.received(keyOf(upload.file));
    return open === 0 ? this.#with.artifacts.partialBytes(upload.partial) : open;
  }
}

function keyOf(name: string): UploadKey {
  return { owner: OWNER, proverId: name, name };
}
