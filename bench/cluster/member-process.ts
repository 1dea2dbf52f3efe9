/** Nodes of a cluster in processes of their own, as users have them, with their callers. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { randomUUID } from "node:crypto";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { createLog } from "../../src/platform/log.js";
import { commitFor, type Load, type Run } from "./load.js";

/** What a node is told; to another process as JSON. */
export interface NodeOptions {
  readonly databaseUrl: string;
  /** Hex. */
  readonly clusterKey: string;
  /** An empty folder. */
  readonly path: string;
  /** How often it folds the log; never unless given. */
  readonly foldMs?: number;
}

const NEVER_MS = 3_600_000;
const GIVE_UP_MS = 60_000;
const MAP_BYTES = 4 * 2 ** 30;

/** Joins as a node of this process. */
export async function openNode({ path, clusterKey, ...cluster }: NodeOptions): Promise<NodeStore> {
  const key = Buffer.from(clusterKey, "hex");
  const own = { clusterKey: key, node: randomUUID(), giveUpMs: GIVE_UP_MS, foldMs: NEVER_MS, ...cluster };
  const options = { path, mapBytes: MAP_BYTES, chainKey: new Uint8Array(32), cluster: own };
  return await openNodeStore(options, { log: createLog("error") });
}

/** Joins, and commits what it is told to until it is told to end; for the process of one node. */
export async function serveNode(options: NodeOptions): Promise<void> {
  const store = await openNode(options);
  process.on("message", (load: Load | "end") => {
    void (async () => {
      if (load !== "end") process.send?.(await commitFor([store], load));
      else {
        await store.close();
        process.disconnect();
      }
    })();
  });
  process.send?.("joined");
}

/** A node in a process of its own. */
export class MemberProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Resolves when it has joined. */
  static async start(options: NodeOptions): Promise<MemberProcess> {
    const program = fileURLToPath(new URL("../peers/cluster-node.js", import.meta.url));
    const member = new MemberProcess(fork(program, [JSON.stringify(options)]));
    await member.#next();
    return member;
  }

  async commitFor(load: Load): Promise<Run> {
    const next = this.#next();
    this.#child.send(load);
    return (await next) as Run;
  }

  async end(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.send("end");
    await ended;
  }

  async #next(): Promise<unknown> {
    const ended = new AbortController();
    const exit = (): void => {
      ended.abort(new Error("a node's process ended"));
    };
    this.#child.once("exit", exit);
    const [message] = (await once(this.#child, "message", { signal: ended.signal })) as [unknown];
    this.#child.off("exit", exit);
    return message;
  }
}
