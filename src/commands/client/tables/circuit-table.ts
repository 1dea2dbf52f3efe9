/** Circuits, proofs and the files of provers. */
import type { Proofwright } from "../../../sdk/proofwright.js";
import { LIMIT, answering, limited, type CommandSpec, type OptionSpec } from "../command-spec.js";
import { tableOf } from "../print-records.js";

type JobFilters = NonNullable<Parameters<Proofwright["jobs"]["list"]>[0]>;
const JOB_STATUSES = ["queued", "running", "succeeded", "failed", "cancelled", "expired"];

/** The commands of `circuit`. */
const FOLDERS: readonly CommandSpec[] = [
  {
    usage: "circuit init [folder]",
    summary: "write a proofwright.json and a first circuit",
    run: async (input) => (await circuits()).runCircuitInit(input.argument(0) || ".", input.flags),
  },
  {
    usage: "circuit check [folder]",
    summary: "compile the circuit on this machine",
    run: async (input) => (await circuits()).runCircuitCheck(input.argument(0) || ".", input.flags),
  },
  {
    usage: "circuit deploy [folder]",
    summary: "make a prover of the folder and wait for its keys; the same source again changes nothing",
    run: async (input) => (await circuits()).runCircuitDeploy(input.argument(0) || ".", input.flags),
  },
  {
    usage: "circuit list",
    summary: "list the provers",
    run: async ({ flags }) => (await circuits()).runCircuitList(flags),
  },
  {
    usage: "circuit schema",
    summary: "print the JSON schema of proofwright.json",
    run: async () => (await circuits()).printManifestSchema(),
  },
];

const OUTPUT: OptionSpec = { flag: "--output <file>", summary: "write the proof there; standard output unless given" };

/** The commands of proofs that are made as jobs. */
const JOBS: readonly CommandSpec[] = [
  {
    usage: "job list",
    summary: "list the jobs that make proofs, oldest first",
    options: [
      LIMIT,
      { flag: "--status <status>", summary: "only these", values: JOB_STATUSES },
      { flag: "--batch <id>", summary: "only those of a batch" },
    ],
    run: answering(
      async (client, input) =>
        limited(client.jobs.list(input.members({ status: "status", batch: "batch_id" }) as JobFilters), input),
      tableOf(["id", "created_at", "status", "position", "prover_id"], "There is no job."),
    ),
  },
  {
    usage: "job show <job>",
    summary: "show a job, with its proof once it is made",
    run: answering(async (client, input) => client.jobs.get(input.argument(0))),
  },
  {
    usage: "job wait <job>",
    summary: "wait for the proof of a job",
    options: [OUTPUT],
    run: async (input) =>
      (await proofs()).runJobWait(input.argument(0), { ...input.flags, ...input.members({ output: "output" }) }),
  },
  {
    usage: "job cancel <job>",
    summary: "cancel a job, or delete the record of one that has ended",
    run: answering(async (client, input) => client.jobs.delete(input.argument(0))),
  },
];

/** The commands of circuits and proofs. */
export const CIRCUIT_COMMANDS: readonly CommandSpec[] = [
  ...FOLDERS,
  {
    usage: "prove <prover>",
    summary: "make a proof",
    options: [
      {
        flag: "--inputs <file>",
        summary: "JSON of the inputs by signal name; /dev/stdin for a pipe",
        isRequired: true,
      },
      OUTPUT,
      { flag: "--async", summary: "start a job that makes the proof, and print its id" },
    ],
    run: async (input) =>
      (await proofs()).runProve(input.argument(0), {
        ...{ ...input.flags, inputs: input.required("inputs"), async: input.isSet("async") },
        ...input.members({ output: "output" }),
      }),
  },
  ...JOBS,
  {
    usage: "verify <prover>",
    summary: "verify a proof",
    options: [
      { flag: "--proof <file>", summary: "what `prove` printed", isRequired: true },
      {
        flag: "--inputs <file>",
        summary: "JSON of the public inputs and outputs; those in the proof's file unless given",
      },
    ],
    run: async (input) =>
      (await proofs()).runVerify(input.argument(0), {
        ...{ ...input.flags, proof: input.required("proof") },
        ...input.members({ inputs: "inputs" }),
      }),
  },
  {
    usage: "artifacts pull <prover> [names...]",
    summary: "download files of a prover, all unless some are named",
    options: [{ flag: "--to <folder>", summary: "where they go", byDefault: "." }],
    run: async (input) =>
      (await proofs()).runArtifactsPull(input.argument(0), input.arguments(1), {
        ...input.flags,
        to: input.required("to"),
      }),
  },
];

async function circuits() {
  return await import("../circuit-commands.js");
}

async function proofs() {
  return await import("../proof-commands.js");
}
