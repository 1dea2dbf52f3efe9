/**
 * Parsed circuit interfaces by content hash, in a bounded cache: every proof and every verification needs one.
 */
import { LRUCache } from "lru-cache";
import { AppError } from "../../platform/errors.js";
import type { CircuitInterface } from "../../engine/circuit/interface.js";

/** Interfaces in memory: some kilobytes each for common circuits. */
const INTERFACES_MAX = 256;

export class CircuitInterfaces {
  readonly #read: (sha256: string) => Promise<Uint8Array>;
  readonly #interfaces = new LRUCache<string, CircuitInterface>({ max: INTERFACES_MAX });

  /** @param dependencies.read reads an artifact and checks its hash; rejects with `artifact_corrupt`. */
  constructor(dependencies: { readonly read: (sha256: string) => Promise<Uint8Array> }) {
    this.#read = dependencies.read;
  }

  /**
   * Returns the interface whose `interface.json` has this hash.
   * @param sha256 lower-case hex
   * @throws AppError `artifact_corrupt`
   */
  async get(sha256: string): Promise<CircuitInterface> {
    const cached = this.#interfaces.get(sha256);
    if (cached !== undefined) return cached;
    const circuit = parse(await this.#read(sha256));
    this.#interfaces.set(sha256, circuit);
    return circuit;
  }
}

/** The bytes match their hash, so this server wrote them. */
function parse(bytes: Uint8Array): CircuitInterface {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as CircuitInterface;
  } catch (error) {
    throw new AppError("artifact_corrupt", { message: "interface.json is not JSON", cause: error });
  }
}
