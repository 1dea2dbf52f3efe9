/**
 * Piscina entry of the vault's threads, the only ones that unwrap keys. Runs vault tasks and nothing else: no store, no
 * socket, no environment.
 */
import { applyThreadNiceness } from "../src/engine/process/thread-priority.js";
import { KeyObjects } from "../src/vault/worker/key-objects.js";
import { Keyring } from "../src/vault/worker/keyring.js";
import type { VaultRequest, VaultTaskResult } from "../src/vault/protocol.js";
import { createVaultTasks } from "../src/vault/worker/tasks.js";

/** How often idle keys are dropped. How long a key may be idle is a constant of its cache. */
const SWEEP_INTERVAL_MS = 60_000;

applyThreadNiceness();
const keyring = new Keyring({ nowMs: () => performance.now() });
const keyObjects = new KeyObjects({ nowMs: () => performance.now() });
const runTask = createVaultTasks(keyring, keyObjects);
setInterval(() => {
  keyring.dropIdle();
  keyObjects.dropIdle();
}, SWEEP_INTERVAL_MS).unref();

/** Runs the requests of one message; `runTask` never throws. */
export default async function run(requests: readonly VaultRequest[]): Promise<VaultTaskResult<unknown>[]> {
  return await Promise.all(requests.map(runTask));
}
