/** What the parts of a PLONK proof work with, and what they share in writing into its memory. */
import { reduce } from "../../field/prime-field.js";
import { writePowers } from "../ntt/domain.js";
import type { ResidentPlonkKey } from "./plonk-key.js";
import type { PlonkLayout } from "./plonk-layout.js";
import type { PlonkMemory } from "./plonk-memory.js";
import type { CircuitContext } from "./resident-circuit.js";

/** What every part of a proof works with. */
export interface PlonkContext extends CircuitContext {
  readonly key: ResidentPlonkKey;
  readonly layout: PlonkLayout;
  readonly memory: PlonkMemory;
}

/** Writes the powers of a scalar as factors of coefficients. */
export function writeCoefficientPowers({ kernels, key, scratch }: PlonkContext, target: number, base: bigint): void {
  scratch.scoped(() => {
    const place = { target, scratch: scratch.take(256) };
    writePowers(kernels, { log: key.domainPower, base: reduce(base, kernels.curve.r), factor: 1n }, place);
  });
}
