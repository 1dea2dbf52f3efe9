/**
 * From the request that creates a prover to its keys, over HTTP: a circuit that the server has never seen, the largest
 * built-in one, and the same circuit again. No analysis runs, which the server would begin when the prover is ready.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiRoutes } from "../../src/api.js";
import { createClient, type Client } from "../../src/sdk/client.js";
import { endServerProcess, startServerProcess } from "../http-load.js";
import { summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

type Api = Client<typeof apiRoutes>;
type NewProver = NonNullable<Parameters<Api["createProver"]>[0]["body"]>;

/** A circuit under measurement; the number makes it a new one each time. */
interface Case {
  readonly id: string;
  readonly circuit: string;
  readonly samples: number;
  readonly body: (sample: number) => Pick<NewProver, "identifier" | "source" | "fresh_setup">;
}

const WAIT_SEC = 60;
const TICKS_PER_SEC = 100;

export const subject: BenchSubject = {
  name: "provision",
  title: "provisioning over HTTP: a new circuit, a built-in one, the same again",
  run: async (report, { quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-provision-"));
    const server = await startServerProcess([
      ...["dist/src/cli.js", "server", "--port=0", "--mode=development", "--log-level=error", "--rate-limits=false"],
      ...["--analysis-seconds=0", `--data-dir=${join(folder, "data")}`],
    ]);
    try {
      const api = await logIn(server.url);
      for (const each of casesOf(quick)) await measure(api, server.child.pid ?? 0, each, report);
    } finally {
      await endServerProcess(server.child);
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

function casesOf(quick: boolean): Case[] {
  const samples = quick ? 3 : 9;
  const few = quick ? 1 : 3;
  const small = (constant: number): string =>
    `pragma circom 2.1.0;\ntemplate A() { signal input x; signal input y; y === x * x + ${String(constant)}; }\ncomponent main {public [y]} = A();\n`;
  return [
    { id: "new-circuit", circuit: "1 constraint", samples, body: (sample) => ({ source: small(sample) }) },
    { id: "same-circuit", circuit: "1 constraint", samples, body: () => ({ source: small(0) }) },
    {
      ...{ id: "built-in", circuit: "sha256_preimage", samples: few },
      body: () => ({ identifier: "sha256_preimage", fresh_setup: true }),
    },
    // The first of these makes the keys, and is not counted.
    { id: "same-circuit", circuit: "sha256_preimage", samples, body: () => ({ identifier: "sha256_preimage" }) },
  ];
}

async function measure(api: Api, pid: number, { id, circuit, samples, body }: Case, report: Report): Promise<void> {
  const waited: number[] = [];
  const worked: number[] = [];
  for (let sample = 0; sample <= samples; sample += 1) {
    const before = processorMs(pid);
    const startedAt = performance.now();
    const { body: prover } = await api.createProver({
      body: { proving_scheme: "groth16", curve: "BN254", ...body(sample) },
      preferWaitSec: WAIT_SEC,
    });
    if (prover.status !== "provisioned") throw new Error(`${circuit}: ${prover.status}`);
    if (sample === 0) continue;
    waited.push(performance.now() - startedAt);
    worked.push(processorMs(pid) - before);
  }
  const row = { subject: "provision", circuit, peer: "proofwright", unit: "ms" } as const;
  report({ ...row, id, ...summarize(waited) });
  report({ ...row, id: `${id}-processor`, ...summarize(worked), note: "processor time of server and processes" });
}

/** Processor time of a process and of its children that have ended. */
function processorMs(pid: number): number {
  const fields =
    readFileSync(`/proc/${String(pid)}/stat`, "latin1")
      .split(") ")
      .at(-1)
      ?.split(" ") ?? [];
  return (fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 1000) / TICKS_PER_SEC;
}

async function logIn(url: string): Promise<Api> {
  const anonymous = createClient({ baseUrl: url }, apiRoutes);
  const credentials = { email: "bench@example.com", password: "only for measuring 1" };
  await anonymous.createUser({ body: { ...credentials, first_name: "B", last_name: "Ench" } });
  const token = (await anonymous.authenticate({ body: credentials })).body.token.access_token;
  return createClient({ baseUrl: url, token }, apiRoutes);
}
