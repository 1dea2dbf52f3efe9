/** `proofwright prove`, `verify`, `job wait` and `artifacts pull`. */
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { StartError } from "../../platform/start-error.js";
import { ProgressLine } from "../../progress-line.js";
import type { Proofwright } from "../../sdk/proofwright.js";
import type { ProveResult } from "../../sdk/types.js";
import { parseJson, readTextFile } from "../read-text-file.js";
import { printResult } from "./print-result.js";
import { signedIn, type ClientFlags } from "./signed-in.js";

type ProveBody = Parameters<Proofwright["provers"]["prove"]>[1];
type VerifyBody = Parameters<Proofwright["provers"]["verify"]>[1];

/** The proof in snarkjs' form beside the server's own. */
const FORM = { format: "snarkjs" } as const;
/** A job has a day at most. */
const WAIT_MS = 86_400_000;
/** As long as the server's longest body of inputs. */
const INPUT_BYTES_MAX = 64 * 1024 * 1024;
/** Names of files that the server gives; none leads out of the folder. */
const ARTIFACT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

interface OutputFlags extends ClientFlags {
  readonly output?: string;
}

interface ProveFlags extends OutputFlags {
  readonly inputs: string;
  /** Answers at once with a job that makes the proof. */
  readonly async: boolean;
}

/** Proves with a file of inputs by signal name. The answer goes to the file --output, or to standard output. */
export async function runProve(prover: string, flags: ProveFlags): Promise<number> {
  const witness = await readObject<NonNullable<ProveBody["witness"]>>(flags.inputs);
  const client = await signedIn(flags);
  if (!flags.async) return await writeProof(await client.provers.prove(prover, { witness }, FORM), flags);
  const job = await client.jobs.start(prover, { witness }, FORM);
  printResult(flags, job, () => [
    `The proof is made by the job ${job.id}; \`proofwright job wait ${job.id}\` waits for it.`,
  ]);
  return 0;
}

/** Waits for the proof of a job, which goes where that of prove goes. A signal ends the wait, and not the job. */
export async function runJobWait(id: string, flags: OutputFlags): Promise<number> {
  const { jobs } = await signedIn(flags);
  const proof = process.stderr.isTTY
    ? await new ProgressLine(process.stderr).step(id, async (report) =>
        jobs.waitUntilDone(id, { onProgress: ({ progress, status }) => report(progress, status), timeoutMs: WAIT_MS }),
      )
    : await jobs.waitUntilDone(id, { timeoutMs: WAIT_MS });
  return await writeProof(proof, flags);
}

async function writeProof(answer: ProveResult, flags: OutputFlags): Promise<number> {
  const text = JSON.stringify(answer);
  if (flags.output === undefined) {
    process.stdout.write(`${text}\n`);
    return 0;
  }
  await writeFile(flags.output, `${text}\n`, { mode: 0o600 });
  const { output } = flags;
  printResult(flags, { output }, () => [`The proof is in ${output}.`]);
  return 0;
}

interface VerifyFlags extends ClientFlags {
  readonly proof: string;
  readonly inputs?: string;
}

/** Verifies what prove answered, with its public signals or those of --inputs. Returns 0 when valid, 1 otherwise. */
export async function runVerify(prover: string, flags: VerifyFlags): Promise<number> {
  const answer = await readObject<VerifyBody>(flags.proof);
  if (answer.proof === undefined && answer.snarkjs === undefined)
    throw new StartError(`${flags.proof} has no member "proof"; take what \`proofwright prove\` printed.`);
  const body =
    flags.inputs === undefined
      ? answer
      : {
          ...(answer.proof === undefined ? {} : { proof: answer.proof }),
          witness: await readObject<NonNullable<VerifyBody["witness"]>>(flags.inputs),
        };
  const { result } = await (await signedIn(flags)).provers.verify(prover, body);
  printResult(flags, { result }, () => [result ? "The proof is valid." : "The proof is not valid."]);
  return result ? 0 : 1;
}

/** Downloads files of a prover, all unless some are named. Files of the same names are replaced. */
export async function runArtifactsPull(
  prover: string,
  names: readonly string[],
  flags: ClientFlags & { readonly to: string },
): Promise<number> {
  const client = await signedIn(flags);
  const wanted = names.length > 0 ? names : (await client.provers.artifacts(prover)).map(({ name }) => name);
  const wrong = wanted.find((name) => !ARTIFACT_NAME.test(name));
  if (wrong !== undefined) throw new StartError(`"${wrong}" is not the name of a file of a prover.`);
  const folder = resolve(flags.to);
  await mkdir(folder, { recursive: true });
  for (const name of wanted) await writeFile(join(folder, name), await client.provers.artifact(prover, name));
  printResult(flags, { folder, files: wanted }, () => wanted.map((name) => join(folder, name)));
  return 0;
}

/** @throws StartError when the file cannot be read or holds no object of JSON */
async function readObject<T extends object>(path: string): Promise<T> {
  const value = parseJson(await readTextFile(path, INPUT_BYTES_MAX), path);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new StartError(`${path} holds no JSON object.`);
  // The server says which members are wrong.
  return value as T;
}
