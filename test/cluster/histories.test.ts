/**
 * Three server processes and one PostgreSQL under clients that read and write on all nodes, while nodes are killed or
 * hang, connections to the database break and the database crashes: what the clients were told could have happened one
 * after the other, and nothing that was answered is lost or there twice.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { TestCluster } from "../support/cluster.js";
import { DatabaseProxy } from "../support/database-proxy.js";
import { eventually } from "../support/eventually.js";
import { useRegisters, useSet, type ClientOptions, type Register, type SetHistory } from "../support/histories.js";
import { isLinearizable } from "../support/linearizability.js";
import { seededRandom, type SeededRandom } from "../support/seeded.js";
import type { TestServer } from "../support/server.js";

const NAMES = ["one", "two", "three"];
const REGISTERS = 12;
const REGISTER_CLIENTS = 6;
const SET_CLIENTS = 3;
const FAULTS = 8;
/** Operations of all clients between two faults. */
const SOME = 60;

let cluster: TestCluster;
let proxy: DatabaseProxy;

beforeAll(async () => {
  cluster = await TestCluster.make();
  proxy = await DatabaseProxy.start(cluster.postgres.socketFolder);
});
afterAll(async () => {
  await cluster.dispose();
  await proxy.stop();
});

/** The third node reaches the database through the proxy, which breaks its connections. */
async function start(name: string): Promise<TestServer> {
  if (name !== NAMES[2]) return await cluster.start(name);
  const database = new URL(cluster.databaseUrl).pathname.slice(1);
  return await cluster.start(name, { PROOFWRIGHT_DATABASE_URL: cluster.postgres.urlOf(database, proxy.folder) });
}

async function fault(servers: TestServer[], random: SeededRandom, progress: () => Promise<void>): Promise<void> {
  // A node that hung for so long that the others gave it up ends by itself.
  for (const [at, { child }] of servers.entries())
    if (child.exitCode !== null) servers[at] = await start(NAMES[at] ?? "");
  const index = random.below(NAMES.length);
  const victim = servers[index];
  if (victim === undefined) return;
  const kind = random.pick(["kill", "kill", "hang", "crash"]);
  if (kind === "crash") {
    await cluster.postgres.crash();
    await cluster.postgres.restart();
    return;
  }
  if (kind === "hang") {
    victim.child.kill("SIGSTOP");
    await progress();
    victim.child.kill("SIGCONT");
    return;
  }
  await victim.end("SIGKILL");
  await progress();
  servers[index] = await start(NAMES[index] ?? "");
}

it("of registers and of a set is sound whatever fails", async () => {
  const random = seededRandom();
  const servers = await Promise.all(NAMES.map(start));
  const [first] = servers as [TestServer, ...TestServer[]];
  const { token } = await first.newUser();
  const registers: Register[] = [];
  for (let index = 0; index < REGISTERS; index += 1) {
    const { body } = await first.as(token).createApplication({ body: { name: `register ${String(index)}` } });
    registers.push({ id: body.id, operations: [] });
  }
  const set: SetHistory = { added: [], unknown: new Set() };
  let isOver = false;
  const options: ClientOptions = {
    ...{ urls: () => servers.map(({ url }) => url), token, random, registers },
    isOver: () => isOver,
  };
  const clients = [
    ...Array.from({ length: REGISTER_CLIENTS }, (_, index) => useRegisters(`client ${String(index)}`, options)),
    ...Array.from({ length: SET_CLIENTS }, (_, index) => useSet(`adder ${String(index)}`, options, set)),
  ];
  const count = (): number => registers.reduce((sum, { operations }) => sum + operations.length, set.added.length);
  const progress = async (): Promise<void> => {
    const before = count();
    await eventually(() => {
      expect(count()).toBeGreaterThan(before + SOME);
    });
  };
  proxy.breaksAnswer = () => random.chance(0.004);
  for (let round = 0; round < FAULTS; round += 1) {
    await progress();
    await fault(servers, random, progress);
  }
  await progress();
  isOver = true;
  await Promise.all(clients);
  proxy.breaksAnswer = () => false;
  const note = `seed ${String(random.seed)}, ${String(count())} operations, ${String(proxy.broken)} broken connections`;
  for (const [index, { operations }] of registers.entries())
    expect(isLinearizable(operations, `register ${String(index)}`), `register ${String(index)}, ${note}`).toBe(true);
  for (const server of servers) {
    const names = await allVaults(server, token);
    expect(new Set(names).size, note).toBe(names.length);
    expect(
      set.added.filter((name) => !names.includes(name)),
      note,
    ).toEqual([]);
    const added = new Set(set.added);
    expect(names.filter((name) => name.startsWith("adder") && !added.has(name) && !set.unknown.has(name))).toEqual([]);
  }
});

async function allVaults(server: TestServer, token: string): Promise<string[]> {
  const names: string[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await server.as(token).listVaults({ query: { page, rpp: 100 } });
    names.push(...body.map(({ name }) => name));
    if (body.length < 100) return names;
  }
}
