/** What another part of the registry keeps with a proof, in the commit that keeps the proof: the end of its job. */
import type { StoreCommit } from "../../platform/store/store.js";
import type { ProveResult } from "../schemas.js";
import type { SpentKey } from "../stores/pending-append.js";

/** What a crash leaves between the commit of a proof and its receipt. */
export const RECEIPT_INTERRUPTED = {
  code: "receipt_interrupted",
  message: "the server ended before it signed the receipt; verify the proof with `receipt: true` for another one",
} as const;

/** A proof as it will be answered, but for what the commit decides. */
export type MadeProof = Omit<ProveResult, "note_index" | "spent" | "receipt" | "receipt_error">;

/** The places that the commit gives to the note and to what is spent. */
export interface KeptPlaces {
  readonly noteIndex: number;
  readonly spent: readonly SpentKey[];
}

/** In the order of the calls. */
export interface KeptAlong {
  /** Called once, before anything is written. */
  prepare(made: MadeProof): Promise<void>;
  /**
   * Called before each try of the commit, which conflicts when what was read here has changed since.
   * @throws AppError when the proof is not wanted any more, so that nothing of it is kept
   */
  read(): void;
  /** Returns what is written in the commit. Called for each try, after `read`. */
  commit(places: KeptPlaces): StoreCommit;
}
