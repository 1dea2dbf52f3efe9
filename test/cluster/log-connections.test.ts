/** The connections of a node's writer to the log, on a real PostgreSQL. */
import { expect, it } from "vitest";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { LogDatabase } from "../../src/platform/cluster/log/log-database.js";
import { eventually } from "../support/eventually.js";
import { StoreGround } from "../support/store-ground.js";

const ground = new StoreGround("connections");

async function sessions(database: string): Promise<number> {
  const text = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = $1";
  const [row] = await ground.postgres.query("postgres", text, [database]);
  return Number(row?.["count"]);
}

it("connects once for all who ask meanwhile, so that its end leaves no session", async () => {
  const database = await ground.postgres.newDatabase();
  const log = new LogDatabase(databaseAddress(ground.postgres.urlOf(database)));
  await Promise.all([log.connect(), log.connect(), log.connect()]);
  expect(log.isConnected).toBe(true);
  expect(await sessions(database)).toBe(1);
  log.disconnect();
  await eventually(async () => {
    expect(await sessions(database)).toBe(0);
  });
});

it("leaves no session when it is ended while it connects, and connects anew", async () => {
  const database = await ground.postgres.newDatabase();
  const log = new LogDatabase(databaseAddress(ground.postgres.urlOf(database)));
  const asked = log.connect();
  log.disconnect();
  await expect(asked).rejects.toThrow("was ended");
  expect(log.isConnected).toBe(false);
  await log.connect();
  await eventually(async () => {
    expect(await sessions(database)).toBe(1);
  });
  log.disconnect();
  await eventually(async () => {
    expect(await sessions(database)).toBe(0);
  });
});
