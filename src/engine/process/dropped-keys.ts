/**
 * Tells all threads of the process that an open key is no longer used. Its memory is shared, and each thread that ever
 * proved with it holds it until its garbage is collected; V8 does not count shared memory when it decides to do that.
 * So a thread that hears of a large key collects at once. A key that is opened again has another id.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { BroadcastChannel } from "node:worker_threads";

interface DroppedKey {
  readonly id: string;
  /** Of its memory. */
  readonly bytes: number;
}

const CHANNEL = "proofwright-dropped-keys";
/** Collecting takes some ten milliseconds: for less memory than this, V8's own time will do. */
const COLLECT_BYTES_MIN = 256 * 1024 ** 2;

let announcing: BroadcastChannel | undefined;
let collect: (() => void) | undefined;

/** Tells the other threads, and collects this one's garbage when the key is large. */
export function announceDroppedKey(key: DroppedKey): void {
  if (announcing === undefined) {
    announcing = new BroadcastChannel(CHANNEL);
    announcing.unref();
  }
  announcing.postMessage(key);
  // Later, when whoever drops the key has let go of it.
  setImmediate(() => collectAfter(key)).unref();
}

/** Calls the listener for each key that another thread drops, and collects after it. Once for each thread. */
export function onDroppedKey(listener: (id: string) => void): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = (event) => {
    const key = (event as { readonly data: DroppedKey }).data;
    listener(key.id);
    setImmediate(() => collectAfter(key)).unref();
  };
  channel.unref();
}

function collectAfter({ bytes }: DroppedKey): void {
  if (bytes < COLLECT_BYTES_MIN) return;
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
  }
  collect();
}
