/**
 * Two threads that prove the same circuit at the same time, in a process of their own so that its memory can be read:
 *
 *   node two-workers.js kernels|snarkjs ZKEY WITNESS SECONDS
 *
 * Both get the key's bytes in memory that the threads share; the kernels open it into a second form beside them, as the
 * server does. snarkjs runs single-threaded in each with its curve kept, its fastest way to use two cores. Prints
 * proofs per second and peak memory in MB.
 */
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { readProvingKey } from "../../src/engine/groth16/proving-key.js";
import { ResidentProver } from "../../src/engine/kernels/groth16/resident-prover.js";
import { makeKeyResident } from "../../src/engine/kernels/groth16/resident-proving.js";
import type { ResidentKey } from "../../src/engine/kernels/groth16/resident-key.js";
import { chooseForm, takeChosenForm } from "../kernel-form.js";
import { wtnsFile } from "../circuits.js";

export interface TwoWorkersResult {
  readonly proofsPerSecond: number;
  readonly peakMb: number;
}

interface Task {
  readonly zkey: SharedArrayBuffer;
  readonly key?: ResidentKey;
  readonly witness: Uint8Array;
}

const THREADS = 2;
const FILE = new URL(import.meta.url);

/** Proofs that one thread makes; the first, which also warms it, does not count. */
async function work({ zkey, key, witness }: Task): Promise<void> {
  takeChosenForm();
  const prover = key === undefined ? undefined : new ResidentProver(key);
  const snarkjs = prover === undefined ? await primeSnarkjs() : undefined;
  const wtns = wtnsFile(witness);
  const prove = async (): Promise<void> => {
    if (prover !== undefined) prover.prove(witness, { r: 3n, s: 5n });
    else await snarkjs?.groth16.prove(new Uint8Array(zkey), wtns);
  };
  await prove();
  parentPort?.postMessage("warm");
  parentPort?.on("message", (untilMs: number) => {
    void (async () => {
      let count = 0,
        lastMs = Date.now();
      for (; lastMs < untilMs; count += 1) {
        await prove();
        lastMs = Date.now();
      }
      parentPort?.postMessage({ count, lastMs });
    })();
  });
}

function message<Value>(worker: Worker): Promise<Value> {
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

/** A piece at a time, as the server does, so that there is no second copy. */
function readShared(path: string): SharedArrayBuffer {
  const bytes = new Uint8Array(new SharedArrayBuffer(statSync(path).size)),
    piece = Buffer.alloc(1 << 20);
  const file = openSync(path, "r");
  for (let at = 0, read = readSync(file, piece); read > 0; at += read, read = readSync(file, piece))
    bytes.set(piece.subarray(0, read), at);
  closeSync(file);
  return bytes.buffer;
}

async function main(): Promise<void> {
  const [, , peer, zkeyPath = "", witnessPath = "", seconds = "10"] = process.argv;
  if (peer === "kernels") await chooseForm();
  const zkey = readShared(zkeyPath);
  const key =
    peer === "kernels" ? makeKeyResident(readProvingKey(new Uint8Array(zkey)), { workspaces: THREADS }) : undefined;
  const task: Task = {
    zkey,
    witness: new Uint8Array(readFileSync(witnessPath)),
    ...(key === undefined ? {} : { key }),
  };
  const workers = Array.from({ length: THREADS }, () => new Worker(FILE, { workerData: task }));
  await Promise.all(workers.map((worker) => message(worker)));
  const startMs = Date.now();
  for (const worker of workers) worker.postMessage(startMs + 1000 * Number(seconds));
  const results = await Promise.all(workers.map((worker) => message<{ count: number; lastMs: number }>(worker)));
  // Each thread by its own clock, since the last proof of either may end late.
  const proofsPerSecond = results.reduce((sum, { count, lastMs }) => sum + (1000 * count) / (lastMs - startMs), 0);
  const peakKb = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? Number.NaN);
  process.stdout.write(JSON.stringify({ proofsPerSecond, peakMb: peakKb / 1024 } satisfies TwoWorkersResult));
  process.exit(0);
}

if (isMainThread) await main();
else await work(workerData as Task);
