/**
 * The vault over HTTP against the bare library: batches of 100 on one vault thread against one thread that calls the
 * library and does nothing else, by the clock and by the processor time of either; single operations, their latency at
 * half load, and the same handler without a vault; and what a quick signature feels of RSA keys being made and slow
 * batches running. What is compared is measured by turns.
 */
import type { ChildProcess } from "node:child_process";
import { createCipheriv, createPrivateKey, generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { apiRoutes } from "../../src/api.js";
import { createClient, type Client } from "../../src/sdk/client.js";
import { sampleCommitFloorMs } from "../disk-floor.js";
import { endServerProcess, requestLoad, startServerProcess, type LoadOptions, type LoadResult } from "../http-load.js";
import { quantileOf, sampleMs, summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";
import { mainThreadMs, threadMs } from "../thread-time.js";

type Api = Client<typeof apiRoutes>;

interface Bench {
  readonly url: string;
  readonly token: string;
  readonly api: Api;
  readonly vaultId: string;
  readonly report: Report;
  readonly seconds: number;
  readonly warmUpRoundsMax: number;
  readonly server: ChildProcess;
  readonly plainUrl: string;
  /** On the server's disk. */
  readonly folder: string;
}
interface BenchKey {
  readonly id: string;
  readonly url: string;
}

const BATCH = 100;
/**
 * As many as keep both cores busy though answers wait for the disk (128 leave a sixth of them idle; the bare handler
 * gains nothing beyond); the same for both servers, and at half load, so that no request waits for a connection.
 */
const CONNECTIONS = 256;
/**
 * As many as it takes for the thread to have the next one at hand while the last answer is being written, sent and
 * read.
 */
const BATCHES_IN_FLIGHT = 4;
/** Turns of each that are compared. */
const TURNS = 5;
const CPU_SAMPLE_MS = 300;
/** By which the thread of batches is known; see src/vault/threads/vault-workers.ts. */
const BULK_NICENESS = 10;
/** Until all that serves a request has long been optimised code, as in a server that has been up for a minute. */
const WARM_UP_SINGLES = 15_000;
const WARM_UP_BATCHES = 400;
/** Quick signatures while slow work goes on: far from what the thread can do, so that only interference shows. */
const QUICK_PER_SEC = 200;
const SINGLE_SPECS = ["secp256k1", "Ed25519", "AES-256-GCM"] as const;
const DIGEST = "5a".repeat(32);
const KIB = "x".repeat(1024);

export const subject: BenchSubject = {
  name: "vault",
  title: "Vault: batches and single operations over HTTP against the bare library and a bare handler",
  run: async (report, { quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-vault-"));
    const server = await startServerProcess([
      "dist/src/cli.js",
      "server",
      "--port=0",
      `--data-dir=${join(folder, "data")}`,
      "--mode=development",
      "--log-level=error",
      "--rate-limits=false",
    ]);
    const plain = await startServerProcess(["dist/bench/peers/plain-vault.js"]);
    try {
      const bench = {
        ...(await prepare(server.url)),
        report,
        seconds: quick ? 3 : 10,
        warmUpRoundsMax: quick ? 2 : 5,
        server: server.child,
        plainUrl: plain.url,
        folder,
      };
      await benchBatches(bench, quick ? 4 : 8);
      await benchSingles(bench);
      await benchInterference(bench);
    } finally {
      await endServerProcess(plain.child);
      await endServerProcess(server.child);
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/**
 * Operations per second, and per second of the processor time of the one thread that does them, where the system tells.
 */
interface Rates {
  readonly perSec: number;
  readonly perCpuSec?: number | undefined;
  readonly samples: number;
  readonly note?: string;
}

/** What the library does for an operation, by a name for the row. */
type LibraryCases = Readonly<Record<string, () => unknown>>;

function libraryCases(): Readonly<Record<string, LibraryCases>> {
  const digest = Buffer.from(DIGEST, "hex");
  const key = secp256k1.utils.randomSecretKey();
  const publicKey = secp256k1.getPublicKey(key, false);
  const ecSign = (): Uint8Array => secp256k1.sign(digest, key, { prehash: false, lowS: true });
  const ecSignature = ecSign();
  const ecVerify = (): boolean => secp256k1.verify(ecSignature, digest, publicKey, { prehash: false, lowS: true });
  const ed = generateKeyPairSync("ed25519");
  const edKey = createPrivateKey({
    key: ed.privateKey.export({ format: "der", type: "pkcs8" }),
    format: "der",
    type: "pkcs8",
  });
  const edSign = (): Buffer => sign(null, digest, edKey);
  const edSignature = edSign();
  const aesKey = randomBytes(32);
  const encrypt = (): string => {
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", aesKey, nonce);
    return Buffer.concat([nonce, cipher.update(KIB, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("hex");
  };
  return {
    "secp256k1-sign": {
      library: ecSign,
      "library, self-verified": () => {
        ecSign();
        ecVerify();
      },
    },
    "secp256k1-verify": { library: ecVerify },
    "Ed25519-sign": {
      library: edSign,
      "library, signed twice": () => {
        edSign();
        edSign();
      },
    },
    "Ed25519-verify": { library: () => verify(null, digest, ed.publicKey, edSignature) },
    "AES-256-GCM-encrypt": { library: encrypt },
  };
}

/** Batches of 100 by a thread that does nothing else, per second by the clock and by processor time. */
async function libraryRates(run: () => unknown, samples: number): Promise<Rates> {
  const batch = (): void => {
    for (let i = 0; i < BATCH; i += 1) run();
  };
  const { median } = await sampleMs(batch, { samples, warmups: 1 });
  return { perSec: (1000 * BATCH) / median, perCpuSec: (1000 * BATCH) / cpuMs(batch), samples };
}

/**
 * Milliseconds of this thread for one run, over many: the system counts in steps of some. What helps the collector does
 * not count, with the server neither.
 */
function cpuMs(run: () => void): number {
  const beginMs = performance.now();
  const beforeMs = ownThreadMs();
  let runs = 0;
  do {
    run();
    runs += 1;
  } while (performance.now() - beginMs < CPU_SAMPLE_MS);
  return (ownThreadMs() - beforeMs) / runs;
}

function ownThreadMs(): number {
  const { user, system } = process.cpuUsage();
  return mainThreadMs(process.pid) ?? (user + system) / 1000;
}

async function prepare(url: string): Promise<Pick<Bench, "url" | "token" | "api" | "vaultId">> {
  const anonymous = createClient({ baseUrl: url }, apiRoutes);
  const credentials = { email: "bench@example.com", password: "only for measuring 1" };
  await anonymous.createUser({ body: { ...credentials, first_name: "B", last_name: "Ench" } });
  const token = (await anonymous.authenticate({ body: credentials })).body.token.access_token;
  const api = createClient({ baseUrl: url, token }, apiRoutes);
  return { url, token, api, vaultId: (await api.createVault({ body: { name: "bench" } })).body.id };
}

async function newKey({ api, url, vaultId }: Pick<Bench, "api" | "url" | "vaultId">, spec: string): Promise<BenchKey> {
  const { id } = (await api.createKey({ params: { id: vaultId }, body: { spec, name: spec } })).body;
  return { id, url: `${url}/api/v1/vaults/${vaultId}/keys/${id}` };
}

async function benchBatches(bench: Bench, samples: number): Promise<void> {
  const cases = libraryCases();
  const batch = (item: object): string => JSON.stringify({ batch: Array.from({ length: BATCH }, () => item) });
  const compare = async (id: string, url: string, item: object): Promise<void> => {
    const load = { url, token: bench.token, body: batch(item), connections: BATCHES_IN_FLIGHT };
    const perSec = await warmUp(load, { requests: WARM_UP_BATCHES, roundsMax: bench.warmUpRoundsMax });
    // By number, not by time: batches that the end cut short would have cost the thread time and not count.
    const requests = (seconds: number): number => Math.max(BATCHES_IN_FLIGHT, Math.round(perSec * seconds));
    const library = Object.entries(cases[id] ?? {}).map(
      ([peer, run]) => [peer, () => libraryRates(run, samples)] as const,
    );
    const rates = await byTurns(bench.seconds, [
      ["proofwright", (seconds) => batchRates(bench.server, { ...load, seconds, requests: requests(seconds) })],
      ...library,
    ]);
    for (const [peer, { perSec, perCpuSec, ...row }] of rates) {
      bench.report({ subject: "vault", id: `batch-${id}`, peer, unit: "ops/s", median: perSec, ...row });
      if (perCpuSec !== undefined)
        bench.report({
          subject: "vault",
          id: `batch-${id}-per-cpu-second`,
          peer,
          unit: "ops/s",
          median: perCpuSec,
          ...row,
        });
    }
  };
  for (const spec of ["secp256k1", "Ed25519"]) {
    const key = await newKey(bench, spec);
    await compare(`${spec}-sign`, `${key.url}/sign`, { message: DIGEST });
    const signed = (
      await bench.api.signMessage({ params: { id: bench.vaultId, key_id: key.id }, body: { message: DIGEST } })
    ).body;
    if (!("signature" in signed)) throw new Error("one message gives one signature");
    await compare(`${spec}-verify`, `${key.url}/verify`, { message: DIGEST, signature: signed.signature });
  }
  const aes = await newKey(bench, "AES-256-GCM");
  await compare("AES-256-GCM-encrypt", `${aes.url}/encrypt`, { data: KIB });
}

async function batchRates(server: ChildProcess, load: LoadOptions): Promise<Rates> {
  const before = threadMs(server, BULK_NICENESS);
  const result = await requestLoad(load);
  const after = threadMs(server, BULK_NICENESS);
  const cpuMs = before === undefined || after === undefined ? undefined : after - before;
  return {
    perSec: BATCH * result.perSec,
    perCpuSec: cpuMs && (1000 * BATCH * result.total) / cpuMs,
    samples: result.total,
    ...failures(result),
  };
}

/**
 * The medians of each peer's turns, the peers one after the other again and again: what slows the machine for a while
 * then slows all.
 */
async function byTurns(
  seconds: number,
  peers: readonly (readonly [string, (seconds: number) => Promise<Rates>])[],
): Promise<readonly (readonly [string, Rates])[]> {
  const turnSec = Math.max(1, Math.round(seconds / TURNS));
  const all = peers.map(([peer]) => [peer, [] as Rates[]] as const);
  for (let turn = 0; turn * turnSec < seconds; turn += 1) {
    for (const [index, [, run]] of peers.entries()) all[index]?.[1].push(await run(turnSec));
  }
  return all.map(([peer, turns]) => [peer, medianRates(turns)] as const);
}

function medianRates(turns: readonly Rates[]): Rates {
  const note = turns.find((turn) => turn.note !== undefined)?.note;
  const cpu = turns.flatMap(({ perCpuSec }) => (perCpuSec === undefined ? [] : [perCpuSec]));
  return {
    perSec: summarize(turns.map(({ perSec }) => perSec)).median,
    ...(cpu.length === 0 ? {} : { perCpuSec: summarize(cpu).median }),
    samples: turns.reduce((sum, { samples }) => sum + samples, 0),
    ...(note === undefined ? {} : { note }),
  };
}

/**
 * As many requests as were asked for, in rounds, unless the server is too slow for that. Answers how many a second the
 * last round had.
 */
async function warmUp(
  load: Omit<LoadOptions, "seconds">,
  { requests, roundsMax }: { readonly requests: number; readonly roundsMax: number },
): Promise<number> {
  let last = 0;
  for (let round = 0, sent = 0; round < roundsMax && sent < requests; round += 1) {
    const { total, perSec } = await requestLoad({ ...load, seconds: 3 });
    sent += total;
    last = perSec;
  }
  return last;
}

async function benchSingles(bench: Bench): Promise<void> {
  for (const spec of SINGLE_SPECS) {
    const key = await newKey(bench, spec);
    const [operation, item] = spec === "AES-256-GCM" ? ["encrypt", { data: KIB }] : ["sign", { message: DIGEST }];
    const load = { body: JSON.stringify(item), connections: CONNECTIONS };
    await benchSingle(bench, spec, [
      ["proofwright", { ...load, url: `${key.url}/${operation}`, token: bench.token }],
      ["bare uWS, inline", { ...load, url: `${bench.plainUrl}/${spec}` }],
    ]);
  }
}

/** As many requests as go, then the latency at half of that. */
async function benchSingle(
  { report, seconds, warmUpRoundsMax }: Bench,
  spec: string,
  peers: readonly (readonly [string, Omit<LoadOptions, "seconds">])[],
): Promise<void> {
  for (const [, load] of peers) await warmUp(load, { requests: WARM_UP_SINGLES, roundsMax: warmUpRoundsMax });
  const full = await byTurns(
    seconds,
    peers.map(([peer, load]) => [
      peer,
      async (turnSec) => {
        const result = await requestLoad({ ...load, seconds: turnSec });
        return { perSec: result.perSec, samples: result.total, ...failures(result) };
      },
    ]),
  );
  for (const [index, [peer, { perSec, ...row }]] of full.entries()) {
    report({ subject: "vault", id: `single-${spec}`, peer, unit: "ops/s", median: perSec, ...row });
    const load = peers[index]?.[1];
    if (load === undefined) continue;
    const half = await requestLoad({ ...load, seconds, perSec: Math.max(1, Math.floor(perSec / 2)) });
    report({
      subject: "vault",
      id: `single-${spec}-half-load-p50`,
      peer,
      unit: "ms",
      median: half.p50,
      samples: half.total,
      ...failures(half),
    });
    report({
      subject: "vault",
      id: `single-${spec}-half-load-p99`,
      peer,
      unit: "ms",
      median: half.p99,
      samples: half.total,
      ...failures(half),
    });
  }
}

async function benchInterference(bench: Bench): Promise<void> {
  const key = await newKey(bench, "Ed25519");
  const [bls, rsa] = [await newKey(bench, "BLS12-381"), await newKey(bench, "RSA-4096")];
  const quick = {
    url: `${key.url}/sign`,
    token: bench.token,
    body: JSON.stringify({ message: DIGEST }),
    seconds: bench.seconds,
    connections: CONNECTIONS,
    perSec: QUICK_PER_SEC,
  };
  const slowBatch = (slow: BenchKey): Promise<unknown> =>
    bench.api.signMessage({
      params: { id: bench.vaultId, key_id: slow.id },
      body: { batch: Array.from({ length: 20 }, () => ({ message: DIGEST })) },
    });
  const works: [string, (() => Promise<unknown>) | undefined][] = [
    ["idle", undefined],
    ["RSA-4096-generation", async () => await newKey(bench, "RSA-4096")],
    ["BLS-batches", async () => await slowBatch(bls)],
    ["RSA-4096-batches", async () => await slowBatch(rsa)],
  ];
  const { p99, total } = await requestLoad({ ...quick, url: `${bench.plainUrl}/Ed25519` });
  bench.report({
    subject: "vault",
    id: "Ed25519-p99-during-idle",
    peer: "bare uWS, inline",
    unit: "ms",
    median: p99,
    samples: total,
  });
  const floor = await sampleCommitFloorMs(bench.folder, { perSec: QUICK_PER_SEC, seconds: bench.seconds });
  bench.report({
    subject: "vault",
    id: "Ed25519-p99-during-idle",
    peer: "the disk alone, two flushes",
    unit: "ms",
    median: quantileOf(floor, 0.99),
    samples: floor.length,
  });
  let idle: LoadResult | undefined;
  for (const [id, work] of works) {
    const background = work === undefined ? undefined : keepDoing(work);
    const result = await requestLoad(quick);
    await background?.();
    bench.report({
      subject: "vault",
      id: `Ed25519-p99-during-${id}`,
      peer: "proofwright",
      unit: "ms",
      median: result.p99,
      samples: result.total,
      ...failures(result),
    });
    idle ??= result;
    if (work === undefined) continue;
    bench.report({
      subject: "vault",
      id: `Ed25519-p99-during-${id}`,
      peer: "the same without other work",
      unit: "ms",
      median: idle.p99,
      samples: idle.total,
    });
  }
}

/** Repeats work until the answer is called, which waits for its end. */
function keepDoing(work: () => Promise<unknown>): () => Promise<void> {
  const ending = new AbortController();
  const loop = (async () => {
    while (!ending.signal.aborted) await work();
  })();
  return async () => {
    ending.abort();
    await loop;
  };
}

function failures({ failed }: LoadResult): { note?: string } {
  return failed > 0 ? { note: `${String(failed)} failed` } : {};
}
