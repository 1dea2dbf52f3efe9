/**
 * What a receipt adds to a verification over HTTP: the same request with and without it in turns, one after the other
 * over one connection, so that both see the same machine; then a batch, and the cost of further verifiers.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiRoutes } from "../../src/api.js";
import { createClient, type Client } from "../../src/sdk/client.js";
import { endServerProcess, startServerProcess } from "../http-load.js";
import { sampleMs, summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

type Api = Client<typeof apiRoutes>;

const WITNESS = { X: "3", Y: "35" };
const BATCH_ITEMS = 64;
const WARMUPS = 50;
/** Longest wait of a prover in seconds. */
const WAIT_SEC = 60;

export const subject: BenchSubject = {
  name: "receipts",
  title: "Receipts: what they add to a verification over HTTP",
  run: async (report, { quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-receipts-"));
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
      await benchReceipts(server.url, quick ? 300 : 2000, report);
    } finally {
      await endServerProcess(server.child);
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function benchReceipts(url: string, samples: number, report: Report): Promise<void> {
  const api = await logIn(url);
  const body = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254" };
  const { id } = (await api.createProver({ body, preferWaitSec: WAIT_SEC })).body;
  const { proof } = (await api.prove({ params: { id }, body: { witness: WITNESS } })).body;
  const item = { proof, public_signals: ["35"] };
  const verify = async (more: object): Promise<void> => {
    const answer = await api.verify({ params: { id }, body: { ...item, ...more } });
    if (!answer.body.result) throw new Error("the proof does not verify");
  };
  const row = { subject: "receipts", circuit: "cubic", peer: "proofwright", unit: "ms" } as const;
  const [plain, signed] = await inTurns(
    async () => {
      await verify({});
    },
    async () => {
      await verify({ receipt: true });
    },
    samples,
  );
  report({ ...row, id: "verify-http", ...summarize(plain), note: "without a receipt" });
  report({ ...row, id: "verify-http-receipt", ...summarize(signed), note: "with a receipt" });
  const added = summarize(signed).median - summarize(plain).median;
  report({ ...row, id: "receipt-added", median: added, samples, note: "difference of the medians" });

  const batchOf = (more: object) => async (): Promise<void> => {
    const batch = Array.from({ length: BATCH_ITEMS }, () => item);
    const answer = await api.verify({ params: { id }, body: { batch, ...more } });
    if (!answer.body.result) throw new Error("a proof of the batch does not verify");
  };
  const [plainBatch, signedBatch] = await inTurns(batchOf({}), batchOf({ receipt: true }), Math.ceil(samples / 10));
  const perItem = (summarize(signedBatch).median - summarize(plainBatch).median) / BATCH_ITEMS;
  report({ ...row, id: "receipt-added-batch-64", median: perItem, samples: signedBatch.length, note: "for each item" });

  const triple = async (): Promise<void> => {
    await verify({ assurance: "triple" });
  };
  await triple();
  const sampled = await sampleMs(triple, { samples: Math.ceil(samples / 20), warmups: 3 });
  report({ ...row, id: "verify-http-triple", ...sampled, note: "kernels, noble, EVM; the contract is compiled" });
}

/** Times two actions in turns; milliseconds of each. */
async function inTurns(
  first: () => Promise<void>,
  second: () => Promise<void>,
  samples: number,
): Promise<[number[], number[]]> {
  const times: [number[], number[]] = [[], []];
  for (let i = -WARMUPS; i < samples; i += 1)
    for (const [which, action] of [first, second].entries()) {
      const startedMs = performance.now();
      await action();
      if (i >= 0) times[which]?.push(performance.now() - startedMs);
    }
  return times;
}

async function logIn(url: string): Promise<Api> {
  const anonymous = createClient({ baseUrl: url }, apiRoutes);
  const credentials = { email: "bench@example.com", password: "only for measuring 1" };
  await anonymous.createUser({ body: { ...credentials, first_name: "B", last_name: "Ench" } });
  const token = (await anonymous.authenticate({ body: credentials })).body.token.access_token;
  return createClient({ baseUrl: url, token }, apiRoutes);
}
