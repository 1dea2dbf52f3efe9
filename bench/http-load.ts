/**
 * Load over HTTP from a process of its own (load.ts), and servers as child processes, for subjects that measure
 * requests.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PACKAGE_ROOT } from "../src/platform/files/package-root.js";

const LOAD = join(PACKAGE_ROOT, "dist", "bench", "load.js");

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
  return JSON.parse(await outputOf([LOAD, JSON.stringify(options)])) as LoadResult;
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
    child.once("exit", (status) => {
      reject(new Error(`${args.join(" ")} ended with status ${String(status)}`));
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = / on (https?:\S+)$/.exec(line)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  return { child, url };
}

export async function endServerProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  await new Promise((resolve) => {
    child.once("exit", resolve);
    child.kill("SIGTERM");
  });
}
