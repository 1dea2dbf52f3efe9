/**
 * Proving keys in the form that the WebAssembly kernels use: opened once by a thread of the pool `prove`, shared by all
 * threads, and dropped least recently used first. What a key and its workspaces take is known before it is opened, and
 * is taken from the memory of all large work: a proof whose key does not fit beside the others waits until one of them
 * is done with. Where a key cannot be opened the reference backend proves, so that no request fails because of it.
 */
import { LRUCache } from "lru-cache";
import { AppError } from "../../../platform/errors.js";
import type { MemoryBudget, MemoryShare } from "../../../platform/concurrency/memory-budget.js";
import { unlessAborted } from "../../../platform/concurrency/unless-aborted.js";
import { newId } from "../../../platform/ids.js";
import type { Log } from "../../../platform/log.js";
import { announceDroppedKey } from "../../../engine/process/dropped-keys.js";
import { openKeyBytes, storedKeyNeeds } from "../../../engine/proof-systems/memory-needs.js";
import type { MemoryNeeds } from "../../../engine/proof-systems/memory-needs.js";
import { roomToTry } from "../../../engine/proof-systems/open-with-room.js";
import type { SharedKey } from "../../../engine/kernels/threads/shared-key.js";
import type { OpenKey, OpenKeyRoom, ProveMessage, SharedBytes } from "../../../engine/protocol.js";
import type { RunOptions } from "../../../platform/pool/thread-pool.js";
import type { StoredProvingKey } from "../compute.js";
import type { ComputePools } from "../compute-pools.js";
import { KeyFinish, type HoldKey } from "./key-finish.js";
import type { KeyImages } from "./key-images.js";
import { waitOf } from "./key-places.js";

export interface OpenKeysOptions {
  /** Memory of all open keys together, workspaces included. One key may exceed it, but then it is the only one. */
  readonly budgetBytes: number;
  /** Proofs that may run with one key at once. */
  readonly workspaces: number;
  /** The same with a key whose workspaces are large; as many as threads prove. Default: as `workspaces`. */
  readonly largeWorkspaces?: number;
  /** Memory of a key for tables that make its proofs shorter; none unless given. */
  readonly tableBytesMax?: number;
}

interface OpenKeysDependencies {
  readonly pools: Pick<ComputePools, "run">;
  /** Memory that all large work shares; no limit unless given. */
  readonly memory?: MemoryBudget;
  /** Images of keys on disk; none are kept unless given. */
  readonly images?: KeyImages | undefined;
  readonly log: Log;
}

/** A key that is in memory: kept for the next proof, or only until the last proof with it has ended. */
interface Held {
  readonly openKey: OpenKey;
  readonly share: MemoryShare | undefined;
  /** What is left to do for the key after its first proof, which does not wait for it. */
  finish?: KeyFinish | undefined;
  users: number;
  isKept: boolean;
}

/** Room that a key was given before it is opened. */
interface TakenMemory {
  readonly room: OpenKeyRoom;
  readonly share: MemoryShare | undefined;
}

/** Proofs with keys so large that they wait for memory take seconds. */
const RETRY_AFTER_SEC = 10;
/** A key is too large for ever, or until the machine has memory again. */
const TOO_LARGE_MS = 600_000;
const TOO_LARGE_MAX = 1_000;
/** A workspace of this size is not spared for threads that may be lost. */
const LARGE_WORKSPACE_BYTES = 256 * 1024 ** 2;
/** What says something of the call that opened the key, or of its file, and nothing of the kernels. */
const THROWN_CODES: ReadonlySet<string> = new Set([
  ...["overloaded", "deadline_exceeded", "insufficient_memory"],
  ...["artifact_corrupt", "store_unreachable", "storage_failed", "storage_full"],
]);

/** A proving key's file, its system, and the counts of its circuit. */
export interface KeyFile extends Pick<ProveMessage, "system" | "circuit"> {
  readonly provingKey: StoredProvingKey;
}

/** In whose turn a key is opened, and until when. */
export type OpenCall = Pick<RunOptions, "owner" | "signal" | "deadlineMs" | "sinceMs">;

export class OpenKeys {
  readonly #options: OpenKeysOptions;
  readonly #with: OpenKeysDependencies;
  /** By the SHA-256 of the key's file. */
  readonly #open: LRUCache<string, Held>;
  /** By the id of the opening: what is kept, and what proofs still use. */
  readonly #held = new Map<string, Held>();
  /** Keys that no memory could hold a while ago. */
  readonly #tooLarge = new LRUCache<string, true>({ max: TOO_LARGE_MAX, ttl: TOO_LARGE_MS });
  /** Keys that a thread is opening now, so that overlapping calls open a key once. */
  readonly #opening = new Map<string, Promise<Held | undefined>>();

  constructor(options: OpenKeysOptions, dependencies: OpenKeysDependencies) {
    const { budgetBytes } = options;
    this.#options = options;
    this.#with = dependencies;
    this.#open = new LRUCache<string, Held>({
      maxSize: budgetBytes,
      // The cache refuses what is larger than the whole; a key that large takes the place of all others instead.
      sizeCalculation: ({ openKey }) => Math.min(bytesOf(openKey), budgetBytes),
      dispose: (held) => {
        held.isKept = false;
        this.#freeUnused(held);
      },
    });
    dependencies.memory?.onWant((bytes) => this.#dropUnused(bytes));
  }

  /**
   * Runs the work with the open key, or with undefined when the reference backend has to prove. The key stays in memory
   * until the work ends. The first call for a key takes about a second per million points, in the owner's turn.
   * Overlapping calls share an opening; when it ends by the limits of the caller who started it, the others open the
   * key in their own turn.
   * @throws overloaded when the queue is full: the proof would wait in the same one; insufficient_memory;
   *   deadline_exceeded, the signal's reason, and what the work throws
   */
  async use<Value>(
    file: KeyFile,
    call: OpenCall,
    work: (openKey: OpenKey | undefined) => Promise<Value>,
  ): Promise<Value> {
    for (;;) {
      const held = await this.#find(file, call);
      if (held === undefined) return await work(undefined);
      if (await this.#gaveWay(held, call)) continue;
      // Other work may have taken its memory before this call resumed.
      if (!this.#held.has(held.openKey.id)) continue;
      this.#with.images?.noteUse(file.provingKey.sha256);
      try {
        return await this.#hold(held, async () => await work(held.openKey));
      } finally {
        this.#finish(held);
      }
    }
  }

  /**
   * Opens a key ahead of its first proof and runs the work with it, where there is room for it beside all that is in
   * memory and nobody waits for memory: it takes no other key's place. Undefined where there is not.
   * @throws as `use`
   */
  async warm<Value>(
    file: KeyFile,
    call: OpenCall,
    work: (openKey: OpenKey) => Promise<Value>,
  ): Promise<Value | undefined> {
    const { sha256 } = file.provingKey;
    if (!this.#open.has(sha256) && !this.#opening.has(sha256) && !this.#hasRoom(file)) return undefined;
    return await this.use(file, call, async (openKey) => (openKey === undefined ? undefined : await work(openKey)));
  }

  /** Keeps a key's memory until the work has ended. */
  async #hold<Value>(held: Held, work: () => Promise<Value>): Promise<Value> {
    held.users += 1;
    try {
      return await work();
    } finally {
      held.users -= 1;
      this.#freeUnused(held);
      if (held.users === 0) this.#with.memory?.wake();
    }
  }

  /** Does what is left for the key; where the pool is full, goes on after the next proof. */
  #finish(held: Held): void {
    const { finish, openKey } = held;
    if (finish === undefined) return;
    held.finish = undefined;
    const whileHeld: HoldKey = async (work) => {
      if (!this.#held.has(openKey.id)) return false;
      await this.#hold(held, work);
      return true;
    };
    void finish.run(whileHeld).then((isDone) => {
      if (!isDone) held.finish = finish;
    });
  }

  #hasRoom(file: KeyFile): boolean {
    const { memory } = this.#with;
    const { needs, room } = this.#roomOf(file);
    const bytes = openKeyBytes(needs, room);
    if (this.#open.calculatedSize + bytes > this.#options.budgetBytes) return false;
    return memory === undefined || (memory.wanting === 0 && memory.taken + bytes <= memory.bytes);
  }

  /** Forgets a key: when a thread dies while it proves with the key, the workspace that it used is lost. */
  drop(sha256: string): void {
    this.#opening.delete(sha256);
    this.#open.delete(sha256);
  }

  /**
   * Waits while other work lacks memory that the keys would give back when no proof used them: a key that is always in
   * use would keep that work out for ever. The proofs that run end by themselves; a key without one is no obstacle.
   */
  async #gaveWay({ share, users }: Held, call: OpenCall): Promise<boolean> {
    const { memory } = this.#with;
    const wanting = memory?.wanting ?? 0;
    if (memory === undefined || share === undefined || users === 0 || wanting === 0) return false;
    let reclaimable = 0;
    for (const held of this.#held.values()) reclaimable += held.share?.bytes ?? 0;
    if (reclaimable < wanting) return false;
    const wait = waitOf(call, () => RETRY_AFTER_SEC);
    try {
      await memory.untilNext(wait.signal);
      return true;
    } finally {
      wait.end();
    }
  }

  async #find(file: KeyFile, call: OpenCall): Promise<Held | undefined> {
    const { sha256 } = file.provingKey;
    if (this.#tooLarge.has(sha256)) return undefined;
    for (;;) {
      const open = this.#open.get(sha256);
      if (open !== undefined) return open;
      const others = this.#opening.get(sha256);
      if (others === undefined) return await this.#shareOpening(file, call);
      const wait = waitOf(call, () => RETRY_AFTER_SEC);
      try {
        return await unlessAborted(others, wait.signal);
      } catch {
        wait.signal.throwIfAborted();
      } finally {
        wait.end();
      }
    }
  }

  /** Opens a key for this call and those that come meanwhile. */
  async #shareOpening(file: KeyFile, call: OpenCall): Promise<Held | undefined> {
    const { sha256 } = file.provingKey;
    const opening = this.#openNow(file, call);
    this.#opening.set(sha256, opening);
    try {
      const opened = await opening;
      if (opened === undefined) return undefined;
      this.#held.set(opened.openKey.id, opened);
      // Not kept when the key was dropped meanwhile: the proofs that wait for it are its last.
      if (this.#opening.get(sha256) === opening) {
        opened.isKept = true;
        this.#open.set(sha256, opened);
      }
      return opened;
    } finally {
      if (this.#opening.get(sha256) === opening) this.#opening.delete(sha256);
    }
  }

  async #openNow(file: KeyFile, call: OpenCall): Promise<Held | undefined> {
    try {
      const taken = this.#takeMemory(file, call);
      const { share, room } = taken instanceof Promise ? await taken : taken;
      try {
        const { key, isMade } = await this.#readOrMake(file, room, call);
        const openKey = { id: newId(), key };
        // From here on the key is anyone's who proves with it.
        share?.endTurn();
        share?.shrink(bytesOf(openKey));
        const finish = isMade ? { finish: new KeyFinish({ file, openKey, room }, this.#with) } : {};
        return { openKey, share, ...finish, users: 0, isKept: false };
      } catch (error) {
        share?.release();
        throw error;
      }
    } catch (error) {
      if (call.signal?.aborted === true || (error instanceof AppError && THROWN_CODES.has(error.code))) throw error;
      // A kernel that cannot run here; the next request tries again, unless the key is too large.
      this.#with.log.warn("a proving key could not be opened; the reference backend proves", {
        kind: "kernels",
        error,
      });
      return undefined;
    }
  }

  /** Reads the key's image, or makes the key from its file. */
  async #readOrMake(
    { system, provingKey }: KeyFile,
    room: OpenKeyRoom,
    call: OpenCall,
  ): Promise<{ readonly key: SharedKey; readonly isMade: boolean }> {
    const { sha256, pin } = provingKey;
    const read = pin === undefined ? undefined : await this.#with.images?.read({ sha256, pin, room }, call);
    if (read !== undefined) return { key: read, isMade: false };
    const bytes = await provingKey.read();
    return { key: await this.#make({ system, provingKey: bytes, ...room }, call), isMade: true };
  }

  async #make(
    message: OpenKeyRoom & { readonly system: KeyFile["system"]; readonly provingKey: SharedBytes },
    call: OpenCall,
  ): Promise<SharedKey> {
    const opened = await this.#with.pools.run("prove", "open_key", message, call);
    if (opened.ok) return opened.value;
    this.#tooLarge.set(message.provingKey.sha256, true);
    throw new Error(opened.message);
  }

  /** Waits for the memory of the key with as many places as there can be; where there is no limit, nothing waits. */
  #takeMemory(file: KeyFile, call: OpenCall): TakenMemory | Promise<TakenMemory> {
    const { memory } = this.#with;
    const { needs, room } = this.#roomOf(file);
    if (memory === undefined) return { room, share: undefined };
    return this.#waitForMemory(memory, { needs, room }, call);
  }

  /** What the key takes, with as much room as there can be. */
  #roomOf({ system, provingKey, circuit }: KeyFile): { readonly needs: MemoryNeeds; readonly room: OpenKeyRoom } {
    const { memory } = this.#with;
    const { workspaces, largeWorkspaces = workspaces, tableBytesMax = 0 } = this.#options;
    const needs = storedKeyNeeds(system, circuit, { keyBytes: provingKey.byteLength });
    const wanted = {
      workspaces: needs.workspace < LARGE_WORKSPACE_BYTES ? workspaces : largeWorkspaces,
      ...(tableBytesMax > 0 && needs.tables.multiples > 0 ? { tableBytesMax } : {}),
    };
    return { needs, room: memory === undefined ? wanted : fittingRoom(needs, wanted, memory.bytes) };
  }

  async #waitForMemory(
    memory: MemoryBudget,
    { needs, room }: { readonly needs: MemoryNeeds; readonly room: OpenKeyRoom },
    call: OpenCall,
  ): Promise<TakenMemory> {
    const wait = waitOf(call, () => RETRY_AFTER_SEC);
    try {
      const share = await memory.take({
        bytes: openKeyBytes(needs, room),
        what: "proving with this circuit's key",
        owner: call.owner,
        signal: wait.signal,
      });
      return { room, share };
    } finally {
      wait.end();
    }
  }

  /** Drops keys that no proof uses, least recently used first, until so many bytes are free. */
  #dropUnused(bytes: number): void {
    let dropped = 0;
    for (const sha256 of [...this.#open.rkeys()]) {
      const held = this.#open.peek(sha256);
      if (dropped >= bytes) return;
      if (held === undefined || held.users > 0) continue;
      dropped += bytesOf(held.openKey);
      this.#open.delete(sha256);
    }
  }

  #freeUnused(held: Held): void {
    const { openKey, share, users, isKept } = held;
    if (isKept || users > 0 || !this.#held.delete(openKey.id)) return;
    announceDroppedKey({ id: openKey.id, bytes: bytesOf(openKey) });
    share?.release();
  }
}

/** Returns as much room as the whole memory has; one workspace alone where there is not even that. */
function fittingRoom(needs: MemoryNeeds, wanted: OpenKeyRoom, bytes: number): OpenKeyRoom {
  return roomToTry(wanted).find((room) => openKeyBytes(needs, room) <= bytes) ?? { workspaces: 1 };
}

function bytesOf({ key }: OpenKey): number {
  return key.memory.buffer.byteLength + (key.sectionBytes ?? 0);
}
