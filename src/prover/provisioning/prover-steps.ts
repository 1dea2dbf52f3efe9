/** What a prover's record says of its way to keys, as pure functions of the record. */
import { AppError } from "../../platform/errors.js";
import type { ArtifactReference } from "../../platform/store/artifacts.js";
import type { ImportFiles, StoredFile } from "../compute/compute.js";
import { isVerifierOnly } from "../imports/import-files.js";
import type { ArtifactName, ArtifactSet, CompiledCircuit, StoredProver } from "../repository.js";
import { isFinished, type ProvisioningPlace, type Setup } from "./lifecycle.js";

/** Steps of provisioning, as its jobs name them. */
export const PROVISIONING_PHASES = ["compile", "setup", "gates", "keys", "end"] as const;
export type ProvisioningPhase = (typeof PROVISIONING_PHASES)[number];

/** Returns the prover without files, if it is an import: they may have gigabytes. */
export function withoutImport(prover: StoredProver): StoredProver {
  return prover.build.import === undefined ? prover : { ...prover, build: { ...prover.build, artifacts: {} } };
}

/** Returns the files that are there. */
export function storedOnly(files: Readonly<Partial<ArtifactSet>>): ArtifactSet {
  return Object.fromEntries(
    Object.entries(files).flatMap(([name, file]) => (file === undefined ? [] : [[name, file]])),
  );
}

/** Returns the step that comes next for a prover. */
export function phaseOf(prover: StoredProver): ProvisioningPhase {
  if (isFinished(prover.status)) return "end";
  if (prover.status === "init" || prover.status === "compiling") return "compile";
  if (prover.build.artifacts.proving_key === undefined && !isVerifierOnly(prover)) return "setup";
  return prover.build.gates_passed ? "keys" : "gates";
}

/** Returns how far a prover with a setup of this kind has come. */
export function placeOf(prover: StoredProver, { setup }: { readonly setup: Setup }): ProvisioningPlace {
  const isMissing = prover.build.artifacts.proving_key === undefined && !isVerifierOnly(prover);
  const keys = isMissing ? "missing" : prover.build.gates_passed ? "checked" : "unchecked";
  return { status: prover.status, setup, keys };
}

/** Returns the prover with the results of compiling its circuit. */
export function withCompiled(prover: StoredProver, circuit: CompiledCircuit): StoredProver {
  return {
    ...prover,
    warnings: [...circuit.warnings],
    compiler: circuit.compiler ?? null,
    build: {
      ...prover.build,
      artifacts: { ...prover.build.artifacts, ...circuit.artifacts },
      ...(circuit.value_count === undefined ? {} : { value_count: circuit.value_count }),
    },
  };
}

/**
 * Returns a file of the prover.
 * @throws AppError `artifact_corrupt` where it has none of the name
 */
export function requiredFile(prover: StoredProver, name: ArtifactName): ArtifactReference {
  const found = prover.build.artifacts[name];
  if (found === undefined) throw new AppError("artifact_corrupt", { message: `the prover has no ${name}` });
  return found;
}

/** Returns the files of an import that were uploaded, by what they are. */
export async function importFiles(
  prover: StoredProver,
  fileOf: (name: ArtifactName) => Promise<StoredFile>,
): Promise<ImportFiles> {
  const names: Readonly<Record<keyof ImportFiles, ArtifactName>> = {
    r1cs: "circuit.r1cs",
    witnessProgram: "circuit.wasm",
    sym: "circuit.sym",
    provingKey: "proving_key",
    verifyingKey: "imported_verifying_key.json",
  };
  const present = Object.entries(names).filter(([, name]) => prover.build.artifacts[name] !== undefined);
  const files = present.map(async ([member, name]) => [member, await fileOf(name)] as const);
  return Object.fromEntries(await Promise.all(files));
}
