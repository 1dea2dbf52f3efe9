/** Load over HTTP from processes of its own (autocannon for all that goes, steady-load.ts for a rate), and servers as child processes, for subjects that measure requests. */
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PACKAGE_ROOT } from "../src/platform/package-root.js";

const AUTOCANNON = join(PACKAGE_ROOT, "node_modules", "autocannon", "autocannon.js");
const STEADY_LOAD = join(PACKAGE_ROOT, "dist", "bench", "steady-load.js");

export interface LoadOptions {
  readonly url: string;
  readonly token?: string;
  /** A JSON body makes it a POST; without one it is a GET. */
  readonly body?: string;
  readonly seconds: number;
  /** So many requests instead of so many seconds: none is under way when the load ends. */
  readonly requests?: number;
  readonly connections: number;
  /** Fixed rate, where late answers count from when they were due; as many as go when absent. */
  readonly perSec?: number;
}

export interface LoadResult {
  readonly p50: number;
  readonly p99: number;
  readonly perSec: number;
  readonly total: number;
  readonly failed: number;
}

/** Sends the same request again and again for some seconds, or a number of times. */
export async function requestLoad(options: LoadOptions): Promise<LoadResult> {
  return options.perSec === undefined ? await fullLoad(options) : (JSON.parse(await outputOf([STEADY_LOAD, JSON.stringify(options)])) as LoadResult);
}

/** As many as go, each connection sending again as soon as it is answered. */
async function fullLoad(options: LoadOptions): Promise<LoadResult> {
  const length = options.requests === undefined ? ["-d", String(options.seconds)] : ["-a", String(options.requests)];
  const args = [AUTOCANNON, "--json", "-c", String(options.connections), ...length];
  if (options.body !== undefined) args.push("-m", "POST", "-H", "content-type: application/json", "-b", options.body);
  if (options.token !== undefined) args.push("-H", `authorization: bearer ${options.token}`);
  const result = JSON.parse(await outputOf([...args, options.url])) as { latency: { p50: number; p99: number }; requests: { total: number }; duration: number; non2xx: number; errors: number };
  return { p50: result.latency.p50, p99: result.latency.p99, perSec: result.requests.total / result.duration, total: result.requests.total, failed: result.non2xx + result.errors };
}

async function outputOf(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [...args], { stdio: ["ignore", "pipe", "ignore"] });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => child.once("close", resolve));
  return Buffer.concat(chunks).toString("utf8");
}

/** Starts a Node process that prints `... on URL`. */
export async function startServerProcess(args: readonly string[]): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [...args], { cwd: PACKAGE_ROOT, stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", (status) => { reject(new Error(`${args.join(" ")} ended with status ${String(status)}`)); });
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = / on (https?:\S+)$/.exec(line)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  return { child, url };
}

export async function endServerProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  await new Promise((resolve) => { child.once("exit", resolve); child.kill("SIGTERM"); });
}
