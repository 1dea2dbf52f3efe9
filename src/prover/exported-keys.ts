/**
 * Proving keys as snarkjs' `.zkey`, of systems whose keys are stored in another form: made when one is asked for first,
 * one at a time by turns of the askers, and kept with the prover.
 */
import { ZKEY_FORMAT } from "../engine/proof-systems/names.js";
import { AppError, notFound } from "../platform/errors.js";
import type { Artifacts, ArtifactReference } from "../platform/store/artifacts.js";
import { builtProver } from "./built-prover.js";
import type { Catalog } from "./catalog.js";
import type { Asker, MadeFiles, MakeOptions } from "./made-files.js";
import type { KeyPins } from "./provisioning/key-pins.js";
import type { StoredProver } from "./repository.js";

interface ExportedKeysDependencies {
  readonly made: Pick<MadeFiles, "get">;
  readonly artifacts: Pick<Artifacts, "verify" | "resolve" | "read">;
  readonly pins: Pick<KeyPins, "read">;
  readonly catalog: Pick<Catalog, "providerOf" | "systemOf">;
}

export class ExportedKeys {
  readonly #with: ExportedKeysDependencies;

  constructor(dependencies: ExportedKeysDependencies) {
    this.#with = dependencies;
  }

  /** Returns whether the prover has a key that can be had as snarkjs' file, though it is stored in another form. */
  has(prover: StoredProver): boolean {
    return (
      prover.status === "provisioned" &&
      prover.build.artifacts["proving_key"] !== undefined &&
      this.#with.catalog.providerOf(prover).exportZkey !== undefined &&
      this.#with.catalog.systemOf(prover).keyFormats.proving_key !== ZKEY_FORMAT
    );
  }

  /**
   * Returns the file of a prover that `has` it, after making it if nobody has asked before.
   * @throws AppError `prover_unsupported` for a key that is too large for a file, `insufficient_memory`,
   *   `prover_keys_missing`, `artifact_corrupt`, and what `MadeFiles.get` throws
   */
  async get(prover: StoredProver, asker: Asker): Promise<ArtifactReference> {
    return await this.#with.made.get(prover, asker, async (options) => await this.#make(prover, options));
  }

  async #make(prover: StoredProver, options: MakeOptions): Promise<Uint8Array> {
    const { artifacts, catalog, pins } = this.#with;
    const { exportZkey } = catalog.providerOf(prover);
    if (exportZkey === undefined) throw notFound("artifact");
    await artifacts.verify(await pins.read(prover, "proving_key", options.owner));
    const made = await exportZkey(builtProver(prover, catalog.systemOf(prover), this.#with), options);
    if (made.ok) return made.value;
    const [error] = made.errors;
    const code = error?.code === "insufficient_memory" ? "insufficient_memory" : "prover_unsupported";
    throw new AppError(code, { message: error?.message ?? "the key has no such file" });
  }
}
