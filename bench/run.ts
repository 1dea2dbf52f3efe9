/**
 * `npm run bench`: all subjects; `npm run bench -- NAME ...`: some; `--quick`: fewer samples and small circuits;
 * `--list`: names. Prints one JSON line per row on standard output and a table of all rows at the end on standard
 * error.
 */
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import type { BenchRow, BenchSubject } from "./subject.js";
import { tableOf } from "./table.js";

/** Each subject's module loads only when it runs: some of them keep threads. */
const SUBJECTS: Readonly<Record<string, () => Promise<{ readonly subject: BenchSubject }>>> = {
  prove: async () => await import("./subjects/prove.js"),
  cores: async () => await import("./subjects/cores.js"),
  bls: async () => await import("./subjects/bls.js"),
  verify: async () => await import("./subjects/verify.js"),
  receipts: async () => await import("./subjects/receipts.js"),
  plonk: async () => await import("./subjects/plonk.js"),
  fflonk: async () => await import("./subjects/fflonk.js"),
  ptau: async () => await import("./subjects/ptau.js"),
  large: async () => await import("./subjects/large.js"),
  setup: async () => await import("./subjects/setup.js"),
  ceremony: async () => await import("./subjects/ceremony.js"),
  provision: async () => await import("./subjects/provision.js"),
  first: async () => await import("./subjects/first.js"),
  native: async () => await import("./subjects/native.js"),
  kernels: async () => await import("./subjects/kernels.js"),
  wide: async () => await import("./subjects/wide.js"),
  store: async () => await import("./subjects/store.js"),
  tables: async () => await import("./subjects/tables.js"),
  trees: async () => await import("./subjects/trees.js"),
  http: async () => await import("./subjects/http.js"),
  identity: async () => await import("./subjects/identity.js"),
  vault: async () => await import("./subjects/vault.js"),
  events: async () => await import("./subjects/events.js"),
  chain: async () => await import("./subjects/chain.js"),
  cluster: async () => await import("./subjects/cluster.js"),
  workers: async () => await import("./subjects/workers.js"),
};

function machine(): { cpu: string; cores: number; node: string; commit: string } {
  const commit = ((): string => {
    try {
      return execFileSync("git", ["rev-parse", "--short", "HEAD"], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      }).trim();
    } catch {
      return "unknown";
    }
  })();
  return { cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length, node: process.version, commit };
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const names = Object.keys(SUBJECTS);
  if (values.help || values.list) {
    process.stdout.write(`npm run bench -- [--quick] [NAME ...]\nSubjects: ${names.join(", ")}\n`);
    return 0;
  }
  const unknown = positionals.find((name) => !Object.hasOwn(SUBJECTS, name));
  if (unknown !== undefined) {
    process.stderr.write(`bench: no subject "${unknown}"; there are ${names.join(", ")}\n`);
    return 2;
  }
  const rows: BenchRow[] = [];
  const here = machine();
  process.stdout.write(`${JSON.stringify({ machine: here })}\n`);
  for (const name of positionals.length > 0 ? positionals : names) {
    const load = SUBJECTS[name];
    if (load === undefined) continue;
    const { subject } = await load();
    process.stderr.write(`${subject.title} …\n`);
    await subject.run(
      (row) => {
        rows.push(row);
        process.stdout.write(`${JSON.stringify(row)}\n`);
      },
      { quick: values.quick },
    );
  }
  const { cpu, cores, node, commit } = here;
  process.stderr.write(`\n${cpu}, ${cores} cores, Node ${node}, commit ${commit}\n${tableOf(rows)}\n`);
  return 0;
}

main().then(
  (status) => {
    process.exit(status);
  },
  (error: unknown) => {
    process.stderr.write(`bench: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
