/**
 * Shared files in an S3-compatible storage: an object a file, in parts where it is long. Its metadata names the process
 * that has put it, unless others have kept it since; copying it onto itself makes it new. S3 deletes an object whatever
 * has happened since somebody looked at it, so that a file which is kept in the milliseconds between the look and the
 * removal is lost; a bucket that keeps versions has it still.
 */
import { createHash } from "node:crypto";
import { open, type FileHandle } from "node:fs/promises";
import type * as S3 from "@aws-sdk/client-s3";
import { AppError } from "../../errors.js";
import { newId } from "../../ids.js";
import { StartError } from "../../start-error.js";
import { KEPT_HOURS, type OldFile, type SharedFiles } from "../../store/shared-files.js";
import { isMissing, s3Failure } from "./s3-failure.js";
import { changedFile, readWhole } from "./read-whole.js";
import { s3Place, type S3Place } from "./s3-place.js";

const PACKAGE = "@aws-sdk/client-s3@3.1162.0";
const ATTEMPTS_MAX = 5;
const CONNECT_MS_MAX = 5_000;
const SILENT_MS_MAX = 30_000;
/** S3 takes parts of 5 MiB and more, 10,000 at most; each is in memory while it is sent. */
const PART_BYTES = 16 * 2 ** 20;
/** S3 copies an object of up to 5 GB in one request. */
const BYTES_MAX = 5e9;
/** Connections that may break in one file while no byte comes. */
const BREAKS_MAX = 5;
const PUT_BY = "put-by";
/** More than one process has put or kept the file. */
const MANY = "many";
const SHA256_HEX = /^[0-9a-f]{64}$/;

/**
 * Opens the storage, without asking it yet. Credentials come from the SDK's default chain.
 * @param text see PROOFWRIGHT_ARTIFACTS_URL
 * @throws StartError for a URL of another form, or when the SDK is not installed
 */
export async function openS3Files(text: string): Promise<SharedFiles> {
  const place = s3Place(text);
  const sdk = await load();
  const client = new sdk.S3Client({
    maxAttempts: ATTEMPTS_MAX,
    requestHandler: { connectionTimeout: CONNECT_MS_MAX, socketTimeout: SILENT_MS_MAX },
    // The SHA-256 of each file is checked; other storages do not know AWS's newer checksums.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    ...(place.region === undefined ? {} : { region: place.region }),
    ...(place.endpoint === undefined ? {} : { endpoint: place.endpoint, forcePathStyle: true }),
  });
  return new S3Files(place, { sdk, client });
}

async function load(): Promise<typeof S3> {
  try {
    return await import("@aws-sdk/client-s3");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")
      throw new StartError(
        `PROOFWRIGHT_ARTIFACTS_URL needs a package that is not installed: run \`npm install ${PACKAGE}\`.`,
      );
    throw error;
  }
}

class S3Files implements SharedFiles {
  readonly #place: S3Place;
  readonly #sdk: typeof S3;
  readonly #client: S3.S3Client;
  readonly #self = newId();

  constructor(place: S3Place, { sdk, client }: { readonly sdk: typeof S3; readonly client: S3.S3Client }) {
    this.#place = place;
    this.#sdk = sdk;
    this.#client = client;
  }

  async put(file: { readonly sha256: string; readonly bytes: number; readonly path: string }): Promise<void> {
    if (file.bytes > BYTES_MAX)
      throw new AppError("storage_failed", { message: "a file of more than 5 GB cannot be stored in the bucket" });
    if (await this.keep(file.sha256)) return;
    const handle = await open(file.path, "r");
    try {
      if (file.bytes <= PART_BYTES) await this.#putWhole(file, handle);
      else await this.#putParts(file, handle);
    } finally {
      await handle.close();
    }
  }

  async keep(sha256: string): Promise<boolean> {
    const found = await this.#head(sha256);
    if (found === undefined) return false;
    const { Bucket, Key } = this.#at(sha256);
    const copied = await this.#find(
      async () =>
        await this.#client.send(
          new this.#sdk.CopyObjectCommand({
            ...{ Bucket, Key, CopySource: encodeURI(`${Bucket}/${Key}`), MetadataDirective: "REPLACE" },
            Metadata: { [PUT_BY]: found.putBy === this.#self ? this.#self : MANY },
          }),
        ),
    );
    return copied !== undefined;
  }

  async read(sha256: string, write: (piece: Uint8Array) => Promise<void>): Promise<boolean> {
    let received = 0;
    let total = Infinity;
    for (let breaks = 0; received < total; breaks += 1) {
      if (breaks > BREAKS_MAX) throw s3Failure(new Error("the connection breaks again and again"));
      const Range = `bytes=${String(received)}-`;
      const found = await this.#find(
        async () =>
          await this.#client.send(
            new this.#sdk.GetObjectCommand({ ...this.#at(sha256), ...(received > 0 ? { Range } : {}) }),
          ),
      );
      if (found?.Body === undefined) return false;
      if (received === 0) total = found.ContentLength ?? 0;
      for await (const piece of unbroken(found.Body as AsyncIterable<Uint8Array>)) {
        await write(piece);
        received += piece.length;
        breaks = 0;
      }
    }
    return true;
  }

  async remove(sha256: string): Promise<void> {
    const found = await this.#head(sha256);
    if (found !== undefined && (found.putBy === this.#self || found.isOld)) await this.#delete(sha256);
  }

  async removeOld(sha256: string): Promise<boolean> {
    if ((await this.#head(sha256))?.isOld !== true) return false;
    await this.#delete(sha256);
    return true;
  }

  async *old(): AsyncIterable<OldFile> {
    const { bucket: Bucket, prefix: Prefix } = this.#place;
    for (let ContinuationToken: string | undefined; ;) {
      const page = await this.#find(
        async () =>
          await this.#client.send(
            new this.#sdk.ListObjectsV2Command({
              ...{ Bucket, Prefix },
              ...(ContinuationToken === undefined ? {} : { ContinuationToken }),
            }),
          ),
      );
      for (const { Key = "", Size = 0, LastModified } of page?.Contents ?? []) {
        const sha256 = Key.slice(Prefix.length);
        if (SHA256_HEX.test(sha256) && this.#isOld(LastModified)) yield { sha256, bytes: Size };
      }
      ContinuationToken = page?.NextContinuationToken;
      if (ContinuationToken === undefined) return;
    }
  }

  async removeUnfinished(): Promise<void> {
    const { bucket: Bucket, prefix: Prefix } = this.#place;
    const found = await this.#find(
      async () => await this.#client.send(new this.#sdk.ListMultipartUploadsCommand({ Bucket, Prefix })),
    );
    for (const { Key, UploadId, Initiated } of found?.Uploads ?? [])
      if (this.#isOld(Initiated))
        await this.#find(
          async () => await this.#client.send(new this.#sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })),
        );
  }

  close(): Promise<void> {
    this.#client.destroy();
    return Promise.resolve();
  }

  async #putWhole({ sha256, bytes }: { readonly sha256: string; readonly bytes: number }, handle: FileHandle) {
    const Body = await readPart(handle, { position: 0, bytes });
    requireHash(createHash("sha256").update(Body).digest("hex"), sha256);
    await this.#store(
      async () =>
        await this.#client.send(
          new this.#sdk.PutObjectCommand({ ...this.#at(sha256), Body, Metadata: { [PUT_BY]: this.#self } }),
        ),
    );
  }

  async #putParts({ sha256, bytes }: { readonly sha256: string; readonly bytes: number }, handle: FileHandle) {
    const at = this.#at(sha256);
    const { UploadId } = await this.#store(
      async () =>
        await this.#client.send(
          new this.#sdk.CreateMultipartUploadCommand({ ...at, Metadata: { [PUT_BY]: this.#self } }),
        ),
    );
    try {
      const hash = createHash("sha256");
      const Parts: S3.CompletedPart[] = [];
      for (let position = 0; position < bytes; position += PART_BYTES) {
        const Body = await readPart(handle, { position, bytes: Math.min(PART_BYTES, bytes - position) });
        hash.update(Body);
        const PartNumber = Parts.length + 1;
        const { ETag } = await this.#store(
          async () => await this.#client.send(new this.#sdk.UploadPartCommand({ ...at, UploadId, PartNumber, Body })),
        );
        Parts.push({ ETag, PartNumber });
      }
      requireHash(hash.digest("hex"), sha256);
      await this.#store(
        async () =>
          await this.#client.send(
            new this.#sdk.CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload: { Parts } }),
          ),
      );
    } catch (error) {
      // What stays when that fails, nobody reads; it is removed a day later.
      await this.#find(
        async () => await this.#client.send(new this.#sdk.AbortMultipartUploadCommand({ ...at, UploadId })),
      ).catch(() => undefined);
      throw error;
    }
  }

  async #head(sha256: string): Promise<{ readonly putBy: string | undefined; readonly isOld: boolean } | undefined> {
    const found = await this.#find(
      async () => await this.#client.send(new this.#sdk.HeadObjectCommand(this.#at(sha256))),
    );
    return found === undefined
      ? undefined
      : { putBy: found.Metadata?.[PUT_BY], isOld: this.#isOld(found.LastModified) };
  }

  async #delete(sha256: string): Promise<void> {
    await this.#find(async () => await this.#client.send(new this.#sdk.DeleteObjectCommand(this.#at(sha256))));
  }

  #at(sha256: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#place.bucket, Key: `${this.#place.prefix}${sha256}` };
  }

  /** By the storage's clock: the SDK knows how far it is from this machine's, where that is minutes. */
  #isOld(modified: Date | undefined): boolean {
    const nowMs = Date.now() + this.#client.config.systemClockOffset;
    return modified !== undefined && modified.getTime() < nowMs - KEPT_HOURS * 3_600_000;
  }

  /** Undefined when there is no such object. */
  async #find<Output>(request: () => Promise<Output>): Promise<Output | undefined> {
    try {
      return await request();
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw s3Failure(error);
    }
  }

  async #store<Output>(request: () => Promise<Output>): Promise<Output> {
    try {
      return await request();
    } catch (error) {
      throw s3Failure(error);
    }
  }
}

/** What comes until the connection breaks: the rest is asked for anew. */
async function* unbroken(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch {
    // The caller counts what has come.
  }
}

async function readPart(
  handle: FileHandle,
  { position, bytes }: { readonly position: number; readonly bytes: number },
): Promise<Buffer> {
  const part = Buffer.allocUnsafe(bytes);
  await readWhole(handle, part, position);
  return part;
}

function requireHash(found: string, sha256: string): void {
  if (found !== sha256) throw changedFile();
}
