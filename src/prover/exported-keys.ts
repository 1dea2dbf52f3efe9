/**
 * Proving keys as snarkjs' `.zkey`, of systems whose keys are stored in another form: made when one is asked for first,
 * one at a time by turns of the askers, on disk and within the owner's quota of it, and kept with the prover.
 */
import { ZKEY_FORMAT } from "../engine/proof-systems/names.js";
import { AppError, notFound, type ErrorCode } from "../platform/errors.js";
import type { Artifacts, ArtifactReference } from "../platform/store/artifacts.js";
import { builtProver } from "./built-prover.js";
import type { Catalog } from "./catalog.js";
import type { StepFailure } from "./compute/compute.js";
import type { ExportQuota } from "./export-quota.js";
import type { Asker, MadeFiles, MadeOnDisk, MakeOptions } from "./made-files.js";
import type { BuiltProver, Provider } from "./providers/provider.js";
import type { KeyPins } from "./provisioning/key-pins.js";
import type { StoredProver } from "./repository.js";

interface ExportedKeysDependencies {
  readonly made: Pick<MadeFiles, "get">;
  readonly quota: Pick<ExportQuota, "allows" | "makeRoom">;
  readonly artifacts: Pick<Artifacts, "verify" | "resolve" | "read" | "place">;
  readonly pins: Pick<KeyPins, "read">;
  readonly catalog: Pick<Catalog, "providerOf" | "systemOf">;
}

type ZkeyExport = NonNullable<Provider["zkeyExport"]>;

/** What a step may fail with that is not the key's fault. */
const CAPACITY: ReadonlySet<string> = new Set<ErrorCode>(["insufficient_memory", "storage_full"]);

export class ExportedKeys {
  readonly #with: ExportedKeysDependencies;

  constructor(dependencies: ExportedKeysDependencies) {
    this.#with = dependencies;
  }

  /**
   * Returns whether the prover has a key that can be had as snarkjs' file, though it is stored in another form.
   * @throws AppError `artifact_corrupt`
   */
  async has(prover: StoredProver): Promise<boolean> {
    const zkeyExport = this.#exportOf(prover);
    return zkeyExport !== undefined && this.#with.quota.allows(await zkeyExport.bytes(this.#built(prover)));
  }

  /**
   * Returns the file of a prover that `has` it, after making it if nobody has asked before.
   * @throws AppError `prover_unsupported` for a key that does not fit into a memory, `insufficient_memory`,
   *   `storage_full`, `prover_keys_missing`, `artifact_corrupt`, and what `MadeFiles.get` throws
   */
  async get(prover: StoredProver, asker: Asker): Promise<ArtifactReference> {
    return await this.#with.made.get(prover, asker, async (options) => await this.#make(prover, options));
  }

  #exportOf(prover: StoredProver): ZkeyExport | undefined {
    const { catalog } = this.#with;
    const isOther =
      prover.status === "provisioned" &&
      prover.build.artifacts["proving_key"] !== undefined &&
      catalog.systemOf(prover).keyFormats.proving_key !== ZKEY_FORMAT;
    return isOther ? catalog.providerOf(prover).zkeyExport : undefined;
  }

  #built(prover: StoredProver): BuiltProver {
    return builtProver(prover, this.#with.catalog.systemOf(prover), this.#with);
  }

  async #make(prover: StoredProver, options: MakeOptions): Promise<MadeOnDisk> {
    const { artifacts, pins, quota } = this.#with;
    const zkeyExport = this.#exportOf(prover);
    if (zkeyExport === undefined) throw notFound("artifact");
    await artifacts.verify(await pins.read(prover, "proving_key", options.owner));
    const built = this.#built(prover);
    await quota.makeRoom(prover.build.owner, await zkeyExport.bytes(built));
    const place = artifacts.place();
    try {
      const made = await zkeyExport.write(built, place.path, options);
      if (!made.ok) throw failureOf(made);
      const { sha256 } = made;
      return { sha256, publish: async () => await place.publish(sha256), discard: place.discard };
    } catch (error) {
      await place.discard();
      throw error;
    }
  }
}

function failureOf({ errors: [error] }: StepFailure): AppError {
  const code = error !== undefined && CAPACITY.has(error.code) ? (error.code as ErrorCode) : "prover_unsupported";
  return new AppError(code, { message: error?.message ?? "the key has no such file" });
}
