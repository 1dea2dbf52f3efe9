/**
 * Proving keys in the form that the WebAssembly kernels use: opened once by a thread of the pool `prove`, shared by all
 * threads, and dropped least recently used first. Where a key cannot be opened the reference backend proves, so that no
 * request fails because of it.
 */
import { LRUCache } from "lru-cache";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import type { OpenKey, ProveMessage } from "../../engine/protocol.js";
import type { RunOptions } from "../../platform/pool/thread-pool.js";
import type { ComputePools } from "./compute-pools.js";

export interface OpenKeysOptions {
  /** Memory of all open keys together, workspaces included. One key may exceed it, but then it is the only one. */
  readonly budgetBytes: number;
  /** Proofs that may run with one key at once. */
  readonly workspaces: number;
}

interface OpenKeysDependencies {
  readonly pools: Pick<ComputePools, "run">;
  readonly log: Log;
}

/** A key is too large for ever, or until the machine has memory again. */
const TOO_LARGE_MS = 600_000;
const TOO_LARGE_MAX = 1_000;
/** What says nothing of the key, only of the call that opened it. */
const LIMIT_CODES: ReadonlySet<string> = new Set(["overloaded", "deadline_exceeded"]);

/** A proving key's file and its system. */
type KeyFile = Pick<ProveMessage, "system" | "provingKey">;

/** In whose turn a key is opened, and until when. */
export type OpenCall = Pick<RunOptions, "owner" | "signal" | "deadlineMs" | "sinceMs">;

export class OpenKeys {
  readonly #workspaces: number;
  readonly #with: OpenKeysDependencies;
  /** By the SHA-256 of the key's file. */
  readonly #open: LRUCache<string, OpenKey>;
  /** Keys that no memory could hold a while ago. */
  readonly #tooLarge = new LRUCache<string, true>({ max: TOO_LARGE_MAX, ttl: TOO_LARGE_MS });
  /** Keys that a thread is opening now, so that overlapping calls open a key once. */
  readonly #opening = new Map<string, Promise<OpenKey | undefined>>();

  constructor({ budgetBytes, workspaces }: OpenKeysOptions, dependencies: OpenKeysDependencies) {
    this.#workspaces = workspaces;
    this.#with = dependencies;
    this.#open = new LRUCache<string, OpenKey>({
      maxSize: budgetBytes,
      // The cache refuses what is larger than the whole; a key that large takes the place of all others instead.
      sizeCalculation: ({ key }) => Math.min(key.memory.buffer.byteLength, budgetBytes),
    });
  }

  /**
   * Returns the open key, or undefined when the reference backend has to prove. The first call for a key takes about a
   * second per million points, in the owner's turn.
   * Overlapping calls share an opening; when it ends by the limits of the caller who started it, the others open the
   * key in their own turn.
   * @throws overloaded when the queue is full: the proof would wait in the same one; deadline_exceeded, and the
   *   signal's reason
   */
  async get(file: KeyFile, call: OpenCall = {}): Promise<OpenKey | undefined> {
    const { sha256 } = file.provingKey;
    if (this.#tooLarge.has(sha256)) return undefined;
    for (;;) {
      const open = this.#open.get(sha256);
      if (open !== undefined) return open;
      const others = this.#opening.get(sha256);
      if (others === undefined) return await this.#share(file, call);
      try {
        return await others;
      } catch {
        call.signal?.throwIfAborted();
      }
    }
  }

  /** Forgets a key: when a thread dies while it proves with the key, the workspace that it used is lost. */
  drop(sha256: string): void {
    this.#opening.delete(sha256);
    this.#open.delete(sha256);
  }

  /** Opens a key for this call and those that come meanwhile. */
  async #share(file: KeyFile, call: OpenCall): Promise<OpenKey | undefined> {
    const { sha256 } = file.provingKey;
    const opening = this.#openNow(file, call);
    this.#opening.set(sha256, opening);
    try {
      const opened = await opening;
      // Not kept when the key was dropped meanwhile.
      if (opened !== undefined && this.#opening.get(sha256) === opening) this.#open.set(sha256, opened);
      return opened;
    } finally {
      if (this.#opening.get(sha256) === opening) this.#opening.delete(sha256);
    }
  }

  async #openNow({ system, provingKey }: KeyFile, call: OpenCall): Promise<OpenKey | undefined> {
    try {
      const message = { system, provingKey, workspaces: this.#workspaces };
      const opened = await this.#with.pools.run("prove", "open_key", message, call);
      if (!opened.ok) {
        this.#tooLarge.set(provingKey.sha256, true);
        throw new Error(opened.message);
      }
      return { id: newId(), key: opened.value };
    } catch (error) {
      if (call.signal?.aborted === true || (error instanceof AppError && LIMIT_CODES.has(error.code))) throw error;
      // A kernel that cannot run here; the next request tries again, unless the key is too large.
      this.#with.log.warn("a proving key could not be opened; the reference backend proves", {
        kind: "kernels",
        error,
      });
      return undefined;
    }
  }
}
