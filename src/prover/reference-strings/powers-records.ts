/** What the server knows of published powers-of-tau files: one record a file that was checked, found by its name. */
import type { PowersOfTauFault } from "../../engine/powers-of-tau/powers-of-tau-error.js";
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";

/** Why a file is refused: what is wrong with it, or the limit at which its check was ended. */
export type PowersFault = PowersOfTauFault | "check_too_long" | "check_too_large";

/** A contribution to the ceremony, in the order of the file. A type, like everything that is stored as a value. */
export type PublishedContribution = {
  /** As the contributor wrote it; nobody vouches for it. */
  readonly name: string | null;
  readonly kind: "contribution" | "beacon";
  /** BLAKE2b-512 of what the contributor sent, hex. */
  readonly response_hash: string;
};

/** A file that passed. */
export type PublishedString = {
  readonly sha256: string;
  readonly bytes: number;
  readonly curve: CurveName;
  readonly power: number;
  readonly ceremony_power: number;
  readonly prepared: boolean;
  readonly contributions: readonly PublishedContribution[];
  readonly contributions_checked: boolean;
};

/** The same with the time of its check. */
export interface CheckedPowers extends PublishedString {
  readonly checked_at: string;
}

export type PowersRecord = {
  /** Name of the file in its folder. */
  readonly file: string;
  /** Changes when the file does: size, time of change and number of the file. */
  readonly identity: string;
  /** Identities of files of this name and content on other nodes. */
  readonly also?: readonly string[];
  readonly checked_at: string;
} & (
  | { readonly state: "checked"; readonly string: PublishedString }
  | {
      readonly state: "refused";
      readonly fault: PowersFault;
      readonly message: string;
      /** Absent in records of earlier versions. */
      readonly sha256?: string;
    }
);

/** Returns the hash of the content that a record is about. */
export function contentOf(record: PowersRecord): string | undefined {
  return record.state === "checked" ? record.string.sha256 : record.sha256;
}

/** Whether a record is about a file: one that is as it was when it was checked, on any node. */
export function isAbout({ identity, also = [] }: PowersRecord, found: string): boolean {
  return identity === found || also.includes(found);
}

/** A file that an administrator uploads, or has uploaded; what its check found is in its `PowersRecord`. */
export type PowersUpload = {
  readonly file: string;
  readonly begun_at: string;
  /** Names the place where it grows (`Artifacts.beginPartial`). */
  readonly partial: string;
  /** Length of the whole file. */
  readonly bytes: number;
  /** SHA-256 once it is complete. */
  readonly sha256: string | null;
};

const TABLE = "powers_of_tau";
/** Key: the name of the file. */
export const UPLOADS_TABLE = "powers_of_tau_upload";

export class PowersRecords {
  readonly #store: Pick<Store, "get" | "range">;

  constructor(dependencies: { readonly store: Pick<Store, "get" | "range"> }) {
    this.#store = dependencies.store;
  }

  /** Finds the record of a file. */
  find(file: string): PowersRecord | undefined {
    return this.#store.get<PowersRecord>([TABLE, file])?.value;
  }

  /** Finds a file that passed, by its SHA-256. */
  findChecked(sha256: string): CheckedPowers | undefined {
    const found = this.all().find((record) => record.state === "checked" && record.string.sha256 === sha256);
    return found?.state === "checked" ? { ...found.string, checked_at: found.checked_at } : undefined;
  }

  /** Returns the records of all files, by name. */
  all(): PowersRecord[] {
    return this.#store.range<PowersRecord>([TABLE]).map(({ value }) => value);
  }

  /** Prepares the removal of the record of a file. */
  remove(file: string): StoreCommit {
    return { deletes: [[TABLE, file]] };
  }

  /** Finds the upload of a file. */
  findUpload(file: string): PowersUpload | undefined {
    return this.#store.get<PowersUpload>([UPLOADS_TABLE, file])?.value;
  }

  /** Returns all uploads, by name. */
  uploads(): PowersUpload[] {
    return this.#store.range<PowersUpload>([UPLOADS_TABLE]).map(({ value }) => value);
  }

  /** Returns whether a file that was uploaded has this hash. */
  isUploaded(sha256: string): boolean {
    return this.uploads().some((upload) => upload.sha256 === sha256);
  }

  /** Prepares the record of an upload. */
  putUpload(upload: PowersUpload): StoreCommit {
    return { puts: [{ key: [UPLOADS_TABLE, upload.file], value: upload }] };
  }

  /** Prepares the removal of the record of an upload. */
  removeUpload(file: string): StoreCommit {
    return { deletes: [[UPLOADS_TABLE, file]] };
  }

  /** Prepares the record of a check that has ended; it replaces that of the file's earlier content. */
  put(record: PowersRecord): StoreCommit {
    return { puts: [{ key: [TABLE, record.file], value: record }] };
  }
}
