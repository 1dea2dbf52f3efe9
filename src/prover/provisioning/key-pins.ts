/**
 * Vault secrets that pin a prover's keys: kind, SHA-256, size and format of the artifact, as JSON. The key itself has
 * megabytes and lies in the artifact store; the vault authenticates the pin, so that access to the disk alone is not
 * enough to swap a key.
 */
import { AppError } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { ArtifactReference } from "../../platform/store/artifacts.js";
import type { StoreCommit } from "../../platform/store/store.js";
import type { Catalog } from "../catalog.js";
import type { StoredProver } from "../repository.js";
import type { ProverVault } from "../vault-port.js";

interface Pin {
  readonly kind: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly format: string;
}

const PINNED = {
  proving_key: { artifact: "proving_key", member: "proving_key_id" },
  verifying_key: { artifact: "verifying_key.json", member: "verifying_key_id" },
} as const;
type PinnedName = keyof typeof PINNED;

export class KeyPins {
  readonly #vault: ProverVault;
  readonly #catalog: Pick<Catalog, "systemOf">;

  constructor(dependencies: { readonly vault: ProverVault; readonly catalog: Pick<Catalog, "systemOf"> }) {
    this.#vault = dependencies.vault;
    this.#catalog = dependencies.catalog;
  }

  /** Prepares the secret that pins one key; it exists once the commit is applied. */
  async prepare(
    owner: Subject,
    prover: StoredProver,
    name: PinnedName,
    artifact: ArtifactReference,
  ): Promise<{ readonly secretId: string; readonly commit: StoreCommit }> {
    const { kind, format } = this.#labelOf(prover, name);
    const pin: Pin = { kind, sha256: artifact.sha256, bytes: artifact.bytes, format };
    return await this.#vault.prepareSecret(owner, prover.vault_id, {
      name,
      type: `prover_${name}`,
      value: JSON.stringify(pin),
    });
  }

  /**
   * Returns the SHA-256 of the key that the vault has pinned, in lower-case hex.
   * @param asker in whose turn the vault reads it, such as `user:<uuid>`: of a shared prover not the owner's
   * @throws AppError `prover_keys_missing` when its secret was deleted from the vault, `artifact_corrupt` when it
   *   disagrees with the prover's record
   */
  async read(prover: StoredProver, name: PinnedName, asker: string): Promise<string> {
    const { artifact, member } = PINNED[name];
    const { kind, format } = this.#labelOf(prover, name);
    const secretId = prover[member];
    const recorded = prover.build.artifacts[artifact];
    if (secretId === null || recorded === undefined) throw corrupt(name);
    const pin = await this.#readPin(prover, secretId, { name, asker });
    if (pin.kind !== kind || pin.format !== format || pin.sha256 !== recorded.sha256 || pin.bytes !== recorded.bytes)
      throw corrupt(name);
    return pin.sha256;
  }

  /** Returns what a pin of the prover's key says beside the key itself. */
  #labelOf(prover: StoredProver, name: PinnedName): Pick<Pin, "kind" | "format"> {
    const { keyFormats } = this.#catalog.systemOf(prover);
    return { kind: `${prover.proving_scheme}_${name}`, format: keyFormats[name] };
  }

  async #readPin(
    { build, vault_id }: StoredProver,
    secretId: string,
    { name, asker }: { readonly name: PinnedName; readonly asker: string },
  ): Promise<Partial<Pin>> {
    try {
      return JSON.parse(await this.#vault.readSecret(build.owner, vault_id, secretId, asker)) as Partial<Pin>;
    } catch (error) {
      if (!(error instanceof AppError)) throw corrupt(name, error);
      if (error.code !== "not_found") throw error;
      throw new AppError("prover_keys_missing", {
        message: `the secret that pins the prover's ${name.replace("_", " ")} was deleted from its vault`,
        cause: error,
      });
    }
  }
}

function corrupt(name: PinnedName, cause?: unknown): AppError {
  const message = `the ${name.replace("_", " ")} is not the one that the prover's vault has pinned`;
  return new AppError("artifact_corrupt", { message, ...(cause === undefined ? {} : { cause }) });
}
