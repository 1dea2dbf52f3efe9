/**
 * The structured reference strings from which the keys of universal systems follow: kept as artifacts by their hash and
 * shared by all provers of the server. Published ones come first; where none is large enough, a development string is
 * made, once for each size, on servers that may.
 */
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { KeyedMutex } from "../../platform/concurrency/keyed-mutex.js";
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import type { ComputeOptions, ProverCompute, ReferenceStringFile, StepFailure } from "../compute/compute.js";
import type { PublishedStrings } from "../reference-strings/published-strings.js";
import type { KeptReferenceString, ProverRepository, StoredProver } from "../repository.js";
import { diagnostic } from "./diagnostics.js";

interface ReferenceStringsDependencies {
  readonly store: Store;
  readonly repository: ProverRepository;
  readonly artifacts: Artifacts;
  readonly compute: Pick<ProverCompute, "makeReferenceString">;
  /** The files of the operator's folder. */
  readonly published: Pick<PublishedStrings, "hasFolder" | "take">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Smaller circuits share one string of this power, which is made in less than a second. */
const DEVELOPMENT_POWER_MIN = 10;
/** More than provers can be in provisioning at once. */
const WAITING_MAX = 10_000;

const ORDER = { ceremony: 0, development: 1 } as const satisfies Record<KeptReferenceString["origin"], number>;

export class ReferenceStrings {
  readonly #makesOwn: boolean;
  readonly #with: ReferenceStringsDependencies;
  /** Spares this process a string that another prover's job is making; a second one would do no harm. */
  readonly #making = new KeyedMutex({ waitingMax: WAITING_MAX });

  /** @param options.makesOwn whether a development string may be made */
  constructor(options: { readonly makesOwn: boolean }, dependencies: ReferenceStringsDependencies) {
    this.#makesOwn = options.makesOwn;
    this.#with = dependencies;
  }

  /**
   * Returns the strings of a curve in the order in which they are to be taken: published ones first, and smaller ones
   * first among each. Development strings are left out on servers that may not make any.
   */
  list(curve: CurveName): KeptReferenceString[] {
    return this.#with.repository
      .referenceStrings(curve)
      .filter(({ origin }) => origin === "ceremony" || this.#makesOwn)
      .sort((one, two) => ORDER[one.origin] - ORDER[two.origin] || one.power - two.power);
  }

  /**
   * Requires that keys of a universal system may come to be.
   * @throws AppError `prover_unsupported` where no string is kept, none is published and none may be made
   */
  requireSource(curve: CurveName): void {
    if (this.#makesOwn || this.#with.published.hasFolder || this.list(curve).length > 0) return;
    throw new AppError("prover_unsupported", {
      message:
        "this scheme takes a published reference string in production: name a folder of .ptau files in PROOFWRIGHT_PTAU_DIR",
    });
  }

  /**
   * Tells whether the keys of a prover still follow from the string that is to be taken: nothing that comes before its
   * own has been published since.
   */
  isStillFirst(curve: CurveName, { setup, created_at }: Pick<StoredProver, "setup" | "created_at">): boolean {
    const strings = this.list(curve);
    const own = strings.findIndex(({ sha256 }) => sha256 === setup?.sha256);
    const found = strings[own];
    if (found === undefined || (found.origin === "development" && this.#with.published.hasFolder)) return false;
    return strings.slice(0, own).every((string) => string.created_at < created_at);
  }

  /** Finds a string by the SHA-256 of its file. */
  find(curve: CurveName, sha256: string): KeptReferenceString | undefined {
    return this.#with.repository.referenceStrings(curve).find((string) => string.sha256 === sha256);
  }

  /**
   * Returns the files of a curve's strings for a process, in the order of `list`. Before `ensure` was asked for a
   * power, development strings are left out where a folder may have a published one that is not checked yet.
   * @throws AppError `artifact_corrupt`
   */
  async files(curve: CurveName, { isEnsured }: { readonly isEnsured: boolean }): Promise<ReferenceStringFile[]> {
    const files: ReferenceStringFile[] = [];
    for (const { sha256, power, origin } of this.list(curve))
      if (origin === "ceremony" || isEnsured || !this.#with.published.hasFolder)
        files.push(await this.file(sha256, power));
    return files;
  }

  /**
   * Returns the file of a string after checking it against its hash, as files that did not change since are not again.
   * @throws AppError `artifact_corrupt`
   */
  async file(sha256: string, power: number): Promise<ReferenceStringFile> {
    await this.#with.artifacts.verify(sha256);
    return { sha256, power, path: this.#with.artifacts.resolve(sha256) };
  }

  /**
   * Makes sure that there is a string of at least this power: a published one if the folder has it, which is checked
   * first, else a development string.
   */
  async ensure(curve: CurveName, power: number, options: ComputeOptions): Promise<StepFailure | undefined> {
    const make = async (): Promise<StepFailure | undefined> => {
      if ((await this.#with.published.take(curve, power, options)) !== undefined) return undefined;
      if (this.list(curve).some((string) => string.power >= power)) return undefined;
      if (this.#makesOwn) return await this.#make(curve, Math.max(DEVELOPMENT_POWER_MIN, power), options);
      const message = `the circuit takes a reference string of 2^${String(power)} over ${curve}, and no prepared file of that size is in the folder that PROOFWRIGHT_PTAU_DIR names`;
      return { ok: false, errors: [diagnostic("reference_string_missing", message)] };
    };
    return await this.#making.run(curve, make, options);
  }

  /** Prepares the record of a string whose file is among the artifacts. */
  insert(string: KeptReferenceString): StoreCommit {
    return this.#with.repository.putReferenceString(string);
  }

  async #make(curve: CurveName, power: number, options: ComputeOptions): Promise<StepFailure | undefined> {
    const made = await this.#with.compute.makeReferenceString({ curve, power }, options);
    if (!made.ok) return made;
    const { sha256, bytes } = await this.#with.artifacts.put(made.value);
    const created_at = isoTimestamp(this.#with.clock.nowMs());
    await this.#with.store.commit(this.insert({ curve, power, sha256, bytes, origin: "development", created_at }));
    this.#with.log.warn("made a reference string for development; its keys are trusted as far as this server", {
      kind: `${curve} 2^${String(power)}`,
      bytes,
    });
    return undefined;
  }
}
