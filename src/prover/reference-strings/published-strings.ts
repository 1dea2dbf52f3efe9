/**
 * Published powers-of-tau files: found in the operator's folder or uploaded, checked in full the first time one is
 * wanted, and kept as a whole among the artifacts, so that their hash is the one that the ceremony has published.
 * Records and files are in the store; what is in memory is the progress of checks. Each node of a cluster has a folder
 * of its own: a file of the same name and content is checked once, whichever node does it.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import type { CheckPowersResult, CheckedPowers } from "../../engine/powers-of-tau/check-powers.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { KeyedMutex } from "../../platform/concurrency/keyed-mutex.js";
import { AppError, invalidMember, notFound } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { ProcessTaskFailure, ProcessTaskResult } from "../../platform/pool/process-task.js";
import type { ArtifactReference, Artifacts } from "../../platform/store/artifacts.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import type { NeededPowers, NodeFolders } from "./node-folders.js";
import { findPowersFiles, readClaim, type ClaimedPowers, type FoundFile } from "./powers-folder.js";
import {
  contentOf,
  isAbout,
  type PowersFault,
  type PowersRecord,
  type PowersRecords,
  type PublishedString,
} from "./powers-records.js";
import type { ReferenceString, ReferenceStringDetails } from "./reference-string-schemas.js";
import type { UploadedStrings } from "./uploaded-strings.js";

interface CheckOptions {
  readonly signal?: AbortSignal;
  /** Called with the share that is done, 0 to 1. */
  readonly onProgress?: (share: number) => void;
}

export interface PublishedStringsDependencies {
  readonly store: Pick<Store, "commit">;
  readonly records: PowersRecords;
  readonly artifacts: Pick<Artifacts, "put" | "remove" | "resolve">;
  /** Checks a file in a process of its own. */
  readonly check: (path: string, options: CheckOptions) => Promise<ProcessTaskResult<CheckPowersResult>>;
  /** What else is written with a string that passed. */
  readonly keep: (string: PublishedString, createdAt: string) => StoreCommit;
  /** Files that administrators upload. */
  readonly uploads: Pick<UploadedStrings, "found" | "remove" | "waiting">;
  /** What lies in the folders of other nodes. */
  readonly folders: Pick<NodeFolders, "hasElsewhere" | "isFor" | "others" | "tell">;
  /** What is deleted with a string that nobody uses any more. */
  readonly forget: (string: PublishedString) => StoreCommit;
  /** Whether keys of a prover follow from the string. */
  readonly isUsed: (sha256: string) => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

interface Refusal {
  readonly fault: PowersFault;
  readonly message: string;
}

/** Limits of the check that the same content would meet again. */
const LIMIT_FAULTS: Partial<Record<ProcessTaskFailure["code"], PowersFault>> = {
  deadline: "check_too_long",
  memory: "check_too_large",
  output: "check_too_large",
};

/** Whether a file was refused for a limit: on another node, or another day, it may pass. */
function isOfLimit(fault: PowersFault): boolean {
  return Object.values(LIMIT_FAULTS).includes(fault);
}

/** More than any power. */
const PLAIN_RANK = 64;
/** More than a cluster has nodes. */
const IDENTITIES_MAX = 128;
/** Requests that may wait for the check of one file. */
const WAITING_MAX = 1_000;

export class PublishedStrings {
  readonly #folder: string | undefined;
  readonly #with: PublishedStringsDependencies;
  /** Checks run one after the other: each takes all cores. A second process may check the same file, to no harm. */
  readonly #checks = new KeyedMutex({ waitingMax: WAITING_MAX });
  /** Share of each file's check that this process has done. */
  readonly #progress = new Map<string, number>();
  /** The same of checks that jobs run, on whichever node. */
  readonly #progressOfJobs = new Map<string, number>();

  constructor(options: { readonly folder: string | undefined }, dependencies: PublishedStringsDependencies) {
    this.#folder = options.folder;
    this.#with = dependencies;
  }

  /**
   * Whether there may be files that were not checked yet: the operator has named a folder, some are uploaded, or
   * another node has some.
   */
  get hasFiles(): boolean {
    const { uploads, folders } = this.#with;
    return this.#folder !== undefined || uploads.found().length > 0 || folders.others().length > 0;
  }

  /**
   * Lists the files of the nodes' folders, those that are uploaded, and strings that are kept though their file is
   * gone.
   */
  async list(): Promise<ReferenceString[]> {
    const waiting = this.#with.uploads.waiting();
    const isWaiting = new Set(waiting.map(({ file }) => file));
    const found = (await this.#filesOfAll()).filter(({ file }) => !isWaiting.has(file));
    const names = new Set(found.map(({ file }) => file));
    const gone = this.#with.records.all().filter((record) => record.state === "checked" && !names.has(record.file));
    return [
      ...waiting.map((upload) => uploadOnWire(upload)),
      ...found.map((file) => this.#onWire(file.file, file.bytes, this.#recordOf(file))),
      ...gone.flatMap((record) =>
        record.state === "checked" ? [this.#onWire(record.file, record.string.bytes, record)] : [],
      ),
    ].sort((one, two) => (one.file < two.file ? -1 : 1));
  }

  /**
   * Returns a string that passed its check, with its contributions.
   * @throws not_found
   */
  get(sha256: string): ReferenceStringDetails {
    const record = this.#withHash(sha256);
    if (record?.state !== "checked") throw notFound("reference string");
    return {
      ...this.#onWire(record.file, record.string.bytes, record),
      contributions: [...record.string.contributions],
    };
  }

  /**
   * Tells that a file is in the folder, or was uploaded.
   * @throws invalid_request for a name that none of them has
   */
  async requireFile(name: string): Promise<ReferenceString> {
    const file = (await this.#filesOfAll()).find((found) => found.file === name);
    if (file === undefined)
      throw invalidMember("/file", "no such file was uploaded or is in the folder that PROOFWRIGHT_PTAU_DIR names");
    return this.#onWire(name, file.bytes, this.#recordOf(file));
  }

  /**
   * Requires that no file of the operator's folder has a name, on any node.
   * @throws AppError `conflict`
   */
  async requireNoFile(name: string): Promise<void> {
    const inFolders = [...(await findPowersFiles(this.#folder)), ...this.#with.folders.others()];
    if (inFolders.some(({ file }) => file === name))
      throw new AppError("conflict", {
        message: "a file of this name is in the folder that PROOFWRIGHT_PTAU_DIR names",
      });
  }

  /**
   * Returns an upload of which a part has come, or all.
   * @throws AppError `not_found`
   */
  async upload(name: string): Promise<ReferenceString> {
    const found = (await this.list()).find(({ file, uploaded }) => file === name && uploaded);
    if (found === undefined) throw notFound("upload");
    return found;
  }

  /**
   * Deletes an upload and the string that came of it.
   * @throws AppError `not_found`, `conflict` while it is checked, or while keys of a prover follow from it
   */
  async deleteUpload(name: string): Promise<void> {
    const { records, uploads } = this.#with;
    if (this.#progressOf(name) !== undefined) throw new AppError("conflict", { message: "the file is being checked" });
    const record = records.findUpload(name) === undefined ? undefined : records.find(name);
    const string = record?.state === "checked" ? record.string : undefined;
    const isShared = records
      .all()
      .some((other) => other.file !== name && other.state === "checked" && other.string.sha256 === string?.sha256);
    if (string === undefined || isShared) {
      await uploads.remove(name, {});
      return;
    }
    if (this.#with.isUsed(string.sha256))
      throw new AppError("conflict", { message: "keys of provers follow from the string; delete these first" });
    await uploads.remove(name, this.#with.forget(string));
  }

  /** Whether a file is here to be checked: uploads are on all nodes, and a folder is one node's. */
  hasFile(name: string): boolean {
    if (this.#with.uploads.found().some(({ file }) => file === name)) return true;
    return this.#folder !== undefined && existsSync(join(this.#folder, name));
  }

  /** Takes notice of a check that a job runs; undefined when it has ended. */
  follow(name: string, share: number | undefined): void {
    if (share === undefined) this.#progressOfJobs.delete(name);
    else this.#progressOfJobs.set(name, share);
  }

  #progressOf(name: string): number | undefined {
    return this.#progress.get(name) ?? this.#progressOfJobs.get(name);
  }

  /**
   * Checks a file, unless its present content was checked before.
   * @returns undefined when the file is gone
   * @throws what ended the check: `storage_full` and the like, `internal_error` when the process was lost
   */
  async check(name: string, options: CheckOptions = {}): Promise<PowersRecord | undefined> {
    const checkNow = async (): Promise<PowersRecord | undefined> => {
      const file = (await this.#files()).find((found) => found.file === name);
      if (file === undefined) return undefined;
      const known = this.#recordOf(file);
      if (known !== undefined) return known;
      this.#progress.set(name, 0);
      try {
        return await this.#checkCopy(file, options);
      } finally {
        this.#progress.delete(name);
      }
    };
    return await this.#checks.run("check", checkNow, options);
  }

  /**
   * Makes sure that the best sound string of at least this power, if there is one, is checked and kept: a prepared one
   * before one that is not, the smallest of each. Files that were not checked are, from the best on, until one passes.
   * @throws what ended the check of a file, if no other one will do: a later try may succeed
   */
  async take(curve: CurveName, power: number, options: CheckOptions = {}): Promise<PublishedString | undefined> {
    const kept = this.#with.records
      .all()
      .flatMap((record) => (record.state === "checked" ? [record.string] : []))
      .filter((string) => string.curve === curve && string.power >= power);
    const best = kept.sort((one, two) => rankOf(one) - rankOf(two))[0];
    const unknown: { readonly file: FoundFile; readonly claim: ClaimedPowers }[] = [];
    for (const file of await this.#files()) {
      if (this.#recordOf(file) !== undefined) continue;
      const claim = await this.#claimOf(file);
      const fits = claim?.curve === curve && claim.power >= power;
      if (fits && (best === undefined || rankOf(claim) < rankOf(best))) unknown.push({ file, claim });
    }
    unknown.sort((one, two) => rankOf(one.claim) - rankOf(two.claim));
    const failures: unknown[] = [];
    for (const { file } of unknown) {
      try {
        const record = await this.check(file.file, options);
        if (record?.state === "checked") return record.string;
      } catch (error) {
        options.signal?.throwIfAborted();
        this.#with.log.warn("a powers-of-tau file could not be checked", { path: file.path ?? file.file, error });
        failures.push(error);
      }
    }
    if (best === undefined && failures.length > 0) throw failures[0];
    return best;
  }

  /**
   * Whether another node is to look for a string of at least this power, where `take` has found none here: it has a
   * file that may do.
   */
  async isElsewhere(needed: NeededPowers): Promise<boolean> {
    const { folders } = this.#with;
    // What is told of this node's folder may have been so a minute ago: two nodes must not leave a job to each other.
    await folders.tell();
    return folders.hasElsewhere(needed);
  }

  /** Whether this node is one to look for such a string, as `isElsewhere` has said before. */
  isFor(needed: NeededPowers): boolean {
    return this.#with.folders.isFor(needed);
  }

  /** What is here, and what other nodes have and nobody has checked. */
  async #filesOfAll(): Promise<Pick<FoundFile, "bytes" | "file" | "identity">[]> {
    const here = await this.#files();
    const names = new Set(here.map(({ file }) => file));
    const isNew = (file: string): boolean => !names.has(file) && this.#with.records.find(file)?.state !== "checked";
    return [...here, ...this.#with.folders.others().filter(({ file }) => isNew(file))];
  }

  /** The files of the folder and those that are uploaded, which come before others of their name. */
  async #files(): Promise<FoundFile[]> {
    const uploaded = this.#with.uploads.found();
    const names = new Set(uploaded.map(({ file }) => file));
    return [...(await findPowersFiles(this.#folder)).filter(({ file }) => !names.has(file)), ...uploaded];
  }

  /** Undefined for a file that could not be used, or is gone. */
  async #claimOf({ path, sha256 }: FoundFile): Promise<ClaimedPowers | undefined> {
    if (path !== undefined) return readClaim(path);
    try {
      return readClaim(await this.#with.artifacts.resolve(sha256));
    } catch (error) {
      if (error instanceof AppError && error.code === "artifact_corrupt") return undefined;
      throw error;
    }
  }

  async #checkCopy(file: FoundFile, options: CheckOptions): Promise<PowersRecord> {
    const { artifacts } = this.#with;
    const copy = file.path === undefined ? file : await artifacts.put({ path: file.path });
    const named = this.#with.records.find(file.file);
    const isNamed = named !== undefined && contentOf(named) === copy.sha256;
    const same = this.#withHash(copy.sha256);
    if (isNamed && named.state === "checked") return await this.#alsoAs(named, file);
    if (same?.state === "checked") return await this.#record(file, same.string);
    // An upload whose check is lost is checked again; there is no other copy of it.
    let isKept = file.path === undefined;
    try {
      if (isNamed && named.state === "refused" && !isOfLimit(named.fault)) {
        isKept = false;
        return await this.#alsoAs(named, file);
      }
      const outcome = await this.#with.check(await artifacts.resolve(copy.sha256), {
        ...options,
        onProgress: (share) => {
          this.#progress.set(file.file, share);
          options.onProgress?.(share);
        },
      });
      const result = outcome.ok ? outcome.value : { ...limitRefusal(file, outcome, options), ok: false as const };
      if (!result.ok) {
        const refused = await this.#refuse(file, copy.sha256, result);
        isKept = false;
        return refused;
      }
      const string = publishedString(copy, result.value);
      const record = await this.#record(file, string);
      isKept = true;
      return record;
    } finally {
      // A file of the same content may have been kept by a prover for another reason.
      if (!isKept && !this.#with.isUsed(copy.sha256)) await artifacts.remove(copy.sha256);
    }
  }

  /** Notes that the file of another node, or one that was put there again, has the content that was checked before. */
  async #alsoAs(known: PowersRecord, { identity }: FoundFile): Promise<PowersRecord> {
    const also = [...(known.also ?? []), identity].slice(-IDENTITIES_MAX);
    await this.#with.store.commit(this.#with.records.put({ ...known, also }));
    return { ...known, also };
  }

  async #refuse(file: FoundFile, sha256: string, { fault, message }: Refusal): Promise<PowersRecord> {
    this.#with.log.warn(`refused a powers-of-tau file: ${message}`, { path: file.path ?? file.file, code: fault });
    const refused: PowersRecord = { ...this.#checked(file, sha256), state: "refused", fault, message, sha256 };
    await this.#with.store.commit(this.#with.records.put(refused));
    return refused;
  }

  async #record(file: FoundFile, string: PublishedString): Promise<PowersRecord> {
    const record: PowersRecord = { ...this.#checked(file, string.sha256), state: "checked", string };
    await this.#with.store.commit(
      mergeCommits(this.#with.records.put(record), this.#with.keep(string, record.checked_at)),
    );
    this.#with.log.info("checked a powers-of-tau file", {
      path: file.path ?? file.file,
      kind: `${string.curve} 2^${string.power}`,
    });
    return record;
  }

  #checked(
    { file, identity }: FoundFile,
    sha256: string,
  ): Pick<PowersRecord, "file" | "identity" | "also" | "checked_at"> {
    const earlier = this.#with.records.find(file);
    const isSame = earlier !== undefined && contentOf(earlier) === sha256;
    const also = isSame ? [...(earlier.also ?? []), earlier.identity].slice(-IDENTITIES_MAX) : [];
    return { file, identity, also, checked_at: isoTimestamp(this.#with.clock.nowMs()) };
  }

  /** The record of the file's present content. */
  #recordOf({ file, identity }: Pick<FoundFile, "file" | "identity">): PowersRecord | undefined {
    const record = this.#with.records.find(file);
    return record !== undefined && isAbout(record, identity) ? record : undefined;
  }

  #withHash(sha256: string): PowersRecord | undefined {
    return this.#with.records.all().find((record) => record.state === "checked" && record.string.sha256 === sha256);
  }

  #onWire(file: string, bytes: number, record: PowersRecord | undefined): ReferenceString {
    const progress = this.#progressOf(file);
    const uploaded = this.#with.records.findUpload(file) !== undefined;
    const none = { sha256: null, curve: null, power: null, ceremony_power: null, prepared: null } as const;
    const common = {
      ...{ file, bytes, uploaded, received: bytes },
      origin: "ceremony",
      progress: null,
      contributions_checked: null,
      error: null,
    } as const;
    if (record === undefined || progress !== undefined)
      return {
        ...{ ...common, ...none, checked_at: null },
        ...(progress === undefined ? { state: "found" } : { state: "checking", progress }),
      };
    const { checked_at } = record;
    if (record.state === "refused")
      return {
        ...{ ...common, ...none, checked_at },
        ...{ state: "refused", error: { code: record.fault, message: record.message } },
      };
    const { sha256, curve, power, ceremony_power, prepared, contributions_checked } = record.string;
    return {
      ...{ ...common, checked_at, sha256, curve, power, ceremony_power, prepared, contributions_checked },
      state: "checked",
    };
  }
}

/** What is known of a file that is still coming. */
function uploadOnWire({
  file,
  bytes,
  received,
}: ReturnType<PublishedStringsDependencies["uploads"]["waiting"]>[number]): ReferenceString {
  return {
    ...{ file, bytes, received, uploaded: true, origin: "ceremony", state: "uploading", progress: received / bytes },
    ...{ error: null, sha256: null, curve: null, power: null, ceremony_power: null, prepared: null },
    ...{ contributions_checked: null, checked_at: null },
  };
}

/** Orders strings by how soon a key can be made: to make Lagrange points takes longer than to read any file. */
function rankOf({ prepared, power }: Pick<PublishedString, "prepared" | "power">): number {
  return prepared ? power : power + PLAIN_RANK;
}

/**
 * Why a file is refused whose check ended by a limit.
 * @throws the signal's reason; internal_error for what may pass on another try
 */
function limitRefusal({ file }: FoundFile, { code, message }: ProcessTaskFailure, options: CheckOptions): Refusal {
  options.signal?.throwIfAborted();
  const fault = LIMIT_FAULTS[code];
  if (fault !== undefined) return { fault, message: `the file is too large for this server's check: ${message}` };
  throw new AppError("internal_error", { message: `check of ${file}: ${message}` });
}

function publishedString({ sha256, bytes }: ArtifactReference, checked: CheckedPowers): PublishedString {
  return {
    sha256,
    bytes,
    curve: checked.curve,
    power: checked.power,
    ceremony_power: checked.ceremonyPower,
    prepared: checked.isPrepared,
    contributions: checked.contributions.map(({ name, isBeacon, responseHash }) => ({
      name: name ?? null,
      kind: isBeacon ? "beacon" : "contribution",
      response_hash: responseHash,
    })),
    contributions_checked: checked.areContributionsChecked,
  };
}
