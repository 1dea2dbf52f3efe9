/**
 * Files that no record names: what a crash has left, and what was removed from all records while its removal failed. A
 * single server removes them at its start, before any is written. In a cluster, one node at a time does, beside the
 * work of all: only what is shared for a day and more, after it has read the whole log. Each node removes its own
 * copies.
 */
import type { Log } from "../platform/log.js";
import type { Nodes } from "../platform/nodes/nodes.js";
import type { Artifacts } from "../platform/store/artifacts.js";
import type { Store } from "../platform/store/store.js";
import type { KeyImages } from "./compute/keys/key-images.js";
import { referencedFiles } from "./referenced-files.js";

/** The nodes that share the files. */
export interface SharingNodes {
  readonly nodes: Pick<Nodes, "has" | "take">;
  /** Resolves when this node can read everything that any node had committed at the call. @throws store_unreachable */
  readonly confirm: () => Promise<void>;
}

interface OrphanFilesDependencies {
  readonly artifacts: Pick<Artifacts, "removeOrphans" | "removeSharedOrphans">;
  readonly store: Pick<Store, "get" | "range">;
  /** Images of open keys on this server's disk; none are kept unless given. */
  readonly keyImages?: Pick<KeyImages, "retain"> | undefined;
  /** Undefined in a single server. */
  readonly cluster?: SharingNodes | undefined;
  readonly log: Log;
}

/** Older than any file that a request or job of this process is about to name. */
const AGE_MS = 3_600_000;
/** A node that has just started has better things to do. */
const SWEEPS = { firstMs: 5 * 60_000, everyMs: 6 * 3_600_000 };
/** The duty of removing what is shared. */
const DUTY = "gc";

export class OrphanFiles {
  readonly #sweeps: typeof SWEEPS;
  readonly #with: OrphanFilesDependencies;
  #timer: NodeJS.Timeout | undefined;

  /** @param options when a node goes over its files; five minutes after its start and every six hours unless given */
  constructor({ sweeps = SWEEPS }: { readonly sweeps?: typeof SWEEPS }, dependencies: OrphanFilesDependencies) {
    this.#sweeps = sweeps;
    this.#with = dependencies;
  }

  /** Removes files of this server's folder. Returns how many. */
  async removeHere(): Promise<number> {
    const referenced = this.#referenced();
    await this.#with.keyImages?.retain(referenced);
    return await this.#with.artifacts.removeOrphans(referenced, AGE_MS);
  }

  /** Removes shared files; does nothing in a single server. Returns how many. @throws store_unreachable */
  async removeShared(): Promise<number> {
    const { artifacts, cluster } = this.#with;
    return await artifacts.removeSharedOrphans(async () => {
      await cluster?.confirm();
      return this.#referenced();
    });
  }

  /** Goes on removing while the server runs, on a node of a cluster. */
  start(): void {
    if (this.#with.cluster === undefined) return;
    // Whether this node has the duty is asked at each sweep.
    this.#with.cluster.nodes.take(DUTY, () => undefined);
    this.#sweepAfter(this.#sweeps.firstMs);
  }

  /** Ends it. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #sweepAfter(delayMs: number): void {
    this.#timer = setTimeout(() => {
      void this.#sweep();
      this.#sweepAfter(this.#sweeps.everyMs);
    }, delayMs).unref();
  }

  async #sweep(): Promise<void> {
    const { cluster, log } = this.#with;
    try {
      await this.removeHere();
      const removed = cluster?.nodes.has(DUTY) === true ? await this.removeShared() : 0;
      if (removed > 0) log.info("removed shared files that no record names", { count: removed });
    } catch (error) {
      // The next sweep finds them again.
      log.warn("files that no record names could not be removed", { error });
    }
  }

  #referenced(): Set<string> {
    return referencedFiles(this.#with.store);
  }
}
