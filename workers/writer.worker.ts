/**
 * The one thread that writes to the store. It takes the waiting commits, up to a limit, applies them as one
 * transaction, and replies after the fsync. It must never open a second transaction, or keep a commit back.
 */
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { openEnvironment } from "../src/platform/store/lmdb/lmdb-environment.js";
import { LmdbWriter } from "../src/platform/store/lmdb/lmdb-writer.js";
import { unpackCommits, type PackedCommit } from "../src/platform/store/wire.js";
import type { WriteFailure, WriterOptions, WriterReply, WriterRequest } from "../src/platform/store/writer-protocol.js";

/** Commits of one transaction at most, so that the first of many does not wait for the last. */
const BATCH_COMMITS_MAX = 256;

if (parentPort === null) throw new Error("the writer runs only as a worker thread");
const port = parentPort;
const options = workerData as WriterOptions;
const environment = openEnvironment(options.path);
const writer = new LmdbWriter(options, { environment });
const waiting: PackedCommit[] = [];
let closing = false;

// The first reply tells that the store is open.
port.postMessage({ settled: 0, failures: [], state: writer.state } satisfies WriterReply);

port.on("message", (first: WriterRequest) => {
  take(first);
  do {
    drain();
    while (waiting.length > 0) {
      settle(waiting.splice(0, BATCH_COMMITS_MAX));
      // Commits that arrived during the fsync join the next batch.
      drain();
    }
  } while (waiting.length > 0);
  if (closing)
    void environment.close().then(() => {
      port.close();
    });
});

function take(request: WriterRequest): void {
  if (request instanceof Uint8Array) waiting.push(...unpackCommits(request));
  else closing = true;
}

function drain(): void {
  while (waiting.length < BATCH_COMMITS_MAX) {
    const next = receiveMessageOnPort(port) as { message: WriterRequest } | undefined;
    if (next === undefined) return;
    take(next.message);
  }
}

function settle(batch: readonly PackedCommit[]): void {
  const outcomes = writer.apply(batch);
  const failures: { index: number; failure: WriteFailure }[] = [];
  for (let index = 0; index < outcomes.length; index += 1) {
    const failure = outcomes[index];
    if (failure !== undefined) failures.push({ index, failure });
  }
  const isPlain = failures.length === 0 && writer.state === "ready";
  port.postMessage(
    (isPlain ? outcomes.length : { settled: outcomes.length, failures, state: writer.state }) satisfies WriterReply,
  );
}
