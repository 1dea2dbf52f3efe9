/**
 * Private keys as OpenSSL holds them, kept for a short while: reading an RSA or Ed25519 key from its bytes costs more than signing with
 * it. Lives in a vault thread only; never in a heap snapshot, and overwritten by OpenSSL when dropped.
 */
import type { KeyObject } from "node:crypto";

/** Each is a few KB at most. */
const KEY_OBJECTS_MAX = 256;
const IDLE_MS = 60_000;

interface Held {
  readonly vaultId: string;
  readonly key: KeyObject;
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
   * The key under a name, made when it is not held.
   * @param name everything that the key's record authenticates, so that a changed record can never meet an old key
   */
  get(name: string, vaultId: string, make: () => KeyObject): KeyObject {
    const held = this.#held.get(name) ?? { vaultId, key: make(), usedAtMs: 0 };
    held.usedAtMs = this.#nowMs();
    this.#held.delete(name);
    this.#held.set(name, held);
    if (this.#held.size > KEY_OBJECTS_MAX) {
      const oldest = this.#held.keys().next();
      if (oldest.done !== true) this.#held.delete(oldest.value);
    }
    return held.key;
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
