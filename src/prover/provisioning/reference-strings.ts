/**
 * The structured reference strings from which the keys of universal systems follow, and phase 1 of Groth16 where it is
 * asked for: kept as artifacts by their hash and shared by all provers of the server. Published ones come first; where
 * none is large enough, a development string is made for a universal system, once for each size, on servers that may.
 */
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { KeyedMutex } from "../../platform/concurrency/keyed-mutex.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import type { ComputeOptions, ProverCompute, ReferenceStringFile, StepFailure } from "../compute/compute.js";
import type { NeededPowers } from "../reference-strings/node-folders.js";
import type { PublishedStrings } from "../reference-strings/published-strings.js";
import type { KeptReferenceString, ProverRepository, StoredProver } from "../repository.js";
import { diagnostic } from "./diagnostics.js";

interface ReferenceStringsDependencies {
  readonly store: Store;
  readonly repository: ProverRepository;
  readonly artifacts: Artifacts;
  readonly compute: Pick<ProverCompute, "makeReferenceString">;
  /** The files of the operator's folder, and of other nodes' folders. */
  readonly published: Pick<PublishedStrings, "hasFiles" | "isElsewhere" | "isFor" | "take">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Asks for the best published string. */
export const PUBLISHED = "published";
/** Smaller circuits share one string of this power, which is made in less than a second. */
const DEVELOPMENT_POWER_MIN = 10;
/** More than provers can be in provisioning at once. */
const WAITING_MAX = 10_000;

const ORDER = { ceremony: 0, development: 1 } as const satisfies Record<KeptReferenceString["origin"], number>;

/** A node of a cluster has no string that is needed, and another has a file that may be one: the job is its. */
export class StringElsewhere extends Error {
  override readonly name = "StringElsewhere";
  readonly needed: NeededPowers;

  constructor(needed: NeededPowers) {
    super("another node has a powers-of-tau file that may do");
    this.needed = needed;
  }
}

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
   * Returns the strings of a curve in the order in which they are to be taken: published ones first, of these prepared
   * ones first, and smaller ones first among each. Development strings are left out on servers that may not make any.
   */
  list(curve: CurveName): KeptReferenceString[] {
    return this.#with.repository
      .referenceStrings(curve)
      .filter(({ origin }) => origin === "ceremony" || this.#makesOwn)
      .sort(
        (one, two) =>
          ORDER[one.origin] - ORDER[two.origin] ||
          Number(one.is_plain ?? false) - Number(two.is_plain ?? false) ||
          one.power - two.power,
      );
  }

  /**
   * Requires that keys of a universal system may come to be.
   * @throws AppError `prover_unsupported` where no string is kept, none is published and none may be made
   */
  requireSource(curve: CurveName): void {
    if (this.#makesOwn || this.#with.published.hasFiles || this.list(curve).length > 0) return;
    throw new AppError("prover_unsupported", {
      message:
        "this scheme takes a published reference string in production: upload a .ptau file, or name a folder of them in PROOFWRIGHT_PTAU_DIR",
    });
  }

  /**
   * Requires that phase 1 of a Groth16 key may come to be as it is asked for.
   * @param phase1 SHA-256 of a published string, or `PUBLISHED`
   * @throws AppError `invalid_request` for a string that is not kept, `prover_unsupported` where there is none at all
   */
  requirePhase1(curve: CurveName, phase1: string): void {
    if (phase1 === PUBLISHED) {
      if (this.#with.published.hasFiles || this.#phase1Strings(curve, phase1).length > 0) return;
      throw new AppError("prover_unsupported", {
        message:
          "no powers-of-tau file is published here: upload one, or name a folder of them in PROOFWRIGHT_PTAU_DIR",
      });
    }
    if (this.#phase1Strings(curve, phase1).length === 0)
      throw invalidMember("phase1", "no published reference string that was checked has this SHA-256");
  }

  /**
   * Returns the files from which phase 1 may be taken, in the order of `list`.
   * @throws AppError `artifact_corrupt`
   */
  async phase1Files(curve: CurveName, phase1: string): Promise<ReferenceStringFile[]> {
    const files: ReferenceStringFile[] = [];
    for (const { sha256, power } of this.#phase1Strings(curve, phase1)) files.push(await this.file(sha256, power));
    return files;
  }

  /**
   * Makes sure that there is a published string of at least this power for a phase 1.
   * @throws StringElsewhere
   */
  async ensurePhase1(
    curve: CurveName,
    { phase1, power }: { readonly phase1: string; readonly power: number },
    options: ComputeOptions,
  ): Promise<StepFailure | undefined> {
    if (phase1 === PUBLISHED && (await this.#with.published.take(curve, power, options)) !== undefined)
      return undefined;
    if (phase1 === PUBLISHED) await this.#leaveToOthers({ curve, power });
    const which = phase1 === PUBLISHED ? "no published one has" : `that of ${phase1} does not have`;
    const message = `the circuit takes powers of tau of 2^${String(power)} over ${curve}, which ${which}`;
    return { ok: false, errors: [diagnostic("reference_string_missing", message)] };
  }

  /**
   * Tells whether the keys of a prover still follow from the string that is to be taken: nothing that comes before its
   * own has been published since.
   */
  isStillFirst(curve: CurveName, { setup, created_at }: Pick<StoredProver, "setup" | "created_at">): boolean {
    const strings = this.list(curve);
    const own = strings.findIndex(({ sha256 }) => sha256 === setup?.sha256);
    const found = strings[own];
    if (found === undefined || (found.origin === "development" && this.#with.published.hasFiles)) return false;
    return strings.slice(0, own).every((string) => string.created_at < created_at);
  }

  /** Tells whether a published string is among those that are to be taken. */
  isKept(curve: CurveName, sha256: string): boolean {
    return this.#phase1Strings(curve, sha256).length > 0;
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
      if (origin === "ceremony" || isEnsured || !this.#with.published.hasFiles)
        files.push(await this.file(sha256, power));
    return files;
  }

  /**
   * Returns the file of a string after checking it against its hash, as files that did not change since are not again.
   * @throws AppError `artifact_corrupt`
   */
  async file(sha256: string, power: number): Promise<ReferenceStringFile> {
    await this.#with.artifacts.verify(sha256);
    return { sha256, power, path: await this.#with.artifacts.resolve(sha256) };
  }

  /**
   * Makes sure that there is a string of at least this power: a published one if the folder has it, which is checked
   * first, else a development string.
   * @throws StringElsewhere
   */
  async ensure(curve: CurveName, power: number, options: ComputeOptions): Promise<StepFailure | undefined> {
    const make = async (): Promise<StepFailure | undefined> => {
      if ((await this.#with.published.take(curve, power, options)) !== undefined) return undefined;
      if (this.list(curve).some((string) => string.power >= power)) return undefined;
      await this.#leaveToOthers({ curve, power });
      if (this.#makesOwn) return await this.#make(curve, Math.max(DEVELOPMENT_POWER_MIN, power), options);
      const message = `the circuit takes a reference string of 2^${String(power)} over ${curve}, and no file of that size was uploaded or is in the folder that PROOFWRIGHT_PTAU_DIR names`;
      return { ok: false, errors: [diagnostic("reference_string_missing", message)] };
    };
    return await this.#making.run(curve, make, options);
  }

  /** Whether this node is one to make keys of a prover that another has left because of its string. */
  isFor(needed: NeededPowers): boolean {
    return this.#with.published.isFor(needed);
  }

  async #leaveToOthers(needed: NeededPowers): Promise<void> {
    if (await this.#with.published.isElsewhere(needed)) throw new StringElsewhere(needed);
  }

  #phase1Strings(curve: CurveName, phase1: string): KeptReferenceString[] {
    return this.list(curve).filter(
      ({ origin, sha256 }) => origin === "ceremony" && (phase1 === PUBLISHED || phase1 === sha256),
    );
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
