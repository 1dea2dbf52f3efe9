/**
 * Runs one task in its own process: for work that may never end, may use too much memory, or holds secrets that must
 * not outlive it. Request and answer are files in a private folder that is removed afterwards. Whatever the child does,
 * the result is a union. The command line, as far as the system offers the tools (process-sandbox.ts):
 *
 *   nice | unshare --net | setpriv | prlimit | node ENTRY FOLDER ANSWER_BYTES_MAX
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { constants } from "node:fs";
import { open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { ANSWER_FILE, EXIT_ANSWER_TOO_LARGE, REQUEST_FILE } from "../../engine/process/process-entry.js";
import { decodeMessage, encodeMessage, partFile, PARTS_MAX } from "../../engine/process/process-message.js";
import { probeSandboxTools, sandboxed, type ProcessLimits, type SandboxTools } from "./process-sandbox.js";
import { Sandbox } from "./sandbox.js";
import { traced } from "../tracing/steps.js";
import { makeTaskFolder, removeStaleFolders } from "./task-folders.js";

export interface ProcessTaskLimits extends Omit<ProcessLimits, "fileBytesMax"> {
  readonly deadlineMs: number;
  /** Resident memory of the process and of those that it started, code and WebAssembly memory included. */
  readonly memoryBytesMax: number;
  /** Serialised size of the answer. */
  readonly answerBytesMax: number;
  /** V8 heap in MiB. Byte arrays and WebAssembly memory lie outside of it. */
  readonly heapMegabytesMax: number;
}

export interface ProcessTask<Request> {
  /** Absolute path of a compiled script that calls `runProcessEntry`; see `workerPath`. */
  readonly entry: string;
  /**
   * Anything that can be structurally cloned. Large byte arrays are written without a copy on this thread.
   */
  readonly request: Request;
  readonly limits: ProcessTaskLimits;
  /** True for work on source of a user: it is refused where the sandbox is required and incomplete. */
  readonly isUntrusted?: boolean;
  /** Kills the process with all its threads at once. */
  readonly signal?: AbortSignal;
  /** Called with the completed share of the work, 0 to 1, if the entry reports it. */
  readonly onProgress?: (share: number) => void;
  /** Folder in which the private folder is created; the system's temporary folder by default. */
  readonly parentFolder?: string;
}

export interface ProcessTaskFailure {
  readonly ok: false;
  readonly code: "deadline" | "memory" | "aborted" | "crashed" | "output" | "sandbox";
  /** For people; contains nothing of the request and no path. */
  readonly message: string;
  /** The last characters of its standard error. For the log only: it may quote source text and host paths. */
  readonly stderr?: string;
}

export type ProcessTaskResult<Answer> = { readonly ok: true; readonly value: Answer } | ProcessTaskFailure;

/** Time between two checks of the memory; a process that fills 1 GB in a second exceeds its limit by up to 50 MB. */
const MEMORY_POLL_MS = 50;
/** A task starts one program at a time. */
const CHILDREN_MAX = 16;
const STDERR_CHARS_KEPT = 8_192;
/** Added to the size of the answer for the kernel's limit on file sizes: room for small files of Node itself. */
const FILE_BYTES_SLACK = 1024 * 1024;
const PROGRESS_LINE = /^(0\.\d{1,6}|1(\.0{1,6})?)$/;
const PROGRESS_LINE_CHARS_MAX = 16;

const MESSAGES = {
  deadline: "the task exceeded its time limit",
  memory: "the task exceeded its memory limit",
  aborted: "the task was cancelled",
  crashed: "the task ended without an answer",
  output: "the answer of the task exceeded its size limit",
} as const satisfies Record<Exclude<ProcessTaskFailure["code"], "sandbox">, string>;

/** Runs tasks in processes. One per server is enough. */
export class ProcessTasks {
  #sandbox: Promise<Sandbox> | undefined;
  #sweep: Promise<void> | undefined;

  /** @param options.sandbox the server's; probed at the first task by default, with missing limits allowed */
  constructor(options: { readonly sandbox?: Sandbox } = {}) {
    this.#sandbox = options.sandbox === undefined ? undefined : Promise.resolve(options.sandbox);
  }

  /**
   * Runs one task to its end. Starting a process takes about 50 ms.
   * @returns the answer, or the reason why there is none; rejects only when the request cannot be written (full disk,
   *   no temporary folder)
   */
  run<Request, Answer>(task: ProcessTask<Request>): Promise<ProcessTaskResult<Answer>> {
    const name = `process ${basename(task.entry, ".js")}`;
    return traced({ name, kind: "internal" }, () => this.#run<Request, Answer>(task));
  }

  async #run<Request, Answer>(task: ProcessTask<Request>): Promise<ProcessTaskResult<Answer>> {
    if (task.signal?.aborted === true) return failure("aborted");
    const sandbox = await (this.#sandbox ??= lenientSandbox());
    if (task.isUntrusted === true && sandbox.refusal !== undefined)
      return { ok: false, code: "sandbox", message: sandbox.refusal };
    const parentFolder = task.parentFolder ?? tmpdir();
    await (this.#sweep ??= removeStaleFolders(parentFolder));
    const folder = await makeTaskFolder(parentFolder);
    try {
      await writeRequest(join(folder, REQUEST_FILE), task.request);
      const taskFailure = await runToEnd(task, folder, sandbox.tools);
      if (taskFailure !== undefined) return taskFailure;
      return await readAnswer<Answer>(join(folder, ANSWER_FILE), task.limits.answerBytesMax);
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    }
  }
}

async function lenientSandbox(): Promise<Sandbox> {
  return new Sandbox({ mode: "auto", tools: await probeSandboxTools() });
}

type KillReason = "deadline" | "memory" | "aborted";

/** @returns undefined when the process succeeded and should have written an answer */
async function runToEnd<Request>(
  task: ProcessTask<Request>,
  folder: string,
  tools: SandboxTools,
): Promise<ProcessTaskFailure | undefined> {
  const { limits, signal } = task;
  // Checked again: the signal may have fired while the request was written, and then it calls no new listener.
  if (signal?.aborted === true) return failure("aborted");
  const child = start(task, folder, tools);
  const stderr = collectTail(child);
  if (task.onProgress !== undefined) readProgress(child, task.onProgress);
  let killed: KillReason | undefined;
  const kill = (reason: KillReason): void => {
    killed ??= reason;
    killGroup(child);
  };
  const onAbort = (): void => kill("aborted");
  signal?.addEventListener("abort", onAbort, { once: true });
  const deadline = setTimeout(() => kill("deadline"), limits.deadlineMs);
  const stopWatching = watchMemory(child, limits.memoryBytesMax, () => kill("memory"));
  try {
    const { code, signal: endSignal } = await ended(child);
    return outcomeOf({ killed, code, signal: endSignal, stderr: stderr() });
  } finally {
    clearTimeout(deadline);
    stopWatching();
    signal?.removeEventListener("abort", onAbort);
  }
}

function start<Request>(task: ProcessTask<Request>, folder: string, tools: SandboxTools): ChildProcess {
  const { limits } = task;
  const node = [
    process.execPath,
    `--max-old-space-size=${limits.heapMegabytesMax}`,
    task.entry,
    folder,
    String(limits.answerBytesMax),
  ];
  const [program = "", ...args] = sandboxed(
    node,
    { ...limits, fileBytesMax: limits.answerBytesMax + FILE_BYTES_SLACK },
    tools,
  );
  return spawn(program, args, {
    cwd: folder,
    // Nothing of the server's environment, which may hold seal keys and credentials; nor any options of Node.
    env: {},
    // A separate process group, so that one signal reaches all of it, and Ctrl-C in a terminal does not reach it while
    // the server drains.
    detached: true,
    windowsHide: true,
    stdio: ["ignore", task.onProgress === undefined ? "ignore" : "pipe", "pipe"],
  });
}

async function ended(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) => {
    child.once("error", () => resolve({ code: null, signal: null }));
    // Processes that it started die with its group. Otherwise they could keep the pipe of stderr open, and "close"
    // would never be emitted.
    child.once("exit", () => killGroup(child));
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
}

function outcomeOf({
  killed,
  code,
  signal,
  stderr,
}: {
  killed: KillReason | undefined;
  code: number | null;
  signal: NodeJS.Signals | null;
  stderr: string;
}): ProcessTaskFailure | undefined {
  if (killed !== undefined) return failure(killed);
  if (code === 0) return undefined;
  if (code === EXIT_ANSWER_TOO_LARGE || signal === "SIGXFSZ" || /EFBIG|ERR_BUFFER_TOO_LARGE/.test(stderr))
    return failure("output", stderr);
  if (signal === "SIGXCPU") return failure("deadline", stderr);
  // V8 aborts when its heap is full. A kill that did not come from here is the kernel's, when memory ran out.
  if (signal === "SIGKILL" || /heap out of memory|Array buffer allocation failed|out of memory/i.test(stderr))
    return failure("memory", stderr);
  return failure("crashed", stderr);
}

async function writeRequest(file: string, request: unknown): Promise<void> {
  const { head, parts } = encodeMessage(request);
  await Promise.all([
    writeFile(file, head, { mode: 0o600 }),
    ...parts.map((part, i) => writeFile(partFile(file, i), part, { mode: 0o600 })),
  ]);
}

/** Reads the answer of the untrusted child: only plain files, and no more than `bytesMax` bytes in all. */
async function readAnswer<Answer>(file: string, bytesMax: number): Promise<ProcessTaskResult<Answer>> {
  try {
    const head = await readPlainFile(file, bytesMax);
    if (head === undefined) return failure("crashed");
    const parts: Uint8Array[] = [];
    let bytesLeft = bytesMax - head.length;
    while (parts.length < PARTS_MAX) {
      const part = await readPlainFile(partFile(file, parts.length), bytesLeft);
      if (part === undefined) break;
      parts.push(part);
      bytesLeft -= part.length;
    }
    return { ok: true, value: decodeMessage({ head, parts }) as Answer };
  } catch (error) {
    return failure(error instanceof AnswerTooLargeError ? "output" : "crashed");
  }
}

class AnswerTooLargeError extends Error {
  override readonly name = "AnswerTooLargeError";
}

/** @returns undefined when there is no such file; throws when it is not a plain file, or too large */
async function readPlainFile(path: string, bytesMax: number): Promise<Uint8Array | undefined> {
  // Does not follow links, and does not block when the file is a pipe.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    },
  );
  if (file === undefined) return undefined;
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error("not a plain file");
    if (stat.size > bytesMax) throw new AnswerTooLargeError();
    const bytes = new Uint8Array(stat.size);
    let at = 0;
    while (at < bytes.length) {
      const { bytesRead } = await file.read(bytes, at, bytes.length - at, at);
      if (bytesRead === 0) throw new Error("the file became shorter");
      at += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    // Windows has no groups: there a native compiler that the process has started outlives it until it is done.
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group has ended already.
  }
}

/**
 * Calls `onExceeded` when the process exceeds its memory limit. Does nothing where /proc is missing.
 * @returns a function that ends the watch
 */
function watchMemory(child: ChildProcess, bytesMax: number, onExceeded: () => void): () => void {
  const { pid } = child;
  let isReading = false;
  const timer = setInterval(() => {
    if (pid === undefined || isReading) return;
    isReading = true;
    void residentBytesOfAll(pid).then((bytes) => {
      isReading = false;
      if (bytes > bytesMax) onExceeded();
    });
  }, MEMORY_POLL_MS);
  return () => clearInterval(timer);
}

/** Of a process and those that its main thread started, as a compiler of the operator's own is. */
async function residentBytesOfAll(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "latin1").catch(() => "");
  const pids = children
    .split(" ")
    .filter((child) => child !== "")
    .slice(0, CHILDREN_MAX);
  const sizes = await Promise.all([pid, ...pids.map(Number)].map(residentBytes));
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

async function residentBytes(pid: number): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    // The process has just ended.
    return 0;
  }
}

function collectTail(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(-STDERR_CHARS_KEPT);
  });
  return () => text;
}

/** Reports each line that is a number from 0 to 1, and ignores everything else. */
function readProgress(child: ChildProcess, onProgress: (share: number) => void): void {
  let incomplete = "";
  child.stdout?.setEncoding("latin1").on("data", (chunk: string) => {
    const lines = (incomplete + chunk).split("\n");
    incomplete = (lines.pop() ?? "").slice(0, PROGRESS_LINE_CHARS_MAX);
    for (const line of lines) if (PROGRESS_LINE.test(line)) onProgress(Number(line));
  });
}

function failure(code: keyof typeof MESSAGES, stderr?: string): ProcessTaskFailure {
  return { ok: false, code, message: MESSAGES[code], ...(stderr === undefined || stderr === "" ? {} : { stderr }) };
}
