/**
 * Files of a prover that are made when they are first asked for, and are then named in its record. Each is made once
 * for all who ask meanwhile, and goes on being made when they are gone. What is being made is in this process's memory:
 * two processes would make the same file.
 */
import type { Subject } from "../platform/auth/principal.js";
import { unlessAborted } from "../platform/concurrency/unless-aborted.js";
import { AppError, notFound, type ErrorCode } from "../platform/errors.js";
import { Lane } from "../platform/pool/lane.js";
import type { ArtifactReference } from "../platform/store/artifacts.js";
import type { Store } from "../platform/store/store.js";
import { retryOnConflict } from "../platform/store/tables.js";
import type { SourceFiles } from "./provisioning/source-files.js";
import type { ArtifactName, ProverRepository, StoredProver } from "./repository.js";

/** Names of these files, in records and in paths of downloads. */
export const MADE_FILES = {
  /** The Solidity contract that verifies the prover's proofs. */
  contract: "verifier.sol",
  /** An example of a contract that calls it. */
  caller: "verifier_caller.sol",
  /** The proving key as snarkjs' file. */
  zkey: "proving_key.zkey",
} as const satisfies Readonly<Record<string, ArtifactName>>;

export type MadeFileName = (typeof MADE_FILES)[keyof typeof MADE_FILES];

/** Who asks, and how long. */
export interface Asker {
  readonly subject: Subject;
  /** Its abort ends the wait, and not the making. */
  readonly signal?: AbortSignal;
}

/** A file that was made on disk. */
export interface MadeOnDisk {
  readonly sha256: string;
  /** Makes it an artifact. */
  publish(): Promise<ArtifactReference>;
  /** Deletes it unless it was published. Never rejects. */
  discard(): Promise<void>;
}

/** Makes the content of a file, in memory or on disk; it heeds the signal. */
type Make = (options: MakeOptions) => Promise<Uint8Array | MadeOnDisk>;

/** In whose turn a file is made, and for how long. */
export interface MakeOptions {
  readonly owner: string;
  readonly signal: AbortSignal;
}

interface MadeFilesOptions {
  /** The file that this makes. */
  readonly name: MadeFileName;
  /** Time that one file may take from the begin of its turn. */
  readonly makeMs: number;
  /** How long one asker waits. */
  readonly waitMs: number;
  /** Files that are made at a time, and askers' files that wait, by turns; without it, the work has its own turns. */
  readonly lane?: { readonly places: number; readonly queueLengthMax: number };
}

interface MadeFilesDependencies {
  readonly store: Pick<Store, "commit">;
  readonly repository: Pick<ProverRepository, "find" | "update">;
  readonly files: Pick<SourceFiles, "hold" | "holdFile">;
  /** The name under which a subject's work waits for its turn. */
  readonly turnOf: (subject: Subject) => string;
}

interface Making {
  readonly turn: string;
  readonly file: Promise<ArtifactReference>;
}

/** What one asker runs into, and another need not. */
const OWN_TURN: ReadonlySet<ErrorCode> = new Set(["overloaded", "deadline_exceeded", "too_many_requests"]);
const RETRY_AFTER_SEC = 10;

export class MadeFiles {
  readonly #options: MadeFilesOptions;
  readonly #with: MadeFilesDependencies;
  readonly #lane: Lane | undefined;
  /** By prover. */
  readonly #making = new Map<string, Making>();

  constructor(options: MadeFilesOptions, dependencies: MadeFilesDependencies) {
    this.#options = options;
    this.#with = dependencies;
    if (options.lane !== undefined) this.#lane = new Lane({ name: options.name, ...options.lane });
  }

  /**
   * Returns the prover's file, after making it if nobody has asked before. An asker who joins others gets what they
   * get, but for failures of their turn: then it tries again in its own.
   * @throws AppError `deadline_exceeded` when the file is still being made after `waitMs`, `overloaded`, `not_found`
   *   when the prover is deleted meanwhile, `storage_full`, what `make` throws; the asker's reason
   */
  async get(prover: StoredProver, asker: Asker, make: Make): Promise<ArtifactReference> {
    asker.signal?.throwIfAborted();
    const wait = new AbortController();
    const giveUp = (): void => {
      wait.abort(asker.signal?.reason);
    };
    const timer = setTimeout(() => {
      wait.abort(this.#stillMade());
    }, this.#options.waitMs);
    asker.signal?.addEventListener("abort", giveUp, { once: true });
    try {
      return await this.#join(prover, { turn: this.#with.turnOf(asker.subject), signal: wait.signal }, make);
    } finally {
      clearTimeout(timer);
      asker.signal?.removeEventListener("abort", giveUp);
    }
  }

  async #join(
    prover: StoredProver,
    { turn, signal }: { readonly turn: string; readonly signal: AbortSignal },
    make: Make,
  ): Promise<ArtifactReference> {
    for (;;) {
      const making = this.#making.get(prover.id) ?? this.#begin(prover, turn, make);
      try {
        return await unlessAborted(making.file, signal);
      } catch (error) {
        const isOfTurn = error instanceof AppError && OWN_TURN.has(error.code);
        if (signal.aborted || making.turn === turn || !isOfTurn) throw error;
      }
    }
  }

  #begin(prover: StoredProver, turn: string, make: Make): Making {
    const work = async (): Promise<ArtifactReference> => await this.#make(prover, turn, make);
    const file = (this.#lane === undefined ? work() : this.#lane.run({ owner: turn }, work)).finally(() => {
      this.#making.delete(prover.id);
    });
    // Whoever asked may be gone when it fails.
    file.catch(() => undefined);
    const making = { turn, file };
    this.#making.set(prover.id, making);
    return making;
  }

  async #make({ id, build: { owner } }: StoredProver, turn: string, make: Make): Promise<ArtifactReference> {
    // Made, or deleted, while this waited for its turn.
    const record = this.#find(owner, id);
    const kept = record.value.build.artifacts[this.#options.name];
    if (kept !== undefined) return kept;
    const time = new AbortController();
    const timer = setTimeout(() => {
      time.abort(new AppError("deadline_exceeded", { message: `${this.#options.name} took too long to make` }));
    }, this.#options.makeMs);
    try {
      const made = await make({ owner: turn, signal: time.signal });
      const name = async (file: ArtifactReference): Promise<ArtifactReference> => {
        await this.#record(owner, id, file);
        return file;
      };
      if (made instanceof Uint8Array) return await this.#with.files.hold(made, name);
      try {
        return await this.#with.files.holdFile(made.sha256, async () => await made.publish(), name);
      } finally {
        await made.discard();
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async #record(owner: Subject, id: string, { sha256, bytes }: ArtifactReference): Promise<void> {
    await retryOnConflict(async () => {
      const record = this.#find(owner, id);
      const { build } = record.value;
      const artifacts = { ...build.artifacts, [this.#options.name]: { sha256, bytes } };
      await this.#with.store.commit(
        this.#with.repository.update(record, { ...record.value, build: { ...build, artifacts } }),
      );
    });
  }

  #find(owner: Subject, id: string): NonNullable<ReturnType<ProverRepository["find"]>> {
    const record = this.#with.repository.find(owner, id);
    if (record === undefined) throw notFound("prover");
    return record;
  }

  #stillMade(): AppError {
    const retryAfterSec = RETRY_AFTER_SEC;
    const message = `${this.#options.name} is still being made; ask again in ${String(retryAfterSec)} s`;
    return new AppError("deadline_exceeded", { message, retryAfterSec });
  }
}
