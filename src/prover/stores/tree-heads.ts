/**
 * Signed tree heads: a store's size and root at a time, signed by a key of its prover's vault, so that whoever has kept
 * one can hold the server to it. Made on demand, and kept by itself each time that a store has grown by so many
 * entries. The roots are in the store before, so that heads that a crash or a sealed vault has prevented come later.
 */
import { AppError, notFound } from "../../platform/errors.js";
import { formatSubject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { StoreConflict, type Store } from "../../platform/store/store.js";
import type { Page } from "../../platform/store/tables.js";
import type { Log } from "../../platform/log.js";
import type { HeadKey, HeadKeys } from "./head-keys.js";
import type { ProofStores } from "./proof-stores.js";
import type { Growth } from "./store-growth.js";
import { keyIn, stateOf, type ProofStore, type StoredRoot, type StoreReference } from "./store-records.js";

/** A head as it is kept and answered. */
export type TreeHead = {
  readonly store_id: string;
  readonly kind: ProofStore["kind"];
  readonly curve: ProofStore["curve"];
  readonly size: number;
  readonly root: string;
  readonly time: string;
  /** Compact; its payload is the members above, as JSON. */
  readonly jws: string;
  readonly jwk: HeadKey["jwk"];
  readonly vault_id: string;
};

interface TreeHeadsDependencies {
  readonly store: Store;
  readonly stores: ProofStores;
  readonly keys: Pick<HeadKeys, "sign">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Entries after which a head is kept: one signature of a millisecond for as many proofs. */
export const KEPT_HEAD_ENTRIES = 256;

export class TreeHeads {
  readonly #with: TreeHeadsDependencies;
  /** Stores whose heads are being kept; what grows meanwhile is seen at the end. */
  readonly #keeping = new Map<string, Promise<void>>();

  constructor(dependencies: TreeHeadsDependencies) {
    this.#with = dependencies;
  }

  /**
   * Signs the present head of a store.
   * @throws AppError `not_found` for a store that is not there or whose provers have no vault any more, `key_disabled`,
   *   `tree_head_key_limit_reached`, `vault_sealed`
   */
  async now(reference: StoreReference): Promise<TreeHead> {
    const record = this.#with.stores.find(reference)?.value;
    if (record === undefined) throw notFound("store");
    return await this.#sign(reference, record, stateOf(record));
  }

  /** Returns one page of the kept heads, the latest first, and how many there are. */
  list(
    reference: StoreReference,
    { page, rpp }: Page,
  ): { readonly heads: readonly TreeHead[]; readonly total: number } {
    if (this.#with.stores.find(reference) === undefined) throw notFound("store");
    const prefix = keyIn("proof_store_head", reference);
    const options = { offset: (page - 1) * rpp, limit: rpp, reverse: true };
    const found = this.#with.store.range<TreeHead>(prefix, options);
    return { heads: found.map(({ value }) => value), total: this.#with.store.count(prefix) };
  }

  /** Keeps the heads that are due after a commit. Never rejects: what fails is made with the next one. */
  onGrown(growths: readonly Growth[]): void {
    for (const { reference, sizeBefore, size } of growths)
      if (Math.floor(size / KEPT_HEAD_ENTRIES) > Math.floor(sizeBefore / KEPT_HEAD_ENTRIES)) void this.keep(reference);
  }

  /** Keeps the heads of a store that are due. Never rejects. */
  async keep(reference: StoreReference): Promise<void> {
    const name = `${formatSubject(reference.owner)}/${reference.id}`;
    const before = this.#keeping.get(name) ?? Promise.resolve();
    const run = before.then(async () => {
      try {
        await this.#keepDue(reference);
      } catch (error) {
        this.#with.log.warn("a tree head was not kept; the next one is made with it", {
          store_id: reference.id,
          code: error instanceof AppError ? error.code : "internal_error",
        });
      }
    });
    this.#keeping.set(name, run);
    await run;
    if (this.#keeping.get(name) === run) this.#keeping.delete(name);
  }

  /** Resolves when no head is being kept; for a store that is about to close. */
  async settled(): Promise<void> {
    await Promise.all(this.#keeping.values());
  }

  async #keepDue(reference: StoreReference): Promise<void> {
    const { store, stores } = this.#with;
    for (;;) {
      const record = stores.find(reference)?.value;
      if (record === undefined) return;
      const [last] = store.range<TreeHead>(keyIn("proof_store_head", reference), { limit: 1, reverse: true });
      const due = (Math.floor((last?.value.size ?? 0) / KEPT_HEAD_ENTRIES) + 1) * KEPT_HEAD_ENTRIES;
      const roots = keyIn("proof_store_root", reference);
      const [next] = store.range<StoredRoot>(roots, { limit: 1, after: [...roots, due - 1] });
      if (next === undefined) return;
      const size = Number(next.key.at(-1));
      const head = await this.#sign(reference, record, { size, root: next.value.root });
      const key = keyIn("proof_store_head", reference, size);
      try {
        // Only of a store that is still there: its root goes with it.
        const checks = [
          { key, version: "absent" as const },
          { key: next.key, version: next.version },
        ];
        await store.commit({ checks, puts: [{ key, value: head }] });
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error;
      }
    }
  }

  async #sign(
    reference: StoreReference,
    { id, kind, curve }: ProofStore,
    { size, root }: { readonly size: number; readonly root: string },
  ): Promise<TreeHead> {
    const content = { store_id: id, kind, curve, size, root, time: isoTimestamp(this.#with.clock.nowMs()) };
    const payload = JSON.stringify(content);
    return { ...content, ...(await this.#with.keys.sign(reference, payload)) };
  }
}
