/**
 * Generates RSA keys, each on a thread of its own at low priority. Keys.prepare (keys/keys.ts) lets one key through at
 * a time for the whole server. Neither of the other places would do: on the bulk worker, batches would wait for
 * seconds; libuv's pool of threads has normal priority, so that a key would compete with every request, and four keys
 * at a time would block all file access and password hashes of the server. Starting the thread takes a fraction of the
 * time that the key takes.
 */
import { Worker } from "node:worker_threads";
import type { RsaKeyPair } from "../../crypto/signatures/rsa.js";
import { workerPath } from "../../platform/files/package-root.js";

/** What the thread is started with. */
export interface RsaThreadData {
  readonly modulusBits: number;
  readonly niceness: number;
}

/** Lower than batches, which have 10: a caller that requests a key of 4096 bits expects seconds. */
const NICENESS = 15;

/**
 * Generates a key pair; the caller wipes its private half. Rejects when the thread fails. The thread ends by itself, or
 * with the vault worker that started it.
 */
export function generateRsaKeyOnThread(modulusBits: number): Promise<RsaKeyPair> {
  return new Promise((resolve, reject) => {
    const workerData: RsaThreadData = { modulusBits, niceness: NICENESS };
    const thread = new Worker(workerPath("rsa.worker"), { workerData, env: {}, name: "rsa-key" });
    thread.once("message", resolve);
    thread.once("error", reject);
    thread.once("exit", () => {
      reject(new Error("the thread ended without a key"));
    });
  });
}
