/** The scratch that a kernel takes for many items. Plain data, so that it can be stored with the module. */

export interface ScratchBytes {
  readonly base: number;
  /** For each step, which takes `itemsPerStep` items or what is left of them. */
  readonly perStep: number;
  readonly itemsPerStep: number;
}

/** Returns the bytes of scratch for so many items. */
export function scratchBytesFor({ base, perStep, itemsPerStep }: ScratchBytes, items: number): number {
  return base + Math.ceil(items / itemsPerStep) * perStep;
}
