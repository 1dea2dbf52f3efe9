/**
 * Nodes that only compute: how many waiting proofs one worker makes in a second, and how many two make, each with one
 * thread. The server takes the requests and makes none; it and PostgreSQL share the cores with the workers.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { apiRoutes } from "../../src/api.js";
import { canonicalPhrase, entropyPhrase, validationHash } from "../../src/crypto/wallets/seal-phrase.js";
import { openClusterKey } from "../../src/platform/cluster/cluster-key.js";
import { AUDIT_SECRET } from "../../src/platform/cluster/cluster-secrets.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { createClient, type Client } from "../../src/sdk/client.js";
import { startPostgres } from "../cluster/postgres.js";
import { endServerProcess } from "../http-load.js";
import type { BenchSubject, Report } from "../subject.js";

type Api = Client<typeof apiRoutes>;

const CIRCUIT = "merkle_membership";
const INPUTS = JSON.parse(readFileSync(join(PACKAGE_ROOT, "circuits", CIRCUIT, "inputs.json"), "utf8")) as {
  readonly satisfying: Record<string, string | string[]>;
};
const witness = INPUTS.satisfying;
const TURNS = 3;
const WAIT_SEC = 120;

export const subject: BenchSubject = {
  name: "workers",
  title: `Workers of a cluster with one thread each, on ${String(cpus().length)} cores`,
  run: async (report, { quick }) => {
    const postgres = await startPostgres();
    if (postgres === undefined) throw new Error("PostgreSQL's programs are not installed: apt-get install postgresql");
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-workers-"));
    const nodes: ChildProcess[] = [];
    try {
      const env = await makeCluster(await postgres.newDatabase(), folder);
      const start = async (command: "server" | "worker", name: string): Promise<string> => {
        const node = await startNode(command, { name, folder, env });
        nodes.push(node.child);
        return node.url;
      };
      await measure(report, { proofs: quick ? 20 : 80, start });
    } finally {
      for (const node of nodes.reverse()) await endServerProcess(node);
      rmSync(folder, { recursive: true, force: true });
      await postgres.stop();
    }
  },
};

interface Measured {
  /** Of one run. */
  readonly proofs: number;
  readonly start: (command: "server" | "worker", name: string) => Promise<string>;
}

async function measure(report: Report, { proofs, start }: Measured): Promise<void> {
  const api = await logIn(await start("server", "front"));
  await start("worker", "first");
  const { body: prover } = await api.createProver({
    body: { identifier: CIRCUIT, proving_scheme: "groth16", curve: "BN254" },
    preferWaitSec: WAIT_SEC,
  });
  if (prover.status !== "provisioned") throw new Error(`${CIRCUIT}: ${prover.status}`);
  // Opens the key.
  await proofsPerSec(api, prover.id, 2);
  const one = await best(api, prover.id, proofs);
  await start("worker", "second");
  await proofsPerSec(api, prover.id, 8);
  const two = await best(api, prover.id, proofs);
  const row = { subject: "workers", id: "proofs", circuit: CIRCUIT, unit: "ops/s", samples: TURNS } as const;
  report({ ...row, peer: "one worker", median: one });
  report({ ...row, peer: "two workers", median: two, note: `${(two / one).toFixed(2)} of one` });
}

/** The rate of the fastest of some turns: other work of the machine only slows. */
async function best(api: Api, prover: string, proofs: number): Promise<number> {
  let rate = 0;
  for (let turn = 0; turn < TURNS; turn += 1) rate = Math.max(rate, await proofsPerSec(api, prover, proofs));
  return rate;
}

async function proofsPerSec(api: Api, prover: string, proofs: number): Promise<number> {
  const batch = Array.from({ length: proofs }, () => ({ witness }));
  const startedMs = performance.now();
  const { body } = await api.proveBatch({
    params: { id: prover },
    body: { batch },
    headers: { Prefer: "respond-async" },
  });
  for (const item of body.batch) {
    if (!("id" in item)) throw new Error("a proof was not taken");
    const { id } = item;
    const { body: job } = await api.getJob({ params: { id }, preferWaitSec: WAIT_SEC });
    if (job.status !== "succeeded") throw new Error(`a proof ended as ${job.status}: ${job.error?.message ?? ""}`);
  }
  return (1000 * proofs) / (performance.now() - startedMs);
}

interface NodeParts {
  readonly name: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Makes an empty cluster. Returns the settings of its nodes, which unseal themselves. */
async function makeCluster(databaseUrl: string, folder: string): Promise<Readonly<Record<string, string>>> {
  const keyFile = join(folder, "cluster-key");
  const secrets = new Map([[AUDIT_SECRET, randomBytes(32)]]);
  await initCluster({ databaseUrl, clusterKey: await openClusterKey(keyFile), secrets });
  const phrase = Buffer.from(entropyPhrase(randomBytes(32)));
  const hash = Buffer.from(validationHash(canonicalPhrase(phrase) ?? new Uint8Array())).toString("hex");
  return {
    ...{ PROOFWRIGHT_DATABASE_URL: databaseUrl, PROOFWRIGHT_CLUSTER_KEY_FILE: keyFile },
    ...{ SEAL_UNSEAL_KEY: phrase.toString("utf8"), SEAL_UNSEAL_VALIDATION_HASH: hash },
    ...{ PROOFWRIGHT_ISSUER: "https://bench.test", PROOFWRIGHT_DATABASE_REPLICATED: "true" },
  };
}

/** Starts a server that makes no proofs by itself, or a worker with one thread; resolves when it is ready. */
async function startNode(
  command: "server" | "worker",
  { name, folder, env }: NodeParts,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const settings =
    command === "server"
      ? ["--port=0", "--rate-limits=false", "--analysis-seconds=0", "--labels=none"]
      : ["--prove-threads=1", "--prove-helpers=0"];
  const args = ["dist/src/cli.js", command, ...settings, `--data-dir=${join(folder, name)}`, `--node-name=${name}`];
  const child = spawn(process.execPath, [...args, "--log-level=error"], {
    cwd: PACKAGE_ROOT,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", (status) => {
      reject(new Error(`${name} ended with status ${String(status)}`));
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = / on (https?:\S+)$/.exec(line)?.[1];
      if (found !== undefined || line.startsWith("Proofwright computes for the cluster")) resolve(found ?? "");
    });
  });
  return { child, url };
}

async function logIn(url: string): Promise<Api> {
  const [email, password] = ["workers@example.com", "waiting proofs 7"];
  const anonymous = createClient({ baseUrl: url }, apiRoutes);
  await anonymous.createUser({ body: { email, password, first_name: "Ada", last_name: "Lovelace" } });
  const { body } = await anonymous.authenticate({ body: { email, password } });
  return createClient({ baseUrl: url, token: body.token.access_token }, apiRoutes);
}
