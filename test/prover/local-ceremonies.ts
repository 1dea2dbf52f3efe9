/** The compute of ceremonies with the real engine, on the calling thread: what the process runs, without it. */
import { tmpdir } from "node:os";
import type { CeremonyCompute } from "../../src/prover/compute/ceremony-compute.js";
import { check, endWithBeacon, makeFirstKey } from "../../src/prover/compute/run-ceremony.js";

export class LocalCeremonies implements CeremonyCompute {
  async makeFirstKey(
    input: Parameters<CeremonyCompute["makeFirstKey"]>[0],
  ): ReturnType<CeremonyCompute["makeFirstKey"]> {
    const made = await makeFirstKey(input);
    return made.ok || "referencePower" in made ? made : failure(made);
  }

  async checkContribution(
    input: Parameters<CeremonyCompute["checkContribution"]>[0],
  ): ReturnType<CeremonyCompute["checkContribution"]> {
    return await check(input);
  }

  async applyBeacon(input: Parameters<CeremonyCompute["applyBeacon"]>[0]): ReturnType<CeremonyCompute["applyBeacon"]> {
    const made = await endWithBeacon(input, { folder: tmpdir() });
    return made.ok ? made : failure(made);
  }
}

function failure({ code, message }: { readonly code: string; readonly message: string }): {
  readonly ok: false;
  readonly errors: readonly { readonly code: string; readonly message: string }[];
} {
  return { ok: false, errors: [{ code, message }] };
}
