/** The removal of shared files that no record names, by the nodes of a real cluster. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.js";
import { ClusterNodes } from "../../src/platform/cluster/members/cluster-nodes.js";
import { NO_SETTINGS } from "../../src/platform/cluster/members/member-settings.js";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { openSharedFiles } from "../../src/platform/cluster/files/open-shared-files.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { openArtifacts, type Artifacts } from "../../src/platform/store/artifacts.js";
import { OrphanFiles } from "../../src/prover/orphan-files.js";
import { PowersRecords } from "../../src/prover/reference-strings/powers-records.js";
import { eventually } from "../support/eventually.js";
import { Postgres } from "../support/postgres.js";
import { recordedLog, type RecordedLog } from "../support/silent-log.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

interface Node {
  readonly store: NodeStore;
  readonly nodes: ClusterNodes;
  readonly artifacts: Artifacts;
  readonly orphans: OrphanFiles;
  readonly powers: PowersRecords;
  readonly log: RecordedLog;
  readonly stop: () => Promise<void>;
}

let postgres: Postgres;
let database: string;
const started: Node[] = [];
const folders: string[] = [];

beforeAll(async () => {
  postgres = await Postgres.start();
});
afterEach(async () => {
  for (const node of started.splice(0)) await node.stop();
});
afterAll(async () => {
  await postgres.dispose();
  for (const folder of folders) removeFolder(folder);
});

function folder(): string {
  const made = newFolder("node");
  folders.push(made);
  return made;
}

async function start(clusterKey: Uint8Array): Promise<Node> {
  const [databaseUrl, node, incarnation] = [postgres.urlOf(database), randomUUID(), randomUUID()];
  const log = recordedLog();
  const store = await openNodeStore(
    { path: folder(), cluster: { databaseUrl, clusterKey, node, incarnation } },
    { log },
  );
  const address = databaseAddress(databaseUrl);
  const options = { address, node, incarnation, name: "a-node", role: "server" as const, settings: NO_SETTINGS };
  const nodes = await ClusterNodes.join(options, { store, clock: systemClock, log });
  const shared = await openSharedFiles({ database_url: databaseUrl });
  const artifacts = await openArtifacts(folder(), shared);
  const powers = new PowersRecords({ store });
  const cluster = { nodes, confirm: () => store.confirm() };
  const orphans = new OrphanFiles({ sweeps: { firstMs: 10, everyMs: 50 } }, { artifacts, store, cluster, log });
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    orphans.stop();
    await nodes.stop();
    await store.close();
    await shared.close();
  };
  const made = { store, nodes, artifacts, orphans, powers, log, stop };
  started.push(made);
  return made;
}

async function age(): Promise<void> {
  await postgres.query(database, "UPDATE pw_artifact_file SET put_at = put_at - interval '25 hours'");
}

async function stored(): Promise<string[]> {
  const rows = await postgres.query(database, "SELECT encode(sha256, 'hex') AS name FROM pw_artifact_file");
  return rows.map(({ name }) => String(name)).sort();
}

/** Names a file in a record. */
async function name({ store, powers }: Node, sha256: string): Promise<void> {
  const upload = {
    file: `${sha256}.ptau`,
    begun_at: new Date().toISOString(),
    partial: randomUUID(),
    bytes: 1,
    sha256,
  };
  await store.commit(powers.putUpload(upload));
}

describe("shared files that no record names", () => {
  it("go when they are old, but for those that another node has named a moment ago", async () => {
    database = await postgres.newDatabase();
    const clusterKey = randomBytes(32);
    await initCluster({ databaseUrl: postgres.urlOf(database), clusterKey });
    const [one, other] = [await start(clusterKey), await start(clusterKey)];
    const put = async (): Promise<string> => (await one.artifacts.put(randomBytes(9))).sha256;
    for (let round = 0; round < 20; round += 1) {
      const [named, orphan] = [await put(), await put()];
      await age();
      const young = await put();
      await name(one, named);
      expect(await other.orphans.removeShared()).toBe(1);
      const left = await stored();
      expect([named, orphan, young].map((each) => left.includes(each))).toEqual([true, false, true]);
      await one.artifacts.remove(young);
    }
  });

  it("are removed by one node, and by the next one when that has ended", async () => {
    database = await postgres.newDatabase();
    const clusterKey = randomBytes(32);
    await initCluster({ databaseUrl: postgres.urlOf(database), clusterKey });
    const nodes = [await start(clusterKey), await start(clusterKey)];
    for (const { orphans } of nodes) orphans.start();
    await eventually(() => {
      expect(nodes.filter((node) => node.nodes.has("gc"))).toHaveLength(1);
    });
    const holder = nodes.find((node) => node.nodes.has("gc"))!;
    const next = nodes.find((node) => node !== holder)!;
    const { sha256 } = await next.artifacts.put(randomBytes(9));
    await name(next, sha256);
    await next.artifacts.put(randomBytes(9));
    await age();
    await eventually(async () => {
      expect(await stored()).toEqual([sha256]);
    });
    const removals = ({ log }: Node): unknown[] =>
      log.lines.filter(({ message }) => message.startsWith("removed shared"));
    expect([removals(holder).length, removals(next).length]).toEqual([1, 0]);
    await holder.stop();
    await next.artifacts.put(randomBytes(9));
    await age();
    await eventually(async () => {
      expect(await stored()).toEqual([sha256]);
    });
    expect(removals(next)).toHaveLength(1);
  });
});
