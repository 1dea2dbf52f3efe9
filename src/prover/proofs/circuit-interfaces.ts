/**
 * Parsed circuit interfaces by content hash, least recently used first to go. They are asked for by every proof and
 * verification.
 */
import { AppError } from "../../platform/errors.js";
import type { CircuitInterface } from "../../engine/circuit/interface.js";

/** Interfaces kept: some kilobytes each for common circuits. */
const KEPT_MAX = 256;

export class CircuitInterfaces {
  readonly #read: (sha256: string) => Promise<Uint8Array>;
  readonly #kept = new Map<string, CircuitInterface>();

  /** @param dependencies.read reads an artifact and checks its hash; rejects with `artifact_corrupt`. */
  constructor(dependencies: { readonly read: (sha256: string) => Promise<Uint8Array> }) {
    this.#read = dependencies.read;
  }

  async get(sha256: string): Promise<CircuitInterface> {
    const held = this.#kept.get(sha256) ?? parse(await this.#read(sha256));
    this.#kept.delete(sha256);
    this.#kept.set(sha256, held);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_MAX) break;
      this.#kept.delete(oldest);
    }
    return held;
  }
}

/** The bytes have their hash, so they are what this server wrote. */
function parse(bytes: Uint8Array): CircuitInterface {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as CircuitInterface;
  } catch (error) {
    throw new AppError("artifact_corrupt", { message: "interface.json is not JSON", cause: error });
  }
}
