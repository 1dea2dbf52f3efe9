/**
 * Runs one task in a process of its own: for work that may never end, may eat memory, or holds secrets that must die
 * with it. Request and answer go through files in a private folder that is removed afterwards. Whatever the child does,
 * the result is a union.
 *
 *   nice | unshare --net | setpriv | prlimit | node ENTRY FOLDER ANSWER_BYTES_MAX        (what the system offers of these)
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { constants } from "node:fs";
import { lstat, mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ANSWER_FILE, EXIT_ANSWER_TOO_LARGE, REQUEST_FILE } from "../../engine/process/process-entry.js";
import { decodeMessage, encodeMessage, partFile, PARTS_MAX } from "../../engine/process/process-message.js";
import { probeSandboxTools, sandboxed } from "./process-sandbox.js";
import type { SandboxTools } from "./process-sandbox.js";

export interface ProcessTaskLimits {
  readonly deadlineMs: number;
  /** Processor time over all threads of the process. */
  readonly cpuSeconds: number;
  /** Resident memory of the process, code and WebAssembly memory included. */
  readonly memoryBytesMax: number;
  /** Serialised size of the answer. */
  readonly answerBytesMax: number;
  readonly openFilesMax: number;
  /** V8 heap. Byte arrays and WebAssembly memory lie outside of it. */
  readonly heapMegabytesMax: number;
  /** 0 to 19; 19 yields to everything. */
  readonly niceness: number;
}

export interface ProcessTask<Request> {
  /** Absolute path of a compiled script that calls `runProcessEntry`; see `workerPath`. */
  readonly entry: string;
  /**
   * Anything that can be structurally cloned. Large byte arrays are written as they are, without a copy on this thread.
   */
  readonly request: Request;
  readonly limits: ProcessTaskLimits;
  /** Kills the process with all its threads at once. */
  readonly signal?: AbortSignal;
  /** Called with the share that is done, 0 to 1, where the entry reports it. */
  readonly onProgress?: (share: number) => void;
  /** Where the private folder is made; the system's temporary folder by default. */
  readonly parentFolder?: string;
}

export interface ProcessTaskFailure {
  readonly ok: false;
  readonly code: "deadline" | "memory" | "aborted" | "crashed" | "output";
  /** For people; holds nothing of the request and no path. */
  readonly message: string;
  /** End of what the process said last. For the log only: it may quote source text and host paths. */
  readonly stderr?: string;
}

export type ProcessTaskResult<Answer> = { readonly ok: true; readonly value: Answer } | ProcessTaskFailure;

/** Between two looks at the memory; a process that fills 1 GB in a second is caught 50 MB late. */
const MEMORY_POLL_MS = 50;
const STDERR_CHARS_KEPT = 8_192;
/**
 * A folder this old belongs to a server that was killed in the middle of a task: the longest deadline (setup) is ten
 * minutes.
 */
const STALE_FOLDER_MS = 60 * 60 * 1000;
/** What a file may be larger than the answer before the kernel stops the writing: room for Node's own small files. */
const FILE_BYTES_SLACK = 1024 * 1024;
const PROGRESS_LINE = /^(0\.\d{1,6}|1(\.0{1,6})?)$/;
const PROGRESS_LINE_CHARS_MAX = 16;
const FOLDER_PREFIX = "proofwright-task-";

const MESSAGES = {
  deadline: "the task took longer than it may",
  memory: "the task needed more memory than it may take",
  aborted: "the task was called off",
  crashed: "the task ended without an answer",
  output: "the task's answer is larger than it may be",
} as const satisfies Record<ProcessTaskFailure["code"], string>;

/** Runs tasks; keeps what it learnt about the system's sandbox tools. One per server is enough. */
export class ProcessTasks {
  #tools: Promise<SandboxTools> | undefined;
  #sweep: Promise<void> | undefined;

  /**
   * Runs one task to its end. Starting a process takes about 50 ms.
   * @returns the answer or why there is none; rejects only when the request cannot be written (full disk, no temporary
   *   folder)
   */
  async run<Request, Answer>(task: ProcessTask<Request>): Promise<ProcessTaskResult<Answer>> {
    if (task.signal?.aborted === true) return failure("aborted");
    this.#tools ??= probeSandboxTools();
    const tools = await this.#tools;
    const parentFolder = task.parentFolder ?? tmpdir();
    await (this.#sweep ??= removeStaleFolders(parentFolder));
    const folder = await mkdtemp(join(parentFolder, FOLDER_PREFIX));
    try {
      await writeRequest(join(folder, REQUEST_FILE), task.request);
      const ending = await runToEnd(task, folder, tools);
      if (ending !== undefined) return ending;
      return await readAnswer<Answer>(join(folder, ANSWER_FILE), task.limits.answerBytesMax);
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    }
  }
}

/** Runs one task without keeping anything for the next; see `ProcessTasks.run`. */
export function runProcessTask<Request, Answer>(task: ProcessTask<Request>): Promise<ProcessTaskResult<Answer>> {
  return new ProcessTasks().run(task);
}

/** Removes what killed servers left behind. Another user's folders refuse, and stay. */
async function removeStaleFolders(parentFolder: string): Promise<void> {
  const names = (await readdir(parentFolder)).filter((name) => name.startsWith(FOLDER_PREFIX));
  for (const name of names) {
    const path = join(parentFolder, name);
    try {
      if (Date.now() - (await lstat(path)).mtimeMs > STALE_FOLDER_MS) await rm(path, { recursive: true, force: true });
    } catch {
      // Gone meanwhile, or not ours: neither stands in the way of a task.
    }
  }
}

type KillReason = "deadline" | "memory" | "aborted";

/** @returns undefined when the process ended well and should have left an answer */
async function runToEnd<Request>(
  task: ProcessTask<Request>,
  folder: string,
  tools: SandboxTools,
): Promise<ProcessTaskFailure | undefined> {
  const { limits, signal } = task;
  // Checked again: it may have fired while the request was written, and a fired signal calls no listener.
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
    return judge(killed, code, endSignal, stderr());
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
    // Nothing of the server's environment: it may hold seal keys and credentials. Node's own options are not inherited
    // either.
    env: {},
    // A group of its own, so that one signal reaches all of it, and a terminal's Ctrl-C does not race with the server's
    // drain.
    detached: true,
    stdio: ["ignore", task.onProgress === undefined ? "ignore" : "pipe", "pipe"],
  });
}

async function ended(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) => {
    child.once("error", () => resolve({ code: null, signal: null }));
    // Whatever the process itself started dies with its group; otherwise it could hold the pipe of stderr open and
    // "close" never come.
    child.once("exit", () => killGroup(child));
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
}

function judge(
  killed: KillReason | undefined,
  code: number | null,
  signal: NodeJS.Signals | null,
  stderr: string,
): ProcessTaskFailure | undefined {
  if (killed !== undefined) return failure(killed);
  if (code === 0) return undefined;
  if (code === EXIT_ANSWER_TOO_LARGE || signal === "SIGXFSZ" || /EFBIG|ERR_BUFFER_TOO_LARGE/.test(stderr))
    return failure("output", stderr);
  if (signal === "SIGXCPU") return failure("deadline", stderr);
  // V8 aborts when its heap is full; a kill that nobody here asked for is the kernel's when the machine is out of
  // memory.
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

/** The child is not trusted: its answer is made of plain files of bounded size, or there is none. */
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

/** @returns undefined when there is no such file; throws when it is something else than a file, or too large */
async function readPlainFile(path: string, bytesMax: number): Promise<Uint8Array | undefined> {
  // No link is followed, and a pipe in the file's place doesn't block.
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
      if (bytesRead === 0) throw new Error("file became shorter");
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
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group is gone already, which is what was wanted.
  }
}

/** Calls back once the process is over its memory. Does nothing where /proc is missing; the other limits remain. */
function watchMemory(child: ChildProcess, bytesMax: number, onExceeded: () => void): () => void {
  const { pid } = child;
  let isReading = false;
  const timer = setInterval(() => {
    if (pid === undefined || isReading) return;
    isReading = true;
    void residentBytes(pid).then((bytes) => {
      isReading = false;
      if (bytes > bytesMax) onExceeded();
    });
  }, MEMORY_POLL_MS);
  return () => clearInterval(timer);
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

/** Takes whole lines that are a number from 0 to 1 and passes over everything else. */
function readProgress(child: ChildProcess, onProgress: (share: number) => void): void {
  let rest = "";
  child.stdout?.setEncoding("latin1").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = (lines.pop() ?? "").slice(0, PROGRESS_LINE_CHARS_MAX);
    for (const line of lines) if (PROGRESS_LINE.test(line)) onProgress(Number(line));
  });
}

function failure(code: ProcessTaskFailure["code"], stderr?: string): ProcessTaskFailure {
  return { ok: false, code, message: MESSAGES[code], ...(stderr === undefined || stderr === "" ? {} : { stderr }) };
}
