/** Generates one RSA key pair, transfers the memory that holds it, and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { generateRsaKeyPair } from "../src/crypto/signatures/rsa.js";
import { applyThreadNiceness } from "../src/engine/process/thread-priority.js";
import type { RsaThreadData } from "../src/vault/threads/rsa-threads.js";

applyThreadNiceness();
const pair = generateRsaKeyPair((workerData as RsaThreadData).modulusBits);
parentPort?.postMessage(pair, [pair.pkcs8.buffer, pair.spki.buffer]);
