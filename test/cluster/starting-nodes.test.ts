/** The start of a node while its PostgreSQL, or the connection to it, is away for a moment, and while no waiting helps. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { whenReachable } from "../../src/platform/cluster/reach-database.js";
import { AppError } from "../../src/platform/errors.js";
import { DatabaseProxy } from "../support/database-proxy.js";
import { eventually } from "../support/eventually.js";
import { recordedLog } from "../support/silent-log.js";
import { StoreGround } from "../support/store-ground.js";

const ground = new StoreGround("starting");
const clusterKey = randomBytes(32);
let proxy: DatabaseProxy;
let database: string;

beforeAll(async () => {
  proxy = await DatabaseProxy.start(ground.postgres.socketFolder);
  database = await ground.postgres.newDatabase();
  await initCluster({ databaseUrl: ground.postgres.urlOf(database), clusterKey });
  const first = await start(ground.postgres.urlOf(database));
  for (let index = 0; index < 3; index += 1) await first.commit({ puts: [{ key: ["a", index], value: index }] });
});
afterAll(async () => {
  await proxy.stop();
});

async function start(databaseUrl: string, log = recordedLog(), waitMs = 60_000): Promise<NodeStore> {
  const cluster = { databaseUrl, clusterKey, node: randomUUID() };
  return ground.keep(await openNodeStore({ path: ground.folder(), cluster, waitMs }, { log }));
}

it("a node joins although its connection broke, whichever of the answers it was", async () => {
  const url = ground.postgres.urlOf(database, proxy.folder);
  for (let broken = 1, isDone = false; !isDone; broken += 1) {
    let answers = 0;
    proxy.breaksAnswer = () => (answers += 1) === broken;
    const store = await start(url);
    isDone = answers < broken;
    proxy.breaksAnswer = () => false;
    expect(store.count(["a"]), `answer ${String(broken)} broke`).toBe(3);
    await ground.closeStores();
  }
  // A connection, its session, the records and the log: a start has more answers than a few.
  expect(proxy.broken).toBeGreaterThan(8);
});

describe("a database that is away", () => {
  it("is waited for, which the log says once, and joined when it is back", async () => {
    const log = recordedLog();
    await ground.postgres.crash();
    const starting = start(ground.postgres.urlOf(database), log);
    const said = (): string[] =>
      log.lines.map(({ message }) => message).filter((line) => line.includes("waits for it"));
    await eventually(() => {
      expect(said()).toHaveLength(1);
    });
    await ground.postgres.restart();
    expect((await starting).count(["a"])).toBe(3);
    expect(said()).toHaveLength(1);
    expect(said()[0]).toMatch(/^the cluster's database cannot be reached \(.+\); the start waits for it$/);
  });

  it("ends the start when it stays away, with what it is", async () => {
    const url = new URL(ground.postgres.urlOf(database));
    url.searchParams.set("host", ground.folder());
    await expect(start(url.href, recordedLog(), 200)).rejects.toMatchObject({
      code: "store_unreachable",
      message: "the cluster's database cannot be reached (ENOENT)",
    });
  });
});

describe("what no waiting mends", () => {
  it.each([
    ["a database that the server does not have", { pathname: "/nowhere" }, "it has no database of that name"],
    ["a user that the server does not have", { username: "nobody" }, "it refuses the user"],
  ])("ends the start at once: %s", async (_what, change, why) => {
    const url = Object.assign(new URL(ground.postgres.urlOf(database)), change);
    await expect(start(url.href)).rejects.toMatchObject({
      code: "conflict",
      message: `the cluster's database cannot be reached (${why})`,
    });
  });

  it.each([
    ["without a host", "postgres:///proofwright", "lacks its host, user or database"],
    ["with a missing file", "postgres://one@host/db?sslrootcert=/nowhere", "sslrootcert cannot be read: /nowhere"],
  ])("ends the start before it begins: a URL %s", async (_what, url, why) => {
    await expect(start(url)).rejects.toThrow(why);
  });

  it.each([
    [
      "a certificate that is not trusted",
      Object.assign(new Error("self-signed"), { code: "SELF_SIGNED_CERT_IN_CHAIN" }),
    ],
    ["a server without TLS", new Error("The server does not support SSL connections")],
    ["a fault of the program", new TypeError("x is undefined")],
    ["a cluster that is not there", new AppError("conflict", { message: "the database has no cluster" })],
  ])("is not tried again: %s", async (_what, error) => {
    let tries = 0;
    const step = async (): Promise<never> => {
      tries += 1;
      return await Promise.reject(error);
    };
    await expect(whenReachable(step, { log: recordedLog() })).rejects.toBe(error);
    expect(tries).toBe(1);
  });
});
