/** A real Ethereum node (Foundry's anvil) as a process of its own on loopback, for tests and benches. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

export interface AnvilOptions {
  readonly chainId?: number;
  /** Fixed, so that a restarted node is found where the old one was; a free one when absent. */
  readonly port?: number;
  /** Seconds between blocks; absent: a block for each transaction. */
  readonly blockTimeSec?: number;
  /** Further flags, such as `["--load-state", path]`. */
  readonly flags?: readonly string[];
}

export interface Anvil {
  readonly url: string;
  readonly port: number;
  readonly chainId: number;
  /** One JSON-RPC call, such as `evm_snapshot`; rejects with the node's own words. */
  request(method: string, ...params: unknown[]): Promise<unknown>;
  /** Ends it; SIGKILL when told so. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/**
 * Private keys of anvil's first funded accounts (10,000 ether each): public knowledge, from the mnemonic "test test ...
 * junk".
 */
export const ANVIL_KEYS = [
  "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
  "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
] as const;
export const ANVIL_ACCOUNTS = [
  "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
] as const;

const BINARY = join(
  dirname(createRequire(import.meta.url).resolve("@foundry-rs/anvil-linux-amd64/package.json")),
  "bin",
  "anvil",
);
const CHAIN_ID = 31337;

/** Starts a node and waits until it listens. */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const chainId = options.chainId ?? CHAIN_ID;
  const block = options.blockTimeSec === undefined ? [] : ["--block-time", String(options.blockTimeSec)];
  const child = spawn(
    BINARY,
    [
      "--host",
      "127.0.0.1",
      "--port",
      String(options.port ?? 0),
      "--chain-id",
      String(chainId),
      ...block,
      ...(options.flags ?? []),
    ],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  const port = await listeningPort(child);
  child.stdout.resume();
  const url = `http://127.0.0.1:${String(port)}`;
  return {
    url,
    port,
    chainId,
    request: async (method, ...params) => await call(url, method, params),
    stop: async (signal) => {
      await end(child, signal ?? "SIGTERM");
    },
  };
}

/** The port from the line `Listening on 127.0.0.1:PORT`. */
async function listeningPort(child: ChildProcess): Promise<number> {
  const { stdout } = child;
  if (stdout === null) throw new Error("anvil has no output");
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (status) => {
      reject(new Error(`anvil ended with status ${String(status)}`));
    });
    createInterface({ input: stdout }).on("line", (line) => {
      const port = /^Listening on [^ ]*:(\d+)/.exec(line)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  });
}

async function call(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const answer = (await response.json()) as { result?: unknown; error?: { message: string } };
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result;
}

async function end(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}
