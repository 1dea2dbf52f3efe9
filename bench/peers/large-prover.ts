/**
 * Opens a large key and proves with it on two threads, in a process of its own, so that its memory can be told:
 *
 *   node large-prover.js SYSTEM PROVING_KEY VERIFYING_KEY_JSON WITNESS SAMPLES
 *
 * Prints LargeProofs as JSON on the last line. The witness is 32 bytes per wire.
 */
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { publicSignalsOf } from "../../src/engine/groth16/prove.js";
import { createTeam } from "../../src/engine/kernels/threads/thread-team.js";
import type { ProofSystemName } from "../../src/engine/proof-systems/names.js";
import { openWithRoom } from "../../src/engine/proof-systems/open-with-room.js";
import { proofSystem } from "../../src/engine/proof-systems/table.js";

/** What the process found. */
export interface LargeProofs {
  readonly openMs: number;
  readonly proveMs: readonly number[];
  readonly peakMb: number;
  /** The memory of the kernels and what lies outside of it. */
  readonly keyMb: number;
}

const PUBLIC_COUNT = 1;
const THREADS = 2;
const MB = 1e6;

const [, , name, keyPath = "", verifyingKeyPath = "", witnessPath = "", samples] = process.argv;
const systemName = name as ProofSystemName;
const system = proofSystem(systemName);
const witness = new Uint8Array(readFileSync(witnessPath));
const startedAt = performance.now();
const read = system.readProvingKey(readFileSync(keyPath));
const key = openWithRoom({ workspaces: THREADS }, (places) => system.openKey(read, places));
const openMs = performance.now() - startedAt;
const helper = new Worker(new URL("./large-helper.js", import.meta.url), { workerData: { system: systemName, key } });
const heard = (): Promise<unknown> =>
  new Promise((resolve, reject) => {
    helper.once("message", resolve);
    helper.once("error", reject);
  });
await heard();
const prover = system.openProver(key);
const pairing = await system.loadPairing("wasm");
const prepared = system.prepareKey(JSON.parse(readFileSync(verifyingKeyPath, "utf8")), pairing);
const signals = publicSignalsOf({ curve: system.curve, publicCount: PUBLIC_COUNT }, witness);
const proveMs: number[] = [];
for (let i = 0; i < Number(samples); i += 1) {
  const [team, helped] = [createTeam(), heard()];
  helper.postMessage(team);
  const from = performance.now();
  const proof = prover.prove(witness, team);
  proveMs.push(performance.now() - from);
  await helped;
  if (!system.verify(prepared, proof, signals)) throw new Error(`${systemName}: the proof does not verify`);
}
const found: LargeProofs = {
  openMs,
  proveMs,
  peakMb: (process.resourceUsage().maxRSS * 1024) / MB,
  keyMb: (key.memory.buffer.byteLength + (key.sectionBytes ?? 0)) / MB,
};
process.stdout.write(`\n${JSON.stringify(found)}\n`);
process.exit(0);
