/**
 * The one thread that writes the replica of a node: it takes the waiting commits in groups, follows the log of the
 * cluster between them, and answers what asks for the log's end. One thing at a time: rows are applied in order.
 */
import { parentPort, workerData } from "node:worker_threads";
import { ClusterWriter, GROUP_COMMITS_MAX, type WriteOutcome } from "../src/platform/cluster/log/cluster-writer.js";
import { groupFailure } from "../src/platform/cluster/log/commit-failures.js";
import { distrust } from "../src/platform/cluster/distrusted-replica.js";
import { databaseAddress } from "../src/platform/cluster/database-address.js";
import { foldLog } from "../src/platform/cluster/log/fold-log.js";
import { joinCluster, programSchemaVersion } from "../src/platform/cluster/join-cluster.js";
import { DatabaseUnreachable, LogDatabase } from "../src/platform/cluster/log/log-database.js";
import { logKeyOf, type RowBody } from "../src/platform/cluster/log/log-row.js";
import { isPassing } from "../src/platform/cluster/reach-database.js";
import { auditKeyOf } from "../src/platform/cluster/replica-secrets.js";
import { Replica } from "../src/platform/cluster/replica.js";
import { AppError } from "../src/platform/errors.js";
import { ChainKey } from "../src/platform/store/chain.js";
import { decodeKey } from "../src/platform/store/keys.js";
import { openEnvironment } from "../src/platform/store/lmdb/lmdb-environment.js";
import { DataFileSync, mayGoUnsynced } from "../src/platform/store/lmdb/unsynced-folder.js";
import { unpackCommits, type PackedCommit } from "../src/platform/store/wire.js";
import type {
  WriteFailure,
  WriterOptions,
  WriterReport,
  WriterRequest,
} from "../src/platform/store/writer-protocol.js";

/** Bytes of one row's commits, but for one that is larger. */
const GROUP_BYTES_MAX = 4 * 2 ** 20;
/** Pauses between two looks at the log: short while rows come, longer while none do. */
const FOLLOW_MS_MIN = 20;
const FOLLOW_MS_MAX = 250;
/** How often the replica is synced, whose commits are not. */
const SYNC_MS = 5_000;
/** How long the calling thread may not know that this node has stood at the end of the log. */
const TELL_EVERY_MS = 500;

if (parentPort === null) throw new Error("the writer runs only as a worker thread");
const port = parentPort;
const options = workerData as WriterOptions;
const { cluster } = options;
if (cluster === undefined) throw new Error("the writer of a replica is told its cluster");

const environment = openEnvironment(options.path, { isUnsynced: mayGoUnsynced() });
const logKey = logKeyOf(cluster.clusterKey);
const address = databaseAddress(cluster.databaseUrl);
const database = new LogDatabase(address);
const reader = new LogDatabase(address);
const waiting: PackedCommit[] = [];
const foreignLogs = new Set<string>();
const watched = new Set<string>();
/** By their bytes as text: a key that changed twice is told once. */
const foreignKeys = new Map<string, Uint8Array>();
let hasForeign = false;
let toldAtMs = 0;
let confirms = 0;
let isFollowing = false;
let isBusy = false;
let isClosing = false;
let pauseMs = FOLLOW_MS_MIN;
let timer: NodeJS.Timeout | undefined;
let folding: NodeJS.Timeout | undefined;
let syncing: DataFileSync | undefined;

let writer: ClusterWriter;
try {
  await joinCluster({ environment, replica: new Replica(environment, undefined), address, logKey });
  const chainKey = options.chainKey ?? auditKeyOf(environment, cluster.clusterKey);
  const replica = new Replica(environment, chainKey === undefined ? undefined : new ChainKey(chainKey));
  writer = new ClusterWriter(
    {
      ...{ logKey, node: cluster.node, incarnation: cluster.incarnation, giveUpMs: cluster.giveUpMs },
      schemaVersion: programSchemaVersion(),
    },
    { replica, database, reader, onForeign: noteForeign, onSpent: (reason) => distrust(options.path, reason) },
  );
  // What was committed before the start is read before the first answer.
  await writer.confirm();
  replica.adoptSchema(programSchemaVersion());
  report({ settled: 0, failures: [] });
  port.on("message", (request: WriterRequest) => {
    if (request instanceof Uint8Array) waiting.push(...unpackCommits(request));
    else if ("confirm" in request) confirms += 1;
    else if ("watch" in request) watched.add(request.watch);
    else isClosing = true;
    wake();
  });
  follow();
  foldLater(cluster.foldMs);
  syncing = new DataFileSync(options.path, { everyMs: SYNC_MS, onFailure: diskFailed });
} catch (error) {
  const startFailure = startFailureOf(error);
  port.postMessage({ settled: 0, failures: [], state: "ready", startFailure } satisfies WriterReport);
  await close();
}

/** Does what waits, one thing after the other, until nothing does. */
function wake(): void {
  if (isBusy) return;
  isBusy = true;
  void (async () => {
    while (confirms > 0 || waiting.length > 0 || (isFollowing && !isClosing)) {
      if (confirms > 0) await answerConfirms();
      if (waiting.length > 0) settle(await writer.commit(take(GROUP_COMMITS_MAX), take));
      else if (isFollowing) await followOnce();
    }
    isBusy = false;
    if (isClosing) await close();
  })();
}

/** Takes commits for a row: one at least unless none waits, and more as far as they fit. */
function take(limit: number): PackedCommit[] {
  let bytes = 0;
  let count = 0;
  for (const commit of waiting) {
    if (count === limit || (count > 0 && bytes + commit.bytes > GROUP_BYTES_MAX)) break;
    bytes += commit.bytes;
    count += 1;
  }
  return waiting.splice(0, count);
}

function settle(outcomes: readonly WriteOutcome[]): void {
  const failures: { index: number; failure: WriteFailure }[] = [];
  for (const [index, failure] of outcomes.entries()) if (failure !== undefined) failures.push({ index, failure });
  report({ settled: outcomes.length, failures });
}

/** All that were asked before this look at the log are answered by it. */
async function answerConfirms(): Promise<void> {
  const requests = confirms;
  confirms = 0;
  try {
    await writer.confirm();
    report({ settled: 0, failures: [], confirmed: { requests } });
  } catch (error) {
    const { failure } = groupFailure(error, { isUnknown: false });
    report({ settled: 0, failures: [], confirmed: { requests, failure } });
  }
}

function follow(): void {
  timer = setTimeout(() => {
    isFollowing = true;
    wake();
  }, pauseMs);
}

/** On a connection of its own, beside the commits; what fails is tried again, by this node or another one. */
function foldLater(foldMs: number): void {
  folding = setTimeout(() => {
    void foldLog({ address, logKey })
      .catch(() => undefined)
      .then(() => {
        if (!isClosing) foldLater(foldMs);
      });
  }, foldMs);
}

function diskFailed({ message }: Error): void {
  writer.fail(`the disk of this node's replica refused a write (${message})`);
  report({ settled: 0, failures: [] });
}

async function followOnce(): Promise<void> {
  isFollowing = false;
  try {
    pauseMs = (await writer.follow()) ? FOLLOW_MS_MIN : Math.min(FOLLOW_MS_MAX, 2 * pauseMs);
  } catch {
    // The next commit or strict read says why; a replica that cannot follow for good has failed as a writer, too.
    pauseMs = FOLLOW_MS_MAX;
  }
  const isDue = hasForeign || writer.state === "failed" || performance.now() - toldAtMs >= TELL_EVERY_MS;
  if (isDue) report({ settled: 0, failures: [] });
  if (writer.state !== "failed") follow();
}

function noteForeign({ logs, changes }: RowBody): void {
  hasForeign = true;
  for (const log of logs) foreignLogs.add(log);
  if (watched.size === 0) return;
  for (const { key } of changes)
    if (watched.has(String(decodeKey(key)[0]))) foreignKeys.set(key.toString("latin1"), Uint8Array.from(key));
}

/** Tells the calling thread, and with it what came from other nodes, and where this node stands. */
function report(told: Omit<WriterReport, "state">): void {
  const foreign = hasForeign ? { foreign: { logs: [...foreignLogs], keys: [...foreignKeys.values()] } } : {};
  hasForeign = false;
  foreignLogs.clear();
  foreignKeys.clear();
  toldAtMs = performance.now();
  const { state, fault, place } = writer;
  const cause = fault === undefined ? {} : { fault };
  port.postMessage({ ...told, ...foreign, ...cause, state, place } satisfies WriterReport);
}

function startFailureOf(error: unknown): WriteFailure {
  const isHopeless = error instanceof DatabaseUnreachable && error.cause !== undefined && !isPassing(error.cause);
  if (isHopeless || (error instanceof AppError && error.code === "conflict"))
    return { code: "start_refused", message: error.message };
  return groupFailure(error, { isUnknown: false }).failure;
}

async function close(): Promise<void> {
  clearTimeout(timer);
  clearTimeout(folding);
  syncing?.stop();
  database.disconnect();
  reader.disconnect();
  await environment.close();
  port.close();
}
