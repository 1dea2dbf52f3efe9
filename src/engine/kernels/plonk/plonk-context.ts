/** What the parts of a PLONK proof work with, and what they share in writing into its memory. */
import { reduce } from "../../field/prime-field.js";
import type { Kernels } from "../kernels.js";
import { writePowers } from "../ntt/domain.js";
import type { Domain } from "../ntt/domain.js";
import type { Arena } from "../wasm/arena.js";
import type { ResidentPlonkKey } from "./plonk-key.js";
import type { PlonkLayout } from "./plonk-layout.js";
import type { PlonkMemory } from "./plonk-memory.js";

/** What every part of a proof works with. */
export interface PlonkContext {
  readonly kernels: Kernels;
  readonly key: ResidentPlonkKey;
  readonly layout: PlonkLayout;
  /** The calling thread's own part of a workspace. */
  readonly scratch: Arena;
  readonly memory: PlonkMemory;
  readonly domain: Domain;
}

/** Writes a block of the first values, one for each lane, into the scratch; returns its address. */
export function identityBlock({ kernels, memory, scratch }: PlonkContext, values: readonly bigint[]): number {
  const { lanes, elementBytes } = kernels.fr;
  const block = scratch.take(lanes * elementBytes);
  for (let lane = 0; lane < lanes; lane += 1) memory.scalars.writeAt(block, lane, values[lane] ?? 0n);
  return block;
}

/** Writes the powers of a scalar as factors of coefficients. */
export function writeCoefficientPowers({ kernels, key, scratch }: PlonkContext, target: number, base: bigint): void {
  scratch.scoped(() => {
    const place = { target, scratch: scratch.take(256) };
    writePowers(kernels, { log: key.domainPower, base: reduce(base, kernels.curve.r), factor: 1n }, place);
  });
}
