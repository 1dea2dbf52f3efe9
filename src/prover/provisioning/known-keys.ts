/**
 * Keys that an owner's other prover of the same circuit has: made and checked once, they serve each prover of the
 * circuit that does not ask for keys of its own. Never those of another owner: that a setup is quick would tell what
 * another has registered. Decides nothing about the record; the files are held until the caller's commit names them.
 */
import { formatSubject } from "../../platform/auth/principal.js";
import { AppError } from "../../platform/errors.js";
import type { ArtifactReference } from "../../platform/store/artifacts.js";
import type { Catalog } from "../catalog.js";
import { MADE_FILES } from "../made-files.js";
import type { ArtifactName, ArtifactSet, ProverRepository, StoredProver } from "../repository.js";
import type { Prover } from "../schemas.js";
import type { KeyPins } from "./key-pins.js";
import { PUBLISHED, type ReferenceStrings } from "./reference-strings.js";
import type { SourceFiles } from "./source-files.js";

interface KnownKeysDependencies {
  readonly catalog: Catalog;
  readonly repository: Pick<ProverRepository, "latestOfCircuit">;
  readonly files: Pick<SourceFiles, "holdFile" | "verifyKept">;
  readonly pins: Pick<KeyPins, "read">;
  readonly strings: Pick<ReferenceStrings, "isKept" | "isStillFirst">;
}

/** What a prover gets from another of its circuit: keys that have passed all gates. */
export interface TakenKeys {
  readonly setup: Prover["setup"];
  readonly artifacts: ArtifactSet;
}

/** A file was removed or damaged: the keys are made anew. */
class KeysGone extends Error {
  override readonly name = "KeysGone";
}

/** Provers that are looked at, the latest first: one of the first few has the keys. */
const LOOKED_AT_MAX = 16;
/**
 * Files that belong to a key. A reference string has a record of its own, which keeps it; contracts have the name of
 * their prover.
 */
const KEY_FILES: readonly ArtifactName[] = ["proving_key", "verifying_key.json", MADE_FILES.zkey];

export class KnownKeys {
  readonly #with: KnownKeysDependencies;

  constructor(dependencies: KnownKeysDependencies) {
    this.#with = dependencies;
  }

  /**
   * Looks for keys that a prover can take, and holds their files while `use` commits its record.
   * @returns false when there are none, or they are damaged, or the vault is sealed: the prover gets keys of its own
   * @throws what `use` throws
   */
  async take(prover: StoredProver, use: (keys: TakenKeys) => Promise<void>): Promise<boolean> {
    const giver = await this.#findGiver(prover);
    if (giver === undefined) return false;
    const { artifacts } = giver.build;
    const { reference_string } = artifacts;
    const files = KEY_FILES.flatMap((name) => {
      const file = artifacts[name];
      return file === undefined ? [] : [[name, file] as const];
    });
    const taken = { ...Object.fromEntries(files), ...(reference_string === undefined ? {} : { reference_string }) };
    const hashes = files.map(([, { sha256 }]) => sha256);
    try {
      await this.#holdAll(hashes, async () => {
        await use({ setup: giver.setup ?? null, artifacts: taken });
      });
      return true;
    } catch (error) {
      if (error instanceof KeysGone) return false;
      throw error;
    }
  }

  async #findGiver(prover: StoredProver): Promise<StoredProver | undefined> {
    const { build } = prover;
    if (build.has_own_keys === true) return undefined;
    const provers = this.#with.repository.latestOfCircuit(build.owner, build.circuit_hash, LOOKED_AT_MAX);
    for (const giver of provers) if (this.#fits(giver, prover) && (await this.#isPinned(giver))) return giver;
    return undefined;
  }

  #fits(giver: StoredProver, prover: StoredProver): boolean {
    const isAlike =
      giver.id !== prover.id &&
      giver.status === "provisioned" &&
      giver.build.has_own_keys !== true &&
      giver.build.gates_passed &&
      giver.provider === prover.provider &&
      giver.proving_scheme === prover.proving_scheme &&
      giver.curve === prover.curve &&
      giver.trusted_setup === prover.trusted_setup &&
      isSameCircuit(giver, prover);
    if (!isAlike) return false;
    const { stringCurve, setup } = this.#with.catalog.systemOf(giver);
    const { phase1 } = prover.build;
    const string = giver.setup ?? null;
    if (stringCurve === undefined || (setup !== "universal" && phase1 === undefined))
      return string === null && giver.build.phase1 === undefined;
    if (string === null) return false;
    // One that is asked for by its hash need not come first.
    if (phase1 !== undefined && phase1 !== PUBLISHED)
      return string.sha256 === phase1 && this.#with.strings.isKept(stringCurve, phase1);
    return giver.build.phase1 === phase1 && this.#with.strings.isStillFirst(stringCurve, giver);
  }

  /** The vault of the giver says which keys are its own: access to the disk must not be enough to pass on others. */
  async #isPinned(giver: StoredProver): Promise<boolean> {
    const asker = formatSubject(giver.build.owner);
    try {
      await this.#with.pins.read(giver, "proving_key", asker);
      await this.#with.pins.read(giver, "verifying_key", asker);
      return true;
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  }

  async #holdAll([sha256, ...rest]: readonly string[], use: () => Promise<void>): Promise<void> {
    if (sha256 === undefined) {
      await use();
      return;
    }
    const check = async (): Promise<ArtifactReference> => {
      try {
        return await this.#with.files.verifyKept(sha256);
      } catch (error) {
        if (error instanceof AppError && error.code === "artifact_corrupt") throw new KeysGone();
        throw error;
      }
    };
    await this.#with.files.holdFile(sha256, check, async () => {
      await this.#holdAll(rest, use);
    });
  }
}

/** The hash is of what is compiled; another compiler may have made other constraints of it. */
function isSameCircuit(one: StoredProver, other: StoredProver): boolean {
  const [first, second] = [one, other].map(({ build }) => build.artifacts["circuit.r1cs"]?.sha256);
  return first === undefined || second === undefined || first === second;
}
