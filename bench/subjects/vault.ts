/**
 * The vault over HTTP against the bare library: batches of 100 on one vault thread against one thread that calls the library and does
 * nothing else; single operations, their latency at half load, and the same handler without a vault; and what a quick signature feels
 * of RSA keys being made and slow batches running.
 */
import { createCipheriv, createPrivateKey, generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { apiRoutes } from "../../src/api.js";
import { createClient, type Client } from "../../src/client.js";
import { endServerProcess, requestLoad, startServerProcess, type LoadResult } from "../http-load.js";
import { sampleMs } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

type Api = Client<typeof apiRoutes>;

interface Bench {
  readonly url: string;
  readonly token: string;
  readonly api: Api;
  readonly vaultId: string;
  readonly report: Report;
  readonly seconds: number;
}
interface BenchKey {
  readonly id: string;
  readonly url: string;
}

const BATCH = 100;
/** As many as keep a server busy whose answers wait for the disk; the same for both. */
const CONNECTIONS_FULL = 64;
const CONNECTIONS = 10;
/** Two requests in flight, so that the thread never waits for the next one. */
const BATCHES_IN_FLIGHT = 2;
/** Quick signatures while slow work goes on: far from what the thread can do, so that only interference shows. */
const QUICK_PER_SEC = 200;
const SINGLE_SPECS = ["secp256k1", "Ed25519", "AES-256-GCM"] as const;
const DIGEST = "5a".repeat(32);
const KIB = "x".repeat(1024);

export const subject: BenchSubject = {
  name: "vault",
  title: "Vault: batches and single operations over HTTP against the bare library and a bare handler",
  run: async (report, { quick }) => {
    const seconds = quick ? 3 : 10;
    await benchLibrary(report, quick ? 5 : 20);
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-vault-"));
    const server = await startServerProcess(["dist/src/cli.js", "server", "--port=0", `--data-dir=${join(folder, "data")}`, "--mode=development", "--log-level=error", "--rate-limits=false"]);
    try {
      const bench = await prepare(server.url, report, seconds);
      await benchBatches(bench);
      await benchSingles(bench);
      await benchInterference(bench);
    } finally {
      await endServerProcess(server.child);
      rmSync(folder, { recursive: true, force: true });
    }
    await benchPlain(report, seconds);
  },
};

/** Batches of 100 by a thread that does nothing else. */
async function benchLibrary(report: Report, samples: number): Promise<void> {
  const digest = Buffer.from(DIGEST, "hex");
  const key = secp256k1.utils.randomSecretKey();
  const publicKey = secp256k1.getPublicKey(key, false);
  const ecSign = (): Uint8Array => secp256k1.sign(digest, key, { prehash: false, lowS: true });
  const ecSignature = ecSign();
  const ecVerify = (): boolean => secp256k1.verify(ecSignature, digest, publicKey, { prehash: false, lowS: true });
  const ed = generateKeyPairSync("ed25519");
  const edKey = createPrivateKey({ key: ed.privateKey.export({ format: "der", type: "pkcs8" }), format: "der", type: "pkcs8" });
  const edSign = (): Buffer => sign(null, digest, edKey);
  const edSignature = edSign();
  const edVerify = (): boolean => verify(null, digest, ed.publicKey, edSignature);
  const aesKey = randomBytes(32);
  const encrypt = (): void => {
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", aesKey, nonce);
    Buffer.concat([nonce, cipher.update(KIB, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("hex");
  };
  const cases: [string, string, () => void][] = [
    ["secp256k1-sign", "library", ecSign], ["secp256k1-sign", "library, self-verified", () => { ecSign(); ecVerify(); }], ["secp256k1-verify", "library", ecVerify],
    ["Ed25519-sign", "library", edSign], ["Ed25519-sign", "library, signed twice as we do", () => { edSign(); edSign(); }], ["Ed25519-verify", "library", edVerify],
    ["AES-256-GCM-encrypt", "library", encrypt],
  ];
  for (const [id, peer, run] of cases) {
    const { median } = await sampleMs(() => { for (let i = 0; i < BATCH; i += 1) run(); }, { samples, warmups: 5 });
    report({ subject: "vault", id: `batch-${id}`, peer, unit: "ops/s", median: (1000 * BATCH) / median, samples });
  }
}

async function prepare(url: string, report: Report, seconds: number): Promise<Bench> {
  const anonymous = createClient({ baseUrl: url }, apiRoutes);
  const credentials = { email: "bench@example.com", password: "only for measuring 1" };
  await anonymous.createUser({ body: { ...credentials, first_name: "B", last_name: "Ench" } });
  const token = (await anonymous.authenticate({ body: credentials })).body.token.access_token;
  const api = createClient({ baseUrl: url, token }, apiRoutes);
  return { url, token, api, vaultId: (await api.createVault({ body: { name: "bench" } })).body.id, report, seconds };
}

async function newKey({ api, url, vaultId }: Bench, spec: string): Promise<BenchKey> {
  const { id } = (await api.createKey({ params: { id: vaultId }, body: { spec, name: spec } })).body;
  return { id, url: `${url}/api/v1/vaults/${vaultId}/keys/${id}` };
}

async function benchBatches(bench: Bench): Promise<void> {
  const batch = (item: object): string => JSON.stringify({ batch: Array.from({ length: BATCH }, () => item) });
  for (const spec of ["secp256k1", "Ed25519"]) {
    const key = await newKey(bench, spec);
    await batchLoad(bench, `${spec}-sign`, `${key.url}/sign`, batch({ message: DIGEST }));
    const signed = (await bench.api.signMessage({ params: { id: bench.vaultId, key_id: key.id }, body: { message: DIGEST } })).body;
    if (!("signature" in signed)) throw new Error("one message gives one signature");
    await batchLoad(bench, `${spec}-verify`, `${key.url}/verify`, batch({ message: DIGEST, signature: signed.signature }));
  }
  const aes = await newKey(bench, "AES-256-GCM");
  await batchLoad(bench, "AES-256-GCM-encrypt", `${aes.url}/encrypt`, batch({ data: KIB }));
}

async function batchLoad({ token, report, seconds }: Bench, id: string, url: string, body: string): Promise<void> {
  const result = await requestLoad({ url, token, body, seconds, connections: BATCHES_IN_FLIGHT });
  report({ subject: "vault", id: `batch-${id}`, peer: "proofwright", unit: "ops/s", median: BATCH * result.perSec, samples: result.total, ...failures(result) });
}

async function benchSingles(bench: Bench): Promise<void> {
  for (const spec of SINGLE_SPECS) {
    const key = await newKey(bench, spec);
    const [url, body] = spec === "AES-256-GCM" ? [`${key.url}/encrypt`, JSON.stringify({ data: KIB })] : [`${key.url}/sign`, JSON.stringify({ message: DIGEST })];
    await single(bench.report, "proofwright", spec, { url, token: bench.token, body, seconds: bench.seconds });
  }
}

async function benchPlain(report: Report, seconds: number): Promise<void> {
  const plain = await startServerProcess(["dist/bench/peers/plain-vault.js"]);
  try {
    for (const spec of SINGLE_SPECS) await single(report, "bare uWS, inline", spec, { url: `${plain.url}/${spec}`, body: JSON.stringify(spec === "AES-256-GCM" ? { data: KIB } : { message: DIGEST }), seconds });
  } finally {
    await endServerProcess(plain.child);
  }
}

/** As many requests as go, then the latency at half of that. */
async function single(report: Report, peer: string, spec: string, load: { url: string; token?: string; body: string; seconds: number }): Promise<void> {
  // Until both threads run optimised code.
  await requestLoad({ ...load, seconds: 3, connections: CONNECTIONS_FULL });
  const full = await requestLoad({ ...load, connections: CONNECTIONS_FULL });
  report({ subject: "vault", id: `single-${spec}`, peer, unit: "ops/s", median: full.perSec, samples: full.total, ...failures(full) });
  const half = await requestLoad({ ...load, connections: CONNECTIONS, perSec: Math.max(CONNECTIONS, Math.floor(full.perSec / 2)) });
  report({ subject: "vault", id: `single-${spec}-half-load-p50`, peer, unit: "ms", median: half.p50, samples: half.total, ...failures(half) });
  report({ subject: "vault", id: `single-${spec}-half-load-p99`, peer, unit: "ms", median: half.p99, samples: half.total, ...failures(half) });
}

async function benchInterference(bench: Bench): Promise<void> {
  const key = await newKey(bench, "Ed25519");
  const [bls, rsa] = [await newKey(bench, "BLS12-381"), await newKey(bench, "RSA-4096")];
  const quick = { url: `${key.url}/sign`, token: bench.token, body: JSON.stringify({ message: DIGEST }), seconds: bench.seconds, connections: CONNECTIONS, perSec: QUICK_PER_SEC };
  const slowBatch = (slow: BenchKey): Promise<unknown> => bench.api.signMessage({ params: { id: bench.vaultId, key_id: slow.id }, body: { batch: Array.from({ length: 20 }, () => ({ message: DIGEST })) } });
  const works: [string, (() => Promise<unknown>) | undefined][] = [
    ["idle", undefined],
    ["RSA-4096-generation", async () => await newKey(bench, "RSA-4096")],
    ["BLS-batches", async () => await slowBatch(bls)],
    ["RSA-4096-batches", async () => await slowBatch(rsa)],
  ];
  for (const [id, work] of works) {
    const background = work === undefined ? undefined : keepDoing(work);
    const result = await requestLoad(quick);
    await background?.();
    bench.report({ subject: "vault", id: `Ed25519-p99-during-${id}`, peer: "proofwright", unit: "ms", median: result.p99, samples: result.total, ...failures(result) });
  }
}

/** Repeats work until the answer is called, which waits for its end. */
function keepDoing(work: () => Promise<unknown>): () => Promise<void> {
  let going = true;
  const loop = (async () => { while (going) await work(); })();
  return async () => {
    going = false;
    await loop;
  };
}

function failures({ failed }: LoadResult): { note?: string } {
  return failed > 0 ? { note: `${String(failed)} failed` } : {};
}
