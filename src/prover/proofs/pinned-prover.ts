/** A prover that is ready, with the keys that its vault has pinned, for work of the server's own. */
import type { Subject } from "../../platform/auth/principal.js";
import { readyProver, type ReadyDependencies } from "../built-prover.js";
import type { Catalog } from "../catalog.js";
import type { KeyPins } from "../provisioning/key-pins.js";
import type { ReadyProver } from "../providers/provider.js";
import type { StoredProver } from "../repository.js";

export interface PinnedProverDependencies extends ReadyDependencies {
  readonly catalog: Pick<Catalog, "systemOf">;
  readonly pins: Pick<KeyPins, "read">;
  /** The name under which a subject's work waits for its turn. */
  readonly turnOf: (subject: Subject) => string;
}

/**
 * Reads the pins in the turn of the prover's owner.
 * @throws AppError as `KeyPins.read`
 */
export async function pinnedProver(
  prover: StoredProver,
  keys: readonly ("proving_key" | "verifying_key")[],
  dependencies: PinnedProverDependencies,
): Promise<ReadyProver> {
  const { pins, catalog } = dependencies;
  const turn = dependencies.turnOf(prover.build.owner);
  const verifying = await pins.read(prover, "verifying_key", turn);
  const proving = keys.includes("proving_key") ? await pins.read(prover, "proving_key", turn) : undefined;
  const pinned = {
    "verifying_key.json": verifying,
    ...(proving === undefined ? {} : { proving_key: proving }),
  };
  return readyProver(prover, catalog.systemOf(prover), { ...dependencies, pinned });
}
