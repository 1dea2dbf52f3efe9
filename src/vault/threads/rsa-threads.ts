/**
 * Making of RSA keys, each on a thread of its own of low priority. Neither the vault thread, where batches would wait
 * for seconds, nor the process's pool of threads: that one has normal priority, so that a key being made stands in the
 * way of every request, and four keys hold up all files and passwords of the server. Starting the thread is a fraction
 * of what the key costs.
 */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { RsaKeyPair } from "../../crypto/signatures/rsa.js";
import { workerPath } from "../../platform/files/package-root.js";

/** What the thread is started with. */
export interface RsaThreadData {
  readonly modulusBits: number;
  readonly niceness: number;
}

/** Behind batches, which somebody waits for: whoever makes a key of 4096 bits expects seconds. */
const NICENESS = 15;

export class RsaThreads {
  /** As many at a time as there are cores: more would end no sooner. */
  #free = availableParallelism();
  readonly #waiting: (() => void)[] = [];

  /** Makes a key pair; the caller wipes its private half. Rejects when the thread fails. */
  async generate(modulusBits: number): Promise<RsaKeyPair> {
    if (this.#free > 0) this.#free -= 1;
    else
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    try {
      return await generateOnThread({ modulusBits, niceness: NICENESS });
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/** The thread ends by itself, or with the vault thread when that one is ended. */
function generateOnThread(workerData: RsaThreadData): Promise<RsaKeyPair> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(workerPath("rsa.worker"), { workerData, env: {}, name: "rsa-key" });
    thread.once("message", resolve);
    thread.once("error", reject);
    thread.once("exit", () => {
      reject(new Error("the thread ended without a key"));
    });
  });
}
