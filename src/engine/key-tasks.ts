/** The tasks that open proving keys, keep their images on disk, and the keys that this thread has at hand. */
import { LRUCache } from "lru-cache";
import { KeyImageError } from "./key-images/key-image.js";
import { readKeyImage, writeKeyImage } from "./key-images/key-image-file.js";
import type { SharedKey } from "./kernels/threads/shared-key.js";
import { onDroppedKey } from "./process/dropped-keys.js";
import type { ProofSystemName } from "./proof-systems/names.js";
import { openWithRoom } from "./proof-systems/open-with-room.js";
import type { KernelProver } from "./proof-systems/proof-system.js";
import { proofSystem } from "./proof-systems/table.js";
import type { ComputeTasks, OpenKey, OpenKeyMessage, TaskResult } from "./protocol.js";

/** Opening a key that is in memory takes a millisecond, and a thread rarely alternates between many. */
const OPEN_KEYS_MAX = 4;
/** After which a thread that writes tables begins no further step, so that a proof does not wait for long. */
const TABLES_WITHIN_MS = 20;

/**
 * The keys that this thread has opened, by the id of the opening. An entry keeps the key's memory alive, which belongs
 * to the whole process; so the main thread, which bounds it, tells each thread what to let go of.
 */
const provers = new LRUCache<string, KernelProver, { readonly system: ProofSystemName; readonly openKey: OpenKey }>({
  max: OPEN_KEYS_MAX,
  memoMethod: (_id, _stale, { context: { system, openKey } }) => proofSystem(system).openProver(openKey.key),
});
onDroppedKey((id) => {
  provers.delete(id);
});

/** Returns the key on this thread. */
export function proverOf(system: ProofSystemName, openKey: OpenKey): KernelProver {
  return provers.memo(openKey.id, { context: { system, openKey } });
}

/** Runs the task `open_key`. */
export function openKey({ system: name, provingKey, ...room }: OpenKeyMessage): TaskResult<SharedKey> {
  const system = proofSystem(name);
  const key = system.readProvingKey(new Uint8Array(provingKey.bytes));
  try {
    return { ok: true, value: openWithRoom(room, (given) => system.openKey(key, given)) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { ok: false, code: "internal_error", message: error.message };
  }
}

/** Runs the task `write_key_tables`. */
export function writeTables({
  system: name,
  openKey: { key },
  from,
}: ComputeTasks["write_key_tables"]["message"]): TaskResult<ComputeTasks["write_key_tables"]["value"]> {
  const next = proofSystem(name).writeTables?.(key, from, TABLES_WITHIN_MS);
  return { ok: true, value: { next: next ?? null } };
}

/** Runs the task `write_key_image`; what the disk refuses is a problem of the image. */
export function writeImage({
  path,
  form,
  openKey: { key },
}: ComputeTasks["write_key_image"]["message"]): TaskResult<ComputeTasks["write_key_image"]["value"]> {
  return orProblem(() => writeKeyImage(path, key, form));
}

/** Runs the task `read_key_image`. */
export function readImage({
  path,
  ...known
}: ComputeTasks["read_key_image"]["message"]): TaskResult<ComputeTasks["read_key_image"]["value"]> {
  return orProblem(() => ({ key: readKeyImage(path, known) }));
}

/** What the file, the disk and the memory are to blame for is a problem; anything else is thrown. */
function orProblem<Value>(work: () => Value): {
  readonly ok: true;
  readonly value: Value | { readonly problem: string };
} {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    if (!(error instanceof KeyImageError || error instanceof RangeError || isSystemError(error))) throw error;
    return { ok: true, value: { problem: error.message } };
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}
