/** Processes beside a bench: an Ethereum node (Foundry's anvil), a server; and questions to the node. */
import { spawn, type ChildProcess } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { PACKAGE_ROOT } from "../src/platform/files/package-root.js";

export const ANVIL = join(
  dirname(createRequire(import.meta.url).resolve("@foundry-rs/anvil-linux-amd64/package.json")),
  "bin",
  "anvil",
);

/** One JSON-RPC call; undefined when the node refuses it. */
export async function ask(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return ((await response.json()) as { result?: unknown }).result;
}

/** Resolves once a line of its output matches; the first group is what was found. */
export async function startProcess(
  program: string,
  args: readonly string[],
  line: RegExp,
): Promise<{ child: ChildProcess; found: string }> {
  const child = spawn(program, [...args], { cwd: PACKAGE_ROOT, stdio: ["ignore", "pipe", "inherit"] });
  const { stdout } = child;
  const found = await new Promise<string>((resolve, reject) => {
    child.once("exit", (status) => {
      reject(new Error(`${program} ended with status ${String(status)}`));
    });
    createInterface({ input: stdout }).on("line", (text) => {
      const match = line.exec(text)?.[1];
      if (match !== undefined) resolve(match);
    });
  });
  return { child, found };
}

export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  await new Promise((resolve) => {
    child.once("exit", resolve);
    child.kill("SIGTERM");
  });
}
