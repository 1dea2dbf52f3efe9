/**
 * Reads phrases from a terminal without showing them, or line by line from a pipe; as bytes, so that they can be wiped.
 */
import { StartError } from "../platform/start-error.js";

/** Several times the length of two phrases. */
const INPUT_BYTES_MAX = 4096;
const ENTER = new Set([0x0a, 0x0d]);
const BACKSPACE = new Set([0x08, 0x7f]);
const CONTROL_C = 0x03;
const CONTROL_D = 0x04;

/**
 * Reads one phrase per prompt, each as bytes that the caller wipes.
 * @throws StartError when the input ends too early or is too long
 */
export async function readPhrases(prompts: readonly string[]): Promise<Uint8Array[]> {
  return process.stdin.isTTY ? await fromTerminal(prompts) : await fromPipe(prompts);
}

async function fromPipe(prompts: readonly string[]): Promise<Uint8Array[]> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > INPUT_BYTES_MAX) throw new StartError("the input is too long for the phrases asked for.");
    chunks.push(chunk);
  }
  const input = Buffer.concat(chunks);
  for (const chunk of chunks) chunk.fill(0);
  const lines: Uint8Array[] = [];
  for (let at = 0; at < input.length;) {
    const end = input.indexOf(0x0a, at);
    const line = input.subarray(at, end < 0 ? input.length : end);
    if (line.length > 0) lines.push(new Uint8Array(line));
    at += line.length + 1;
  }
  input.fill(0);
  if (lines.length !== prompts.length)
    throw new StartError(
      `the input must be ${String(prompts.length)} line${prompts.length === 1 ? "" : "s"}: ${prompts.join(", ")}.`,
    );
  return lines;
}

async function fromTerminal(prompts: readonly string[]): Promise<Uint8Array[]> {
  const answers: Uint8Array[] = [];
  process.stdin.setRawMode(true);
  try {
    for (const prompt of prompts) {
      process.stderr.write(`${prompt} (not shown): `);
      answers.push(await readHiddenLine());
      process.stderr.write("\n");
    }
    return answers;
  } finally {
    process.stdin.setRawMode(false);
    process.stdin.pause();
  }
}

async function readHiddenLine(): Promise<Uint8Array> {
  const typed = Buffer.alloc(INPUT_BYTES_MAX);
  let length = 0;
  return await new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      process.stdin.off("data", take);
      process.stdin.pause();
      settle();
      typed.fill(0);
    };
    const take = (chunk: Buffer): void => {
      for (const byte of chunk) {
        if (byte === CONTROL_C || byte === CONTROL_D || length === typed.length) {
          end(() => {
            reject(new StartError("stopped."));
          });
          return;
        }
        if (ENTER.has(byte)) {
          end(() => {
            resolve(new Uint8Array(typed.subarray(0, length)));
          });
          return;
        }
        if (BACKSPACE.has(byte)) length = Math.max(0, length - 1);
        else typed[length++] = byte;
      }
      chunk.fill(0);
    };
    process.stdin.on("data", take);
    process.stdin.resume();
  });
}
