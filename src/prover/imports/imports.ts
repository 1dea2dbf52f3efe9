/**
 * Provers whose circuit, and key if they like, come from outside: takes their files one by one and starts the
 * provisioning with the last one. An import that does not get its files in time fails, and keeps none of them.
 */
import { formatSubject, parseSubject, type Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { Rounds } from "../../platform/concurrency/rounds.js";
import type { StreamedBody } from "../../platform/contract/streamed-body.js";
import { AppError, notFound } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import type { Log } from "../../platform/log.js";
import type { Artifacts, ArtifactReference } from "../../platform/store/artifacts.js";
import { mergeCommits } from "../../platform/store/commits.js";
import {
  StoreConflict,
  type Store,
  type StoreCommit,
  type StoreKey,
  type StoreRecord,
} from "../../platform/store/store.js";
import { diagnostic } from "../provisioning/diagnostics.js";
import { statusEvents } from "../prover-events.js";
import type { StatusWatch } from "../provisioning/status-watch.js";
import type { SourceFiles } from "../provisioning/source-files.js";
import type { ArtifactSet, ProverRepository, StoredProver } from "../repository.js";
import type { ProverArtifact } from "../schemas.js";
import type { ImportRequest } from "./import-schemas.js";
import {
  announcedFiles,
  artifactOf,
  expectedFile,
  importFiles,
  isExpected,
  isWaitingForFiles,
  requireWholeImport,
} from "./import-files.js";
import type { ImportFileName } from "./import-files.js";
import type { FinishedUpload, UploadKey, Uploads } from "./uploads.js";

interface ImportsDependencies {
  readonly store: Store;
  readonly repository: ProverRepository;
  readonly artifacts: Pick<Artifacts, "verify">;
  readonly files: SourceFiles;
  readonly uploads: Uploads;
  readonly events: Pick<Events, "commitOf">;
  /** Wakes requests that wait for a prover whose import has failed. */
  readonly watch: Pick<StatusWatch, "notify">;
  readonly clock: Clock;
  readonly log: Log;
  readonly queue: ImportQueue;
}

/** The part of the provisioning queue that an import needs. */
interface ImportQueue {
  /** Prepares the job that provisions a prover. */
  prepare(owner: Subject, proverId: string): StoreCommit;
  /** Starts queued jobs now. */
  wake(): void;
}

/** Imports of one owner that may wait for files; a person uploads one after the other. */
const WAITING_PER_OWNER_MAX = 5;
/** Time for the files of an import; 2 GiB take it at 25 KB/s. */
const WAIT_HOURS = 24;
const SWEEP_EVERY_MS = 60_000;
/** The files of one prover may come at once, and each changes its record. */
const ATTACH_TRIES_MAX = 16;
const RETRY_SEC = 60;

export class Imports {
  readonly #with: ImportsDependencies;
  readonly #rounds = new Rounds(SWEEP_EVERY_MS, async () => {
    await this.sweep();
  });

  constructor(dependencies: ImportsDependencies) {
    this.#with = dependencies;
  }

  /**
   * Checks an import that is to be registered. Files that the owner has among those of its own provers are taken at
   * once; whether others have them changes nothing.
   * @param use gets the files that are there, and what to store of the import
   * @throws AppError `invalid_request`, `too_many_requests`, `artifact_corrupt`, and what `use` throws
   */
  async begin<Result>(
    owner: Subject,
    request: ImportRequest,
    use: (artifacts: ArtifactSet, stored: StoredProver["build"]["import"]) => Promise<Result>,
  ): Promise<Result> {
    requireWholeImport(request);
    if (this.#with.repository.countWaitingImports(owner) >= WAITING_PER_OWNER_MAX)
      throw new AppError("too_many_requests", {
        message: `at most ${String(WAITING_PER_OWNER_MAX)} imports of one owner may wait for their files`,
        retryAfterSec: RETRY_SEC,
      });
    const names = announcedFiles(request);
    const string = request.reference_string;
    const files = Object.fromEntries(names.map((name) => [name, { sha256: request[name]?.sha256 ?? null }]));
    const expiresAtMs = this.#with.clock.nowMs() + WAIT_HOURS * 3_600_000;
    const held = names.flatMap((name) => {
      const sha256 = request[name]?.sha256;
      return sha256 !== undefined && this.#with.repository.hasArtifact(owner, sha256) ? [{ name, sha256 }] : [];
    });
    return await this.#holdAll(held, {}, async (artifacts) =>
      use(artifacts, {
        files,
        expires_at: isoTimestamp(expiresAtMs),
        ...(string === undefined ? {} : { reference_string: string.sha256 }),
      }),
    );
  }

  /**
   * Takes a file, or a part of it.
   * @throws AppError `not_found`, `upload_not_expected`, and as `Uploads.take`
   */
  async take(owner: Subject, proverId: string, name: string, body: StreamedBody): Promise<ProverArtifact> {
    const prover = this.#find(owner, proverId).value;
    const file = expectedFile(prover, name);
    const key = { owner: formatSubject(owner), proverId, name };
    const said = file.sha256;
    const finished = await this.#receive(owner, key, { body, said });
    if (finished === undefined) {
      const { sha256 = said } = body;
      const bytes = body.part?.total ?? body.bytes;
      return { name, sha256: sha256 ?? null, bytes, received: this.#with.uploads.received(key), complete: false };
    }
    const { sha256, writer } = finished;
    return await this.#with.files.holdFile(
      sha256,
      async () => await writer.publish(),
      async (stored) => {
        await this.#attach(owner, proverId, { name: file.name, stored });
        return { name, ...stored, received: stored.bytes, complete: true };
      },
    );
  }

  /** Returns how far the announced files of an import are; undefined when the prover does not wait for files. */
  progress(prover: StoredProver): ProverArtifact[] | undefined {
    if (!isWaitingForFiles(prover)) return undefined;
    const owner = formatSubject(prover.build.owner);
    return importFiles(prover).map(({ name, sha256, stored }) => ({
      name,
      sha256: sha256 ?? null,
      bytes: stored?.bytes ?? null,
      received: stored?.bytes ?? this.#with.uploads.received({ owner, proverId: prover.id, name }),
      complete: stored !== undefined,
    }));
  }

  /** Drops what is being uploaded for a prover, which is deleted or has failed. */
  async discard(owner: Subject, proverId: string): Promise<void> {
    await this.#with.uploads.discard(formatSubject(owner), proverId);
  }

  /**
   * Drops what comes to this node for provers that another node has deleted, failed or given their files. It counts no
   * more when this returns; a file that cannot be removed is removed at the next start.
   * @param keys those of the provers
   */
  follow(keys: readonly StoreKey[]): void {
    const changed = new Set(keys.map((key) => key.at(-1)));
    const isOver = ({ owner, proverId, name }: UploadKey): boolean => {
      if (!changed.has(proverId)) return false;
      const subject = parseSubject(owner);
      const prover = subject === undefined ? undefined : this.#with.repository.find(subject, proverId)?.value;
      return prover === undefined || !isExpected(prover, name);
    };
    this.#with.uploads.dropWhere(isOver).catch(() => undefined);
  }

  /** Begins to drop uploads that stopped, and to fail imports whose time is up; now and every minute. */
  async start(): Promise<void> {
    await this.#rounds.start();
  }

  /** Ends the sweeping. */
  stop(): void {
    this.#rounds.stop();
  }

  /** Drops uploads that stopped and fails imports whose time is up. One that cannot end holds up no other. */
  async sweep(): Promise<void> {
    await this.#with.uploads.sweep();
    const nowMs = this.#with.clock.nowMs();
    for (const record of this.#with.repository.waitingImports()) {
      const { build, id } = record.value;
      if (build.import === undefined || Date.parse(build.import.expires_at) > nowMs) continue;
      try {
        await this.#expire(record);
      } catch (error) {
        // Its last file may have come just now.
        if (!(error instanceof StoreConflict)) this.#with.log.error("import not ended", { prover_id: id, error });
      }
    }
  }

  /** @throws what became of the prover of an upload that was dropped meanwhile */
  async #receive(
    owner: Subject,
    key: UploadKey,
    { body, said }: { readonly body: StreamedBody; readonly said: string | undefined },
  ): Promise<FinishedUpload | undefined> {
    try {
      return await this.#with.uploads.take(key, body, { said, heldBytes: this.#heldBytes(owner) });
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found")
        expectedFile(this.#find(owner, key.proverId).value, key.name);
      throw error;
    }
  }

  async #expire(record: StoreRecord<StoredProver>): Promise<void> {
    const { build, id, updated_at } = record.value;
    const reason = `the files of the import did not come within ${String(WAIT_HOURS)} hours`;
    const failed: StoredProver = {
      ...record.value,
      status: "failed",
      errors: [diagnostic("import_expired", reason)],
      updated_at: isoTimestamp(Math.max(this.#with.clock.nowMs(), Date.parse(updated_at) + 1)),
      build: { ...build, artifacts: {} },
    };
    const events = this.#with.events.commitOf(statusEvents(failed, "failed"));
    await this.#with.store.commit(mergeCommits(this.#with.repository.update(record, failed), events));
    this.#with.watch.notify(id);
    await this.discard(build.owner, id);
    for (const { sha256 } of Object.values(build.artifacts)) await this.#with.files.removeUnused(sha256);
  }

  async #holdAll<Result>(
    left: readonly { readonly name: ImportFileName; readonly sha256: string }[],
    held: ArtifactSet,
    use: (artifacts: ArtifactSet) => Promise<Result>,
  ): Promise<Result> {
    const [next, ...rest] = left;
    if (next === undefined) return await use(held);
    return await this.#with.files.holdFile(
      next.sha256,
      async () => await this.#with.files.verifyKept(next.sha256),
      async (file) => await this.#holdAll(rest, { ...held, [artifactOf(next.name)]: file }, use),
    );
  }

  /** Writes the file into the record, with the job when it was the last one. */
  async #attach(
    owner: Subject,
    proverId: string,
    { name, stored }: { readonly name: ImportFileName; readonly stored: ArtifactReference },
  ): Promise<void> {
    for (let tries = 0; tries < ATTACH_TRIES_MAX; tries += 1) {
      const record = this.#find(owner, proverId);
      expectedFile(record.value, name);
      const { build, updated_at } = record.value;
      const next: StoredProver = {
        ...record.value,
        updated_at: isoTimestamp(Math.max(this.#with.clock.nowMs(), Date.parse(updated_at) + 1)),
        build: { ...build, artifacts: { ...build.artifacts, [artifactOf(name)]: stored } },
      };
      const job = isWaitingForFiles(next) ? {} : this.#with.queue.prepare(owner, proverId);
      try {
        await this.#with.store.commit(mergeCommits(this.#with.repository.update(record, next), job));
        this.#with.queue.wake();
        return;
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error;
      }
    }
    throw new AppError("conflict", { message: "the prover keeps changing; send the file again" });
  }

  #heldBytes(owner: Subject): number {
    return this.#with.repository
      .unfinishedImports(owner)
      .flatMap(({ value }) => importFiles(value))
      .reduce((sum, { stored }) => sum + (stored?.bytes ?? 0), 0);
  }

  #find(owner: Subject, id: string): StoreRecord<StoredProver> {
    const found = this.#with.repository.find(owner, id);
    if (found === undefined) throw notFound("prover");
    return found;
  }
}
