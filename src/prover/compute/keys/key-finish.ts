/**
 * What is done for an open key once it has proved: its tables are written, then its image, which has them. It is cut
 * into tasks that a proof does not wait for long, and the key may be dropped between any two of them.
 */
import { AppError } from "../../../platform/errors.js";
import type { Log } from "../../../platform/log.js";
import type { OpenKey, OpenKeyRoom, ProveMessage } from "../../../engine/protocol.js";
import type { StoredProvingKey } from "../compute.js";
import type { ComputePools } from "../compute-pools.js";
import type { KeyImages } from "./key-images.js";

interface FinishedKey {
  readonly file: Pick<ProveMessage, "system"> & { readonly provingKey: Pick<StoredProvingKey, "sha256" | "pin"> };
  readonly openKey: OpenKey;
  /** That it was opened with. */
  readonly room: OpenKeyRoom;
}

interface KeyFinishDependencies {
  readonly pools: Pick<ComputePools, "run">;
  readonly images?: KeyImages | undefined;
  readonly log: Log;
}

/** Keeps the key's memory until the work has ended; false, without the work, where the key was dropped. */
export type HoldKey = (work: () => Promise<void>) => Promise<boolean>;

/** The pool is full, or the server is stopping. */
const WAITING_CODES: ReadonlySet<string> = new Set(["overloaded", "shutting_down"]);

export class KeyFinish {
  readonly #key: FinishedKey;
  readonly #with: KeyFinishDependencies;
  /** Step of the tables that is next; null when they are written. */
  #next: number | null;

  constructor(key: FinishedKey, dependencies: KeyFinishDependencies) {
    this.#key = key;
    this.#with = dependencies;
    this.#next = key.openKey.key.tables === undefined ? null : 0;
  }

  /** Goes on until all is done. Returns false where the pool is full: it goes on when it is called again. */
  async run(hold: HoldKey): Promise<boolean> {
    try {
      while (this.#next !== null) {
        const from = this.#next;
        if (!(await hold(async () => await this.#writeTables(from)))) return true;
      }
      await hold(async () => await this.#writeImage());
    } catch (error) {
      if (error instanceof AppError && WAITING_CODES.has(error.code)) return false;
      this.#with.log.warn("the tables of an open key were not written; proofs do without", { kind: "kernels", error });
    }
    return true;
  }

  /** @throws what the pool throws */
  async #writeTables(from: number): Promise<void> {
    const { file, openKey } = this.#key;
    const message = { system: file.system, openKey, from };
    const written = await this.#with.pools.run("prove", "write_key_tables", message);
    if (!written.ok) throw new Error(written.message);
    this.#next = written.value.next;
  }

  async #writeImage(): Promise<void> {
    const { file, openKey, room } = this.#key;
    const { sha256, pin } = file.provingKey;
    if (pin !== undefined) await this.#with.images?.keep({ sha256, pin, room }, openKey);
  }
}
