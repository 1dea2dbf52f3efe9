/** Files that a command is given by name. */
import { createReadStream } from "node:fs";
import { StartError } from "../platform/start-error.js";

/**
 * Reads a file, or a pipe such as `<(…)` of a shell, as UTF-8.
 * @throws StartError when it cannot be read or is longer than `bytesMax`
 */
export async function readTextFile(path: string, bytesMax: number): Promise<string> {
  if (path === "") throw new StartError("the name of a file is empty.");
  const chunks: Buffer[] = [];
  try {
    let bytes = 0;
    // A pipe tells no length before its end.
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new StartError(`${path} is longer than ${bytesMax / 1024 ** 2} MiB.`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * Reads a text as JSON.
 * @throws StartError that calls the text `what`
 */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new StartError(`${what} is no JSON.`);
  }
}
