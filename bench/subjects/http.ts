/**
 * Latency over HTTP while proofs saturate the cores: an authenticated GET and a verification at a fixed rate, first on
 * an idle server, then with proving under way; before that, how many requests a second each HTTP driver answers. Server, proof clients and load generator are processes of their own. The
 * peer is what people write first: node:http that calls snarkjs in its own process.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiRoutes } from "../../src/api.js";
import { createClient, type Client } from "../../src/sdk/client.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { endServerProcess, requestLoad, startServerProcess, type LoadResult } from "../http-load.js";
import type { BenchSubject, Report } from "../subject.js";

type Api = Client<typeof apiRoutes>;

interface Prover {
  readonly id: string;
  readonly circuit: string;
  readonly witness: Readonly<Record<string, unknown>>;
  readonly proof: string;
}

const GET_PER_SEC = 200;
const VERIFY_PER_SEC = 20;
const CONNECTIONS = 10;
const PEER_CIRCUIT = "merkle_membership";
const PEER_FILES = ["inputs.json", "circuit.wasm", "circuit.zkey"] as const;
/** Enough proofs in flight that no proving thread ever waits for one. */
const PROOFS_IN_FLIGHT = 4;

export const subject: BenchSubject = {
  name: "http",
  title: "HTTP: latency of GET and verify, idle and while proofs saturate the cores",
  run: async (report, { quick }) => {
    const seconds = quick ? 5 : 15;
    await benchDrivers(seconds, report);
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-http-"));
    const server = await startServerProcess([
      "dist/src/cli.js",
      "server",
      "--port=0",
      `--data-dir=${join(folder, "data")}`,
      "--mode=development",
      "--log-level=error",
      "--rate-limits=false",
    ]);
    try {
      await benchServer(
        server.url,
        { circuits: quick ? [PEER_CIRCUIT] : [PEER_CIRCUIT, "sha256_preimage"], seconds, peerFolder: folder },
        report,
      );
      await endServerProcess(server.child);
      const plain = await startServerProcess([
        "dist/bench/peers/plain-server.js",
        ...PEER_FILES.map((name) => join(folder, name)),
      ]);
      try {
        await benchPlain(plain.url, seconds, report);
      } finally {
        await endServerProcess(plain.child);
      }
    } finally {
      await endServerProcess(server.child);
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Requests a second of both drivers, as many as go, in turn with handlers that do nothing over the same libraries. */
async function benchDrivers(seconds: number, report: Report): Promise<void> {
  for (const driver of ["uws", "node"]) {
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-http-"));
    const ours = await startServerProcess([
      "dist/src/cli.js",
      "server",
      ...["--port=0", "--mode=development", "--log-level=error", "--rate-limits=false"],
      `--data-dir=${join(folder, "data")}`,
      `--http=${driver}`,
    ]);
    const plain = await startServerProcess(["dist/bench/peers/plain-http.js", driver]);
    try {
      const { token } = await logIn(ours.url);
      const load = { seconds, connections: CONNECTIONS * 5 };
      const result = await requestLoad({ ...load, url: `${ours.url}/api/v1/provers`, token });
      reportRate(report, { peer: "proofwright", driver }, result);
      reportRate(report, { peer: `plain ${driver}`, driver }, await requestLoad({ ...load, url: `${plain.url}/` }));
    } finally {
      await Promise.all([endServerProcess(ours.child), endServerProcess(plain.child)]);
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

function reportRate(report: Report, { peer, driver }: { peer: string; driver: string }, load: LoadResult): void {
  report({
    subject: "http",
    id: `get-${driver}`,
    peer,
    unit: "ops/s",
    median: load.perSec,
    samples: load.total,
    ...(load.failed > 0 ? { note: `${String(load.failed)} failed` } : {}),
  });
}

async function benchServer(
  url: string,
  { circuits, seconds, peerFolder }: { circuits: readonly string[]; seconds: number; peerFolder: string },
  report: Report,
): Promise<void> {
  const { api, token } = await logIn(url);
  const provers: Prover[] = [];
  for (const circuit of circuits) provers.push(await provision(api, circuit));
  const [first] = provers;
  if (first === undefined) return;
  await keepForPeer(api, first, peerFolder);
  const getUrl = `${url}/api/v1/provers/${first.id}`;
  reportLatency(report, "proofwright", "get-idle", await loadGet(getUrl, token, seconds));
  reportLatency(report, "proofwright", "verify-idle", await loadVerify(url, first, token, seconds));
  for (const prover of provers) {
    const proving = keepProving(api, prover);
    reportLatency(report, "proofwright", "get-while-proving", await loadGet(getUrl, token, seconds), prover.circuit);
    reportLatency(
      report,
      "proofwright",
      "verify-while-proving",
      await loadVerify(url, first, token, seconds),
      prover.circuit,
    );
    const { proofs, elapsedSec } = await proving.stop();
    report({
      subject: "http",
      id: "proofs-under-load",
      circuit: prover.circuit,
      peer: "proofwright",
      unit: "ops/s",
      median: proofs / elapsedSec,
      samples: proofs,
    });
  }
}

async function benchPlain(url: string, seconds: number, report: Report): Promise<void> {
  const proving = keepRequesting(async () => {
    await (await fetch(`${url}/prove`, { method: "POST" })).arrayBuffer();
  });
  reportLatency(
    report,
    "node:http + snarkjs",
    "get-while-proving",
    await loadGet(`${url}/`, undefined, seconds),
    PEER_CIRCUIT,
  );
  const { proofs, elapsedSec } = await proving.stop();
  report({
    subject: "http",
    id: "proofs-under-load",
    circuit: PEER_CIRCUIT,
    peer: "node:http + snarkjs",
    unit: "ops/s",
    median: proofs / elapsedSec,
    samples: proofs,
  });
}

function reportLatency(report: Report, peer: string, id: string, latency: LoadResult, circuit?: string): void {
  const where = circuit === undefined ? {} : { circuit };
  const note = latency.failed > 0 ? { note: `${String(latency.failed)} failed` } : {};
  report({
    subject: "http",
    id: `${id}-p50`,
    ...where,
    peer,
    unit: "ms",
    median: latency.p50,
    samples: latency.total,
    ...note,
  });
  report({
    subject: "http",
    id: `${id}-p99`,
    ...where,
    peer,
    unit: "ms",
    median: latency.p99,
    samples: latency.total,
    ...note,
  });
}

async function logIn(url: string): Promise<{ api: Api; token: string }> {
  const anonymous = createClient({ baseUrl: url }, apiRoutes);
  const credentials = { email: "bench@example.com", password: "only for measuring 1" };
  await anonymous.createUser({ body: { ...credentials, first_name: "B", last_name: "Ench" } });
  const token = (await anonymous.authenticate({ body: credentials })).body.token.access_token;
  return { api: createClient({ baseUrl: url, token }, apiRoutes), token };
}

async function provision(api: Api, circuit: string): Promise<Prover> {
  const { satisfying } = JSON.parse(readFileSync(join(PACKAGE_ROOT, "circuits", circuit, "inputs.json"), "utf8")) as {
    satisfying: Readonly<Record<string, unknown>>;
  };
  const { id } = (
    await api.createProver({
      body: { identifier: circuit, proving_scheme: "groth16", curve: "BN254", provider: "circom", name: circuit },
    })
  ).body;
  for (;;) {
    const { body } = await api.getProverStatus({ params: { id } });
    if (body.status === "failed") throw new Error(`${circuit}: ${body.errors[0]?.message ?? "failed"}`);
    if (body.finished) break;
    await new Promise((resolve) => {
      setTimeout(resolve, 200);
    });
  }
  const { proof } = (await api.prove({ params: { id }, body: { witness: satisfying } })).body;
  return { id, circuit, witness: satisfying, proof };
}

/** The peer proves the same statement with the same key. */
async function keepForPeer(api: Api, prover: Prover, folder: string): Promise<void> {
  const [inputs, wasm, zkey] = PEER_FILES;
  writeFileSync(join(folder, inputs), JSON.stringify(prover.witness));
  writeFileSync(
    join(folder, wasm),
    (await api.getProverArtifact({ params: { id: prover.id, name: "circuit.wasm" } })).bytes,
  );
  writeFileSync(
    join(folder, zkey),
    (await api.getProverArtifact({ params: { id: prover.id, name: "proving_key.zkey" } })).bytes,
  );
}

function keepProving(api: Api, prover: Prover): { stop: () => Promise<{ proofs: number; elapsedSec: number }> } {
  return keepRequesting(async () => {
    await api.prove({ params: { id: prover.id }, body: { witness: prover.witness } });
  });
}

/** Keeps a number of requests in flight until stopped, and counts those that ended well. */
function keepRequesting(request: () => Promise<void>): { stop: () => Promise<{ proofs: number; elapsedSec: number }> } {
  let going = true;
  let proofs = 0;
  const startedMs = performance.now();
  const loops = Array.from({ length: PROOFS_IN_FLIGHT }, async () => {
    while (going) {
      await request();
      proofs += 1;
    }
  });
  return {
    stop: async () => {
      going = false;
      await Promise.all(loops);
      return { proofs, elapsedSec: (performance.now() - startedMs) / 1000 };
    },
  };
}

async function loadVerify(url: string, prover: Prover, token: string, seconds: number): Promise<LoadResult> {
  const body = JSON.stringify({ witness: prover.witness, proof: prover.proof });
  return await requestLoad({
    url: `${url}/api/v1/provers/${prover.id}/verify`,
    token,
    body,
    perSec: VERIFY_PER_SEC,
    seconds,
    connections: CONNECTIONS,
  });
}

async function loadGet(url: string, token: string | undefined, seconds: number): Promise<LoadResult> {
  return await requestLoad({
    url,
    ...(token === undefined ? {} : { token }),
    perSec: GET_PER_SEC,
    seconds,
    connections: CONNECTIONS,
  });
}
