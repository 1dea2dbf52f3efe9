/**
 * Three processes that write to one cluster, killed and stopped at random, while the database crashes: everything that
 * was acknowledged is there once, and every replica, old or new, says the same.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { eventually } from "../support/eventually.js";
import { Postgres } from "../support/postgres.js";
import { seededRandom, type SeededRandom } from "../support/seeded.js";
import { recordedLog } from "../support/silent-log.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

const CHILD = fileURLToPath(new URL("../support/cluster-crash-child.mjs", import.meta.url));
const NODES = 3;
const KILLS = 10;
const CRASHES = 2;
/** Counts after which a node is taken to be at work. */
const SOME = 15;

let postgres: Postgres;
let folder: string;
beforeAll(async () => {
  postgres = await Postgres.start();
  folder = newFolder("kills");
});
afterAll(async () => {
  await postgres.dispose();
  removeFolder(folder);
});

/** A node's process, in one life after the other on the same folder. */
class Node {
  readonly acknowledged: string[] = [];
  readonly #arguments: readonly string[];
  readonly #name: string;
  #child: ChildProcess | undefined;
  #lives = 0;
  errors = "";

  constructor(name: string, parameters: readonly string[]) {
    this.#name = name;
    this.#arguments = [join(folder, name), ...parameters];
  }

  /** Starts a life, and waits until it writes. */
  async start(): Promise<void> {
    this.#lives += 1;
    const child = spawn(process.execPath, [CHILD, ...this.#arguments, `${this.#name}.${String(this.#lives)}`]);
    this.#child = child;
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      this.acknowledged.push(...lines.filter((line) => line !== "ready"));
    });
    child.stderr.on("data", (chunk: Buffer) => {
      this.errors += chunk.toString("utf8");
    });
    await this.progress();
  }

  /** Waits until it has acknowledged some more. */
  async progress(): Promise<void> {
    const before = this.acknowledged.length;
    await eventually(() => {
      expect(this.errors).toBe("");
      expect(this.acknowledged.length).toBeGreaterThan(before + SOME);
    });
  }

  /** Stops it for as long as the other work takes, as a machine without memory does, and lets it go on. */
  async stopDuring(work: () => Promise<void>): Promise<void> {
    this.#child?.kill("SIGSTOP");
    await work();
    this.#child?.kill("SIGCONT");
  }

  /** Kills it, and waits for the end of what it has printed. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGKILL");
    await ended;
  }
}

async function disturb(nodes: readonly Node[], random: SeededRandom): Promise<void> {
  for (let round = 0; round < KILLS; round += 1) {
    const victim = random.pick(nodes);
    const others = nodes.filter((node) => node !== victim);
    if (random.chance(0.3))
      await victim.stopDuring(async () => {
        await Promise.all(others.map(async (node) => await node.progress()));
      });
    await victim.kill();
    if (round % (KILLS / CRASHES) === 1) {
      await postgres.crash();
      await postgres.restart();
    }
    await victim.start();
  }
}

function expectExact(store: NodeStore, acknowledged: readonly string[]): void {
  const marks = store.range<number>(["mark"]);
  const kept = new Set(marks.map(({ key }) => String(key[1])));
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
  expect(store.get(["counter"])?.value).toBe(marks.length);
  const counts = marks.map(({ value }) => value).sort((a, b) => a - b);
  expect(counts).toEqual(Array.from({ length: marks.length }, (_, index) => index + 1));
  const logged = store.range<{ event: string }>(["audit"]).map(({ value }) => value.event);
  expect([...logged].sort()).toEqual([...kept].sort());
}

it(`loses and doubles nothing over ${String(KILLS)} kills and ${String(CRASHES)} crashes of the database`, async () => {
  const random = seededRandom();
  const databaseUrl = postgres.urlOf(await postgres.newDatabase());
  const clusterKey = randomBytes(32);
  await initCluster({ databaseUrl, clusterKey });
  const names = Array.from({ length: NODES }, (_, index) => `node${String(index)}`);
  const nodes = names.map((name) => new Node(name, [databaseUrl, clusterKey.toString("hex")]));
  try {
    await Promise.all(nodes.map(async (node) => await node.start()));
    await disturb(nodes, random);
  } finally {
    for (const node of nodes) await node.kill();
  }
  const acknowledged = nodes.flatMap((node) => node.acknowledged);
  let first: unknown;
  for (const name of [...names, "new"]) {
    const options = { path: join(folder, name), chainKey: new Uint8Array(32) };
    const cluster = { databaseUrl, clusterKey, node: randomUUID() };
    const store = await openNodeStore({ ...options, cluster }, { log: recordedLog() });
    try {
      expectExact(store, acknowledged);
      expect(await store.integrityReport(), `seed ${String(random.seed)}`).toMatchObject({ sound: true });
      first ??= store.range([]);
      expect(store.range([])).toEqual(first);
    } finally {
      await store.close();
    }
  }
});
