/**
 * Commands that take or give secrets: of vaults, and the 24 words of the seal. They come from a file, a pipe or a
 * prompt that shows nothing, and are never arguments, which every user of the machine can list.
 */
import { writeFile } from "node:fs/promises";
import { StartError } from "../../platform/start-error.js";
import { readPhrases } from "../read-phrases.js";
import { readTextFile } from "../read-text-file.js";
import type { CommandInput } from "./command-spec.js";
import { recordLines } from "./print-records.js";
import { printResult } from "./print-result.js";
import { signedIn } from "./signed-in.js";

/** The server takes 4096 bytes at most; it says so itself. */
const SECRET_BYTES_MAX = 64 * 1024;

/** Stores a secret. */
export async function runSecretCreate(input: CommandInput): Promise<number> {
  const client = await signedIn(input.flags);
  const value = await secretFrom(input.text("valueFile"), `Value of ${input.argument(1)}`);
  const created = await client.secrets.create(input.argument(0), {
    ...{ name: input.argument(1), type: input.required("type"), value },
    ...input.members({ description: "description" }),
  });
  printResult(input.flags, created, () => recordLines(created));
  return 0;
}

/**
 * Writes the value of a secret to a new file, or to standard output, byte for byte.
 * @throws StartError when standard output is a terminal and nobody asked to see it
 */
export async function runSecretRead(input: CommandInput): Promise<number> {
  const output = input.text("output");
  if (output === undefined && process.stdout.isTTY && !input.isSet("show"))
    throw new StartError("the secret would be shown on the terminal: pass --output=FILE, a pipe, or --show.");
  const client = await signedIn(input.flags);
  const secret = await client.secrets.get(input.argument(0), input.argument(1));
  if (output !== undefined) {
    await writeNewFile(output, secret.value);
    printResult(input.flags, { output }, () => [`The secret is in ${output}.`]);
    return 0;
  }
  // A program reads the value as it was stored; a person's terminal gets an end of line.
  if (input.flags.json === true) process.stdout.write(`${JSON.stringify(secret)}\n`);
  else process.stdout.write(process.stdout.isTTY ? `${secret.value}\n` : secret.value);
  return 0;
}

/** Unseals the vaults. */
export async function runUnseal(input: CommandInput): Promise<number> {
  const client = await signedIn(input.flags);
  await client.seal.unseal(await sealKeyFrom(input));
  printResult(input.flags, { sealed: false }, () => ["The vaults are unsealed."]);
  return 0;
}

/** Seals the vaults. Fails where nodes of a cluster have not said in time that they are sealed. */
export async function runSeal(input: CommandInput): Promise<number> {
  const client = await signedIn(input.flags);
  const answer = await client.seal.seal(await sealKeyFrom(input));
  const waitingFor = answer?.waiting_for ?? [];
  if (waitingFor.length === 0) {
    printResult(input.flags, { sealed: true }, () => ["The vaults are sealed."]);
    return 0;
  }
  printResult(input.flags, { sealed: true, waiting_for: waitingFor }, () => [
    `This node is sealed, and these have not said so: ${waitingFor.join(", ")}. Each seals when it hears of it.`,
  ]);
  return 1;
}

/**
 * Writes a text to a new file that only its user may read.
 * @throws StartError when there is a file of that name
 */
export async function writeNewFile(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST")
      throw new StartError(`${path} exists already; it stays as it is.`);
    throw error;
  }
}

async function sealKeyFrom(input: CommandInput): Promise<string> {
  const file = input.text("keyFile");
  const text = file === undefined ? await phrase("The 24 words of the seal key") : await readTextFile(file, 4096);
  return text.trim().split(/\s+/).join(" ");
}

/** A value may have several lines in a file or a pipe, of which an end of line at the end is not part. */
async function secretFrom(file: string | undefined, prompt: string): Promise<string> {
  if (file === undefined && process.stdin.isTTY) return await phrase(prompt);
  const text = file === undefined ? await wholePipe() : await readTextFile(file, SECRET_BYTES_MAX);
  const value = text.replace(/\r?\n$/, "");
  if (value === "") throw new StartError("the value of the secret is empty.");
  return value;
}

async function phrase(prompt: string): Promise<string> {
  const [bytes = new Uint8Array()] = await readPhrases([prompt]);
  const text = Buffer.from(bytes).toString("utf8");
  bytes.fill(0);
  if (text === "") throw new StartError("nothing was entered.");
  return text;
}

async function wholePipe(): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > SECRET_BYTES_MAX) throw new StartError("the input is longer than a secret may be.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
