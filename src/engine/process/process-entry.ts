/**
 * The child's side of platform/pool/process-task.ts: reads the request from the task's private folder, runs it, writes
 * the answer and ends. process-message.ts has the form of both.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeMessage, encodeMessage, partFile } from "./process-message.js";

/** Names inside the task's folder, shared with the parent. */
export const REQUEST_FILE = "request";
export const ANSWER_FILE = "answer";
/** Exit code for an answer over its limit; apart from the ones Node uses (1 to 13). */
export const EXIT_ANSWER_TOO_LARGE = 65;

/** Reports to the parent the share of the task that is done, 0 to 1. */
type ReportProgress = (share: number) => void;

/** Faster than people can follow. */
const REPORT_EVERY_MS = 100;

/**
 * Runs a handler on the request named by the command line: `node entry.js FOLDER ANSWER_BYTES_MAX`. The process ends
 * when the handler has answered, even if threads or timers remain. A handler that throws is a crash.
 * @param handler its parameter's type is what the parent sends; `never` because nothing checks it here
 */
export async function runProcessEntry(
  handler: (request: never, report: ReportProgress) => Promise<unknown>,
): Promise<never> {
  const [, , folder, answerBytesMax] = process.argv;
  if (folder === undefined || answerBytesMax === undefined) throw new Error("usage: entry FOLDER ANSWER_BYTES_MAX");
  const { head, parts } = encodeMessage(
    await handler(readRequest(join(folder, REQUEST_FILE)) as never, progressReporter()),
  );
  if (parts.reduce((sum, part) => sum + part.length, head.length) > Number(answerBytesMax))
    process.exit(EXIT_ANSWER_TOO_LARGE);
  const file = join(folder, ANSWER_FILE);
  parts.forEach((part, i) => writeFileSync(partFile(file, i), part, { mode: 0o600 }));
  // The head comes last and is renamed into place, so that a process that is killed leaves no partial answer.
  writeFileSync(`${file}.new`, head, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  process.exit(0);
}

/** One line per report on standard output, which carries nothing else. */
function progressReporter(): ReportProgress {
  let reportedAt = -Infinity;
  return (share) => {
    const now = performance.now();
    if (now - reportedAt < REPORT_EVERY_MS) return;
    reportedAt = now;
    process.stdout.write(`${share.toFixed(3)}\n`);
  };
}

function readRequest(file: string): unknown {
  const parts: Uint8Array[] = [];
  while (existsSync(partFile(file, parts.length))) parts.push(readFileSync(partFile(file, parts.length)));
  return decodeMessage({ head: readFileSync(file), parts });
}
