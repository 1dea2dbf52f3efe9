/**
 * The first proof with a key against the next ones, over HTTP: after a start of the server, whose images of keys are
 * read while it waits for the first request, and after a start of one that keeps none and makes the key again.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { apiRoutes } from "../../src/api.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { BuiltInCircuits } from "../../src/prover/provisioning/sources.js";
import { createClient, type Client } from "../../src/sdk/client.js";
import { endServerProcess, startServerProcess } from "../http-load.js";
import { summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

type Api = Client<typeof apiRoutes>;

/** Built-in circuits; of the last, the key is also made from its file. */
const CIRCUITS = ["eddsa_signature", "merkle_membership", "sha256_preimage"] as const;
const CREDENTIALS = { email: "bench@example.com", password: "only for measuring 1" };
/** A server opens the keys that were in use, and rehearses their first proofs, in less. */
const REST_MS = 3_000;
/** Proofs after the first one. */
const NEXT = 3;

export const subject: BenchSubject = {
  name: "first",
  title: "the first proof after a start of the server, and the next ones",
  run: async (report, { quick }) => {
    for (const circuit of quick ? CIRCUITS.slice(-1) : CIRCUITS) await measureCircuit(circuit, quick ? 3 : 7, report);
  },
};

async function measureCircuit(circuit: string, starts: number, report: Report): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-first-"));
  try {
    const id = await onServer(folder, [], async (api) => await provisioned(api, circuit));
    await measure({ circuit, folder, id, name: "kept", flags: [], starts }, report);
    if (circuit === CIRCUITS.at(-1))
      await measure({ circuit, folder, id, name: "made", flags: ["--key-image-mb=0"], starts }, report);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Measured {
  readonly circuit: string;
  readonly folder: string;
  readonly id: string;
  readonly name: "kept" | "made";
  readonly flags: readonly string[];
  readonly starts: number;
}

async function measure({ circuit, folder, id, name, flags, starts }: Measured, report: Report): Promise<void> {
  const first: number[] = [];
  const next: number[] = [];
  for (let start = 0; start < starts; start += 1) {
    await onServer(folder, flags, async (api) => {
      await delay(REST_MS);
      first.push(await prove(api, id, circuit));
      for (let i = 0; i < NEXT; i += 1) next.push(await prove(api, id, circuit));
    });
  }
  const note = name === "kept" ? "its image is read at the start" : "opened from its file at the start";
  const row = { subject: "first", circuit, peer: "proofwright", unit: "ms" } as const;
  report({ ...row, id: `first-${name}`, ...summarize(first), note });
  report({ ...row, id: `next-${name}`, ...summarize(next), note: "the proofs after it" });
}

async function prove(api: Api, id: string, circuit: string): Promise<number> {
  const { satisfyingInputs } = new BuiltInCircuits({ folder: join(PACKAGE_ROOT, "circuits") }).get(circuit);
  const startedAt = performance.now();
  await api.prove({ params: { id }, body: { witness: satisfyingInputs as Record<string, unknown> } });
  return performance.now() - startedAt;
}

async function provisioned(api: Api, circuit: string): Promise<string> {
  const body = { identifier: circuit, proving_scheme: "groth16", curve: "BN254" };
  const { body: prover } = await api.createProver({ body, preferWaitSec: 60 });
  if (prover.status !== "provisioned") throw new Error(`${circuit}: ${prover.status}`);
  await prove(api, prover.id, circuit);
  // Its image is written after the first proof.
  await delay(REST_MS);
  return prover.id;
}

/** Runs the work with a server on the folder, which ends afterwards. */
async function onServer<Value>(
  folder: string,
  flags: readonly string[],
  work: (api: Api) => Promise<Value>,
): Promise<Value> {
  const server = await startServerProcess([
    ...["dist/src/cli.js", "server", "--port=0", "--mode=development", "--log-level=error", "--rate-limits=false"],
    ...["--analysis-seconds=0", `--data-dir=${join(folder, "data")}`, ...flags],
  ]);
  try {
    const anonymous = createClient({ baseUrl: server.url }, apiRoutes);
    await anonymous.createUser({ body: { ...CREDENTIALS, first_name: "B", last_name: "Ench" } }).catch(() => undefined);
    const token = (await anonymous.authenticate({ body: CREDENTIALS })).body.token.access_token;
    return await work(createClient({ baseUrl: server.url, token }, apiRoutes));
  } finally {
    await endServerProcess(server.child);
  }
}
