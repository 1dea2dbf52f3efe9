/** Makes the prover registry on the server's lanes and processes, for the composition root. */
import type { ProcessTasks } from "../platform/pool/process-task.js";
import type { Lanes } from "./compute/compute-pools.js";
import {
  assembleProverRegistry,
  type ProverRegistry,
  type ProverRegistryDependencies,
  type ProverRegistryOptions,
} from "./assemble-registry.js";
import { LanesCompute, type LanesComputeOptions } from "./compute/pooled-compute.js";

export type { ProverRegistry } from "./assemble-registry.js";

/** Builds it and registers the runner of its jobs: before `jobs.start`. */
export function createProverRegistry(
  options: ProverRegistryOptions & LanesComputeOptions,
  dependencies: Omit<ProverRegistryDependencies, "compute"> & { readonly lanes: Lanes; readonly tasks: ProcessTasks },
): ProverRegistry {
  return assembleProverRegistry(options, { ...dependencies, compute: new LanesCompute(options, dependencies) });
}
