/**
 * Files that are being uploaded, part after part. A file grows in the artifact store's temporary folder with its hash,
 * and is handed over when its last byte has come and the hash is the one that was said. State is this process's memory:
 * after a restart an upload begins again, and what it left is deleted, unless its place can be restored. Bounds the
 * number and the bytes of each owner.
 */
import type { Clock } from "../../platform/clock.js";
import type { StreamedBody } from "../../platform/contract/streamed-body.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import type { ArtifactWriter } from "../../platform/store/artifacts.js";

export interface UploadKey {
  /** As `user:<uuid>`. */
  readonly owner: string;
  readonly proverId: string;
  /** Name of the file, as in the path. */
  readonly name: string;
}

export interface UploadLimits {
  /** Files of one owner that may be open. */
  readonly openPerOwnerMax: number;
  /** Files of all owners that may be open; each holds a file descriptor. */
  readonly openMax: number;
  /** Longest file, whatever the length of its parts. */
  readonly fileBytesMax: number;
  /** Bytes that the waiting files of one owner may have together, those that are complete included. */
  readonly bytesPerOwnerMax: number;
  /** An upload that got no byte for this long is dropped. */
  readonly idleMs: number;
}

/** Where the files grow. */
export interface UploadPlaces {
  /** Whether another node of a cluster may have taken the parts before. */
  readonly isShared: boolean;
  /** Makes an empty place; `Artifacts.begin` is one. */
  begin(upload: { readonly key: UploadKey; readonly total: number }): Promise<ArtifactWriter>;
  /** Opens what an earlier run has left of an upload, if that can be; without it nothing is left. */
  restore?(key: UploadKey): Promise<{ readonly writer: ArtifactWriter; readonly total: number } | undefined>;
}

/** A file whose last byte has come. */
export interface FinishedUpload {
  readonly sha256: string;
  readonly writer: ArtifactWriter;
}

interface OpenUpload {
  readonly key: UploadKey;
  readonly total: number;
  /** What the client says of the whole file; undefined while it says nothing. */
  sha256: string | undefined;
  readonly writer: ArtifactWriter;
  /** A request is writing to it. */
  isBusy: boolean;
  isDiscarded: boolean;
  touchedAtMs: number;
}

const RETRY_SEC = 30;

export class Uploads {
  readonly #limits: UploadLimits;
  readonly #artifacts: UploadPlaces;
  readonly #clock: Clock;
  readonly #open = new Map<string, OpenUpload>();
  /** Files whose place on the disk is being made. */
  readonly #beginning = new Map<string, Pick<OpenUpload, "key" | "total" | "isDiscarded">>();

  constructor(limits: UploadLimits, dependencies: { readonly artifacts: UploadPlaces; readonly clock: Clock }) {
    this.#limits = limits;
    this.#artifacts = dependencies.artifacts;
    this.#clock = dependencies.clock;
  }

  /** Bytes of a file that have come; 0 when nothing has. */
  received(key: UploadKey): number {
    return this.#open.get(idOf(key))?.writer.bytes ?? 0;
  }

  /**
   * Takes a part. What came of a part that was cut off stays.
   * @param said hash that the file must have, from its announcement; undefined for any
   * @param heldBytes bytes of the owner's complete files that wait for others
   * @returns the file when it is complete, for the caller to publish or discard; undefined while parts are missing
   * @throws AppError `upload_out_of_order`, `upload_digest_mismatch`, `body_too_large`, `invalid_request`,
   *   `conflict` while another request writes to the file, `too_many_requests`, `storage_full`, `not_found` where the
   *   file is dropped meanwhile, and what the body throws
   */
  async take(
    key: UploadKey,
    body: StreamedBody,
    { said, heldBytes }: { readonly said: string | undefined; readonly heldBytes: number },
  ): Promise<FinishedUpload | undefined> {
    const upload = await this.#uploadFor(key, body, heldBytes);
    let isComplete = false;
    try {
      requireSameDigest(upload, said, body.sha256);
      for await (const chunk of body.chunks) {
        await upload.writer.write(chunk);
        upload.touchedAtMs = this.#clock.monotonicMs();
        if (upload.isDiscarded) throw dropped();
      }
      isComplete = upload.writer.bytes === upload.total;
      if (!isComplete) return undefined;
      const sha256 = upload.writer.sha256();
      if (sha256 !== (upload.sha256 ?? sha256))
        throw invalidMember(
          key.name,
          `the file has the SHA-256 ${sha256} and not the one that was said; nothing of it is kept, send it again`,
          "upload_digest_mismatch",
        );
      this.#open.delete(idOf(key));
      return { sha256, writer: upload.writer };
    } catch (error) {
      // What got no byte has nothing to go on from, and would keep the place and the digest of its request.
      if (isComplete || upload.writer.bytes === 0 || isFull(error)) await this.#drop(upload);
      throw error;
    } finally {
      upload.isBusy = false;
      if (upload.isDiscarded) await upload.writer.discard();
    }
  }

  /** Drops the files of a prover. */
  async discard(owner: string, proverId: string): Promise<void> {
    await this.discardWhere(owner, (own) => own === proverId);
  }

  /** Drops the files of an owner's provers that the caller chooses. */
  async discardWhere(owner: string, isChosen: (proverId: string) => boolean): Promise<void> {
    await this.dropWhere((key) => key.owner === owner && isChosen(key.proverId));
  }

  /** Drops the files that nobody waits for any more, whoever's they are. They count no more when this returns. */
  async dropWhere(isOver: (key: UploadKey) => boolean): Promise<void> {
    for (const upload of this.#beginning.values()) if (isOver(upload.key)) upload.isDiscarded = true;
    const over = [...this.#open.values()].filter(({ key }) => isOver(key));
    await Promise.all(over.map(async (upload) => await this.#drop(upload)));
  }

  /** Drops the files that got no byte for too long. Returns how many. */
  async sweep(): Promise<number> {
    const before = this.#clock.monotonicMs() - this.#limits.idleMs;
    const idle = [...this.#open.values()].filter((upload) => !upload.isBusy && upload.touchedAtMs < before);
    for (const upload of idle) await this.#drop(upload);
    return idle.length;
  }

  /** The open file that a part continues, or a new one; it is the caller's alone until that clears `isBusy`. */
  async #uploadFor(key: UploadKey, body: StreamedBody, heldBytes: number): Promise<OpenUpload> {
    if (this.#open.get(idOf(key))?.isBusy === true || this.#beginning.has(idOf(key)))
      throw new AppError("conflict", { message: "another request is sending this file; wait for its end" });
    const start = body.part?.start ?? 0;
    const total = body.part?.total ?? body.bytes;
    if (total === 0) throw invalidMember(key.name, "the file has no bytes");
    if (total > this.#limits.fileBytesMax)
      throw new AppError("body_too_large", {
        message: `a file may have ${String(this.#limits.fileBytesMax)} bytes at most`,
      });
    const found = this.#open.get(idOf(key)) ?? (start === 0 ? undefined : await this.#restore(key, heldBytes));
    const received = found?.writer.bytes ?? 0;
    if (start !== 0) {
      if (found === undefined || start !== received)
        throw new AppError("upload_out_of_order", { message: this.#placeText(received) });
      if (total !== found.total)
        throw invalidMember(
          key.name,
          "the parts say different lengths of the whole file; send it again from its start",
        );
      found.isBusy = true;
      return found;
    }
    return await this.#begin(key, total, { heldBytes, replaced: found });
  }

  #placeText(received: number): string {
    return received === 0 && this.#artifacts.isShared
      ? "no part of the file has come to this node of the cluster: send all parts to one node, or the file again from its start"
      : `${String(received)} bytes have come; the next part begins there`;
  }

  /** Opens what an earlier run has left of an upload. */
  async #restore(key: UploadKey, heldBytes: number): Promise<OpenUpload | undefined> {
    if (this.#artifacts.restore === undefined) return undefined;
    const id = idOf(key);
    this.#requireRoom(key.owner, 0, heldBytes);
    const beginning = { key, total: 0, isDiscarded: false };
    this.#beginning.set(id, beginning);
    try {
      const restored = await this.#artifacts.restore(key);
      if (restored === undefined) return undefined;
      await discardIf(beginning, restored.writer);
      const upload = this.#opened(key, restored, { isBusy: false });
      this.#open.set(id, upload);
      return upload;
    } finally {
      this.#beginning.delete(id);
    }
  }

  #opened(
    key: UploadKey,
    { writer, total }: { readonly writer: ArtifactWriter; readonly total: number },
    { isBusy }: Pick<OpenUpload, "isBusy">,
  ): OpenUpload {
    const touchedAtMs = this.#clock.monotonicMs();
    return { key, total, sha256: undefined, writer, isBusy, isDiscarded: false, touchedAtMs };
  }

  async #begin(
    key: UploadKey,
    total: number,
    { heldBytes, replaced }: { readonly heldBytes: number; readonly replaced: OpenUpload | undefined },
  ): Promise<OpenUpload> {
    const id = idOf(key);
    const beginning = { key, total, isDiscarded: false };
    // From the start again: what came before is not wanted any more, and takes no room.
    if (replaced !== undefined) this.#open.delete(id);
    try {
      this.#requireRoom(key.owner, total, heldBytes);
      this.#beginning.set(id, beginning);
    } finally {
      if (replaced !== undefined) await this.#drop(replaced);
    }
    try {
      const writer = await this.#artifacts.begin({ key, total });
      await discardIf(beginning, writer);
      const upload = this.#opened(key, { writer, total }, { isBusy: true });
      this.#open.set(id, upload);
      return upload;
    } finally {
      this.#beginning.delete(id);
    }
  }

  #requireRoom(owner: string, total: number, heldBytes: number): void {
    const { openPerOwnerMax, openMax, bytesPerOwnerMax } = this.#limits;
    const own = [...this.#of(owner), ...[...this.#beginning.values()].filter(({ key }) => key.owner === owner)];
    if (own.length >= openPerOwnerMax)
      throw new AppError("too_many_requests", {
        message: `at most ${String(openPerOwnerMax)} files of one owner may be uploaded at once`,
        retryAfterSec: RETRY_SEC,
      });
    if (own.reduce((sum, upload) => sum + upload.total, heldBytes + total) > bytesPerOwnerMax)
      throw new AppError("too_many_requests", {
        message: `the files of one owner's imports that are not provisioned yet may have ${String(bytesPerOwnerMax)} bytes together`,
        retryAfterSec: RETRY_SEC,
      });
    if (this.#open.size + this.#beginning.size >= openMax)
      throw new AppError("overloaded", { message: "too many files are being uploaded", retryAfterSec: RETRY_SEC });
  }

  #of(owner: string): OpenUpload[] {
    return [...this.#open.values()].filter((upload) => upload.key.owner === owner);
  }

  /** A file that is being written to is deleted by its writer. */
  async #drop(upload: OpenUpload): Promise<void> {
    upload.isDiscarded = true;
    if (this.#open.get(idOf(upload.key)) === upload) this.#open.delete(idOf(upload.key));
    if (!upload.isBusy) await upload.writer.discard();
  }
}

/** What was dropped while its place was being made has no place. */
async function discardIf({ isDiscarded }: Pick<OpenUpload, "isDiscarded">, writer: ArtifactWriter): Promise<void> {
  if (!isDiscarded) return;
  await writer.discard();
  throw dropped();
}

function dropped(): AppError {
  return new AppError("not_found", { message: "nobody waits for this file any more" });
}

function requireSameDigest(upload: OpenUpload, ...said: readonly (string | undefined)[]): void {
  for (const sha256 of said) {
    if (sha256 === undefined) continue;
    if (upload.sha256 !== undefined && upload.sha256 !== sha256)
      throw invalidMember(upload.key.name, "another SHA-256 of the file was said before", "upload_digest_mismatch");
    upload.sha256 = sha256;
  }
}

function isFull(error: unknown): boolean {
  return error instanceof AppError && error.code === "storage_full";
}

function idOf({ owner, proverId, name }: UploadKey): string {
  return `${owner}/${proverId}/${name}`;
}
