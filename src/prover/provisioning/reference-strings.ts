/**
 * The structured reference strings from which the keys of universal systems follow: kept as artifacts by their hash and
 * shared by all provers of the server. Where none is large enough, a development string is made, once for each size.
 */
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { KeyedMutex } from "../../platform/concurrency/keyed-mutex.js";
import type { Log } from "../../platform/log.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import type { ComputeOptions, ProverCompute, ReferenceStringFile, StepFailure } from "../compute/compute.js";
import type { KeptReferenceString, ProverRepository } from "../repository.js";

interface ReferenceStringsDependencies {
  readonly store: Store;
  readonly repository: ProverRepository;
  readonly artifacts: Artifacts;
  readonly compute: Pick<ProverCompute, "makeReferenceString">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Smaller circuits share one string of this power, which is made in less than a second. */
const DEVELOPMENT_POWER_MIN = 10;
/** More than provers can be in provisioning at once. */
const WAITING_MAX = 10_000;

export class ReferenceStrings {
  readonly #with: ReferenceStringsDependencies;
  /** Spares this process a string that another prover's job is making; a second one would do no harm. */
  readonly #making = new KeyedMutex({ waitingMax: WAITING_MAX });

  constructor(dependencies: ReferenceStringsDependencies) {
    this.#with = dependencies;
  }

  /** Returns the strings of a curve in the order in which they are to be taken: smaller ones first. */
  list(curve: CurveName): KeptReferenceString[] {
    return this.#with.repository.referenceStrings(curve).sort((one, two) => one.power - two.power);
  }

  /** Finds a string by the SHA-256 of its file. */
  find(curve: CurveName, sha256: string): KeptReferenceString | undefined {
    return this.list(curve).find((string) => string.sha256 === sha256);
  }

  /**
   * Returns the files of a curve's strings for a process, in the order of `list`.
   * @throws AppError `artifact_corrupt`
   */
  async files(curve: CurveName): Promise<ReferenceStringFile[]> {
    const files: ReferenceStringFile[] = [];
    for (const { sha256, power } of this.list(curve)) files.push(await this.file(sha256, power));
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

  /** Makes sure that there is a string of at least this power: a development string unless there is one. */
  async ensure(curve: CurveName, power: number, options: ComputeOptions): Promise<StepFailure | undefined> {
    return await this.#making.run(curve, async () => {
      if (this.list(curve).some((string) => string.power >= power)) return undefined;
      return await this.#make(curve, Math.max(DEVELOPMENT_POWER_MIN, power), options);
    });
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
