/**
 * Piscina entry of the threads that unwrap keys. It answers vault tasks and nothing else: no store, no socket, no
 * environment.
 */
import { applyThreadNiceness } from "../src/engine/process/thread-priority.js";
import { KeyObjects } from "../src/vault/worker/key-objects.js";
import { Keyring } from "../src/vault/worker/keyring.js";
import type { VaultRequest, VaultTaskResult } from "../src/vault/protocol.js";
import { createVaultTasks } from "../src/vault/worker/tasks.js";

/** How often idle keys are looked for; the limits themselves are theirs. */
const SWEEP_INTERVAL_MS = 60_000;

applyThreadNiceness();
const keyring = new Keyring({ nowMs: () => performance.now() });
const keyObjects = new KeyObjects({ nowMs: () => performance.now() });
const runTask = createVaultTasks(keyring, keyObjects);
setInterval(() => {
  keyring.dropIdle();
  keyObjects.dropIdle();
}, SWEEP_INTERVAL_MS).unref();

/** Tasks that came together; `runTask` never throws. */
export default async function run(requests: readonly VaultRequest[]): Promise<VaultTaskResult<unknown>[]> {
  return await Promise.all(requests.map(runTask));
}
