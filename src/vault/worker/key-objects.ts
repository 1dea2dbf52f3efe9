/**
 * Keys as OpenSSL holds them, kept for a short while: opening a key's record costs more than most uses of it. Lives in
 * a vault thread only; never in a heap snapshot, and overwritten by OpenSSL when dropped.
 */
import type { KeyObject } from "node:crypto";

/** Each is a few KB at most. */
const KEYS_MAX = 256;
const IDLE_MS = 60_000;

/** An opened key. */
export interface HeldKey {
  /** The material as its record holds it. */
  readonly secret: KeyObject;
  /** What was made of it, by purpose: an RSA key, a sub-key. */
  readonly made: Map<string, KeyObject>;
}

interface Held extends HeldKey {
  readonly vaultId: string;
  usedAtMs: number;
}

export class KeyObjects {
  readonly #nowMs: () => number;
  /** In order of last use, oldest first. */
  readonly #held = new Map<string, Held>();

  constructor(options: { nowMs: () => number }) {
    this.#nowMs = options.nowMs;
  }

  /**
   * The key under a name, opened when it is not held.
   * @param name everything that opening the key's record checks, so that a changed record can never meet an old key
   */
  get(name: string, vaultId: string, open: () => KeyObject): HeldKey {
    const held = this.#held.get(name) ?? { vaultId, secret: open(), made: new Map<string, KeyObject>(), usedAtMs: 0 };
    held.usedAtMs = this.#nowMs();
    this.#held.delete(name);
    this.#held.set(name, held);
    if (this.#held.size > KEYS_MAX) {
      const oldest = this.#held.keys().next();
      if (oldest.done !== true) this.#held.delete(oldest.value);
    }
    return held;
  }

  forgetVault(vaultId: string): void {
    for (const [name, held] of this.#held) {
      if (held.vaultId === vaultId) this.#held.delete(name);
    }
  }

  /** Drops keys that were idle too long; called by a timer of the thread. */
  dropIdle(): void {
    const nowMs = this.#nowMs();
    for (const [name, held] of this.#held) {
      if (nowMs - held.usedAtMs < IDLE_MS) return;
      this.#held.delete(name);
    }
  }

  clear(): void {
    this.#held.clear();
  }
}
