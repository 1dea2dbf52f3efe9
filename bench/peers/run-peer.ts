/** Starts a peer in a process of its own and reads its samples. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Runs `bench/peers/NAME`, whose last line of output is its samples in milliseconds as JSON. */
export async function runPeer(name: string, parameters: readonly string[]): Promise<number[]> {
  const entry = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [entry, ...parameters], { maxBuffer: 1 << 24 });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as number[];
}
