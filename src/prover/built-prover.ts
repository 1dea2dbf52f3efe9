/** A stored prover as its provider sees it: its system, its program and its files, without its owner and its vault. */
import { AppError, assert } from "../platform/errors.js";
import type { ArtifactReference, Artifacts } from "../platform/store/artifacts.js";
import type { ResidentBytes } from "./compute/keys/resident-bytes.js";
import type { KeyImageMarks } from "./proofs/key-image-marks.js";
import type { BuiltProver, OfferedSystem, ReadyProver } from "./providers/provider.js";
import type { StoredProver } from "./repository.js";

/** Names of the keys among a prover's files. */
type KeyName = "proving_key" | "verifying_key.json";

/** Where the files of ready provers come from. */
export interface ReadyDependencies {
  readonly artifacts: Pick<Artifacts, "read" | "readShared" | "resolve">;
  readonly resident: Pick<ResidentBytes, "get">;
  /** What vaults know of the images of open keys; none are kept unless given. */
  readonly keyImages?: KeyImageMarks | undefined;
}

/**
 * Requires a prover that proves and verifies. Of one that failed the codes are told, and not the messages, which may
 * quote the source: whoever has only the right to verify reads this too.
 * @throws AppError `prover_not_provisioned`
 */
export function requireProvisioned({ status, errors }: Pick<StoredProver, "status" | "errors">): void {
  if (status === "provisioned") return;
  const codes = [...new Set(errors.map(({ code }) => code))];
  const cause = codes.length === 0 ? "" : ` (${codes.join(", ")})`;
  throw new AppError("prover_not_provisioned", {
    message: `the prover is not provisioned, its status is ${status}${cause}`,
  });
}

/** Returns what a provider sees of a prover. */
export function builtProver(
  prover: StoredProver,
  system: OfferedSystem,
  { artifacts }: { readonly artifacts: Pick<Artifacts, "read" | "resolve"> },
): BuiltProver {
  return {
    ...describe(prover, system),
    stored: (name) => fileOf(prover, name),
    file: async (name) => {
      const { sha256 } = fileOf(prover, name);
      return { sha256, path: await artifacts.resolve(sha256) };
    },
    read: async (name) => await artifacts.read(fileOf(prover, name).sha256),
  };
}

/**
 * Returns what a provider sees of a prover that proves or verifies.
 * @param pinned SHA-256 of the keys as the prover's vault has pinned them; others are not given out
 */
export function readyProver(
  prover: StoredProver,
  system: OfferedSystem,
  {
    artifacts,
    resident,
    pinned,
    keyImages,
  }: ReadyDependencies & { readonly pinned: { readonly [Name in KeyName]?: string } },
): ReadyProver {
  const hashOf = (name: string): string => {
    if (name !== "proving_key" && name !== "verifying_key.json") return fileOf(prover, name).sha256;
    const sha256 = pinned[name];
    assert(sha256 !== undefined, "a key is read only after its pin");
    return sha256;
  };
  return {
    ...builtProver(prover, system, { artifacts }),
    shared: async (name) => await resident.get(hashOf(name)),
    load: async (name) => {
      const sha256 = hashOf(name);
      return { sha256, bytes: await artifacts.readShared(sha256) };
    },
    keyImage: keyImages?.pinOf(prover),
  };
}

function describe(
  { identifier, options = null, trusted_setup, build }: StoredProver,
  system: OfferedSystem,
): Pick<BuiltProver, "system" | "program"> {
  const { circuit_hash, is_built_in } = build;
  const isImported = build.import !== undefined;
  const isKeyImported = trusted_setup === "imported";
  const program = { identifier, options, hash: circuit_hash, isBuiltIn: is_built_in, isImported, isKeyImported };
  return { system, program };
}

function fileOf({ build }: StoredProver, name: string): ArtifactReference {
  const found = build.artifacts[name];
  if (found === undefined) throw new AppError("artifact_corrupt", { message: `the prover has no ${name}` });
  return found;
}
