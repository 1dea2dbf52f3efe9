/** Tells which keys it has heard to be dropped. */
import { parentPort } from "node:worker_threads";
import { onDroppedKey } from "../../dist/src/engine/process/dropped-keys.js";

onDroppedKey((id) => parentPort.postMessage(id));
parentPort.on("message", () => process.exit(0));
parentPort.postMessage("ready");
