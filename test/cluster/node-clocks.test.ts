/** Nodes whose machines disagree about the time. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.js";
import { openNodeStore } from "../../src/platform/cluster/cluster-store.js";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { ClusterNodes } from "../../src/platform/cluster/members/cluster-nodes.js";
import { NO_SETTINGS } from "../../src/platform/cluster/members/member-settings.js";
import { eventually } from "../support/eventually.js";
import { recordedLog } from "../support/silent-log.js";
import { StoreGround } from "../support/store-ground.js";

const ground = new StoreGround("clocks");
const joined: ClusterNodes[] = [];
afterAll(async () => {
  for (const nodes of joined) await nodes.stop();
});

it("go by the database's clock, and are not ready where they are wrong by seconds", async () => {
  const databaseUrl = ground.postgres.urlOf(await ground.postgres.newDatabase());
  const clusterKey = randomBytes(32);
  await initCluster({ databaseUrl, clusterKey });
  for (const [wrongMs, isReady, warnings] of [
    [0, true, 0],
    [-1_500, true, 1],
    [1_500, true, 1],
    [3_000, false, 1],
    [-86_400_000, false, 1],
  ] as const) {
    const log = recordedLog();
    const [node, incarnation] = [randomUUID(), randomUUID()];
    const cluster = { databaseUrl, clusterKey, node, incarnation };
    const store = ground.keep(await openNodeStore({ path: ground.folder(), cluster }, { log }));
    const clock = { nowMs: () => systemClock.nowMs() + wrongMs, monotonicMs: () => systemClock.monotonicMs() };
    const nodes = await ClusterNodes.join(
      { address: databaseAddress(databaseUrl), node, incarnation, name: "node", role: "server", settings: NO_SETTINGS },
      { store, clock, log },
    );
    joined.push(nodes);
    // PostgreSQL runs on this machine: of some questions one is answered within a small part of a second.
    await eventually(() => {
      expect(Math.abs(nodes.clock.nowMs() - systemClock.nowMs())).toBeLessThan(300);
    });
    expect(nodes.isClockRight).toBe(isReady);
    expect(log.lines.filter(({ message }) => message.includes("clock differs"))).toHaveLength(warnings);
  }
});
