/** Nodes that join at the same time: of two whose settings differ, one runs. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterEach, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.js";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { ClusterNodes } from "../../src/platform/cluster/members/cluster-nodes.js";
import { recordedLog, type RecordedLog } from "../support/silent-log.js";
import { StoreGround } from "../support/store-ground.js";

const ground = new StoreGround("joining");
const joined: ClusterNodes[] = [];
afterEach(async () => {
  for (const nodes of joined.splice(0)) await nodes.stop();
});

interface Starting {
  readonly store: NodeStore;
  /** Joins with a value of the setting; the record of the member is written between these two. */
  readonly join: (value: string, options?: Partial<Steps & { readonly ports: string }>) => Promise<ClusterNodes>;
  readonly log: RecordedLog;
}
interface Steps {
  readonly before: () => Promise<unknown>;
  readonly after: () => Promise<unknown>;
}

/** Two nodes of a new cluster, which are not members yet. */
async function two(): Promise<readonly [Starting, Starting]> {
  const databaseUrl = ground.postgres.urlOf(await ground.postgres.newDatabase());
  const clusterKey = randomBytes(32);
  await initCluster({ databaseUrl, clusterKey });
  const starting = async (name: string): Promise<Starting> => {
    const [node, incarnation, log] = [randomUUID(), randomUUID(), recordedLog()];
    const cluster = { databaseUrl, clusterKey, node, incarnation };
    const store = ground.keep(await openNodeStore({ path: ground.folder(), cluster }, { log }));
    const options = { address: databaseAddress(databaseUrl), node, incarnation, name, role: "server" as const };
    const join: Starting["join"] = async (value, { ports = "443", ...steps } = {}) => {
      const dependencies = { store: withSteps(store, steps), clock: systemClock, log };
      const settings = { fixed: { PROOFWRIGHT_ISSUER: value }, changeable: { PROOFWRIGHT_EGRESS_PORTS: ports } };
      const nodes = await ClusterNodes.join({ ...options, settings }, dependencies);
      joined.push(nodes);
      return nodes;
    };
    return { store, join, log };
  };
  return [await starting("one"), await starting("two")];
}

/** The same store, but for what is waited for before its first commit and after it. */
function withSteps(store: NodeStore, { before, after }: Partial<Steps>): NodeStore {
  let commits = 0;
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "commit") return value.bind(target) as unknown;
      return async (...args: Parameters<NodeStore["commit"]>): Promise<void> => {
        const isFirst = (commits += 1) === 1;
        if (isFirst) await before?.();
        await target.commit(...args);
        if (isFirst) await after?.();
      };
    },
  });
}

function signal(): { readonly raised: Promise<void>; readonly raise: () => Promise<void> } {
  let raise = (): void => undefined;
  const raised = new Promise<void>((resolve) => {
    raise = resolve;
  });
  return {
    raised,
    raise: async () => {
      await Promise.resolve();
      raise();
    },
  };
}

it.each([
  ["and does not see the later one", false],
  ["though it sees the later one", true],
])("the earlier one in the log runs, %s", async (_what, seesLater) => {
  const [one, other] = await two();
  const [first, second] = [signal(), signal()];
  // Each has found nobody before either is a member.
  const later = other.join("https://b.test", {
    before: async () => {
      await first.raised;
    },
    after: second.raise,
  });
  const refused = expect(later).rejects.toMatchObject({
    code: "conflict",
    message:
      'PROOFWRIGHT_ISSUER must be the same on all nodes: it is "https://b.test" here, and "https://a.test" on the node one',
  });
  const nodes = await one.join("https://a.test", {
    after: async () => {
      await first.raise();
      if (!seesLater) return;
      await second.raised;
      await one.store.confirm();
    },
  });
  await refused;
  await one.store.confirm();
  expect([nodes.others(), nodes.count]).toEqual([[], 1]);
});

it("both run where their settings are alike", async () => {
  const [one, other] = await two();
  const nodes = await Promise.all([one.join("https://a.test"), other.join("https://a.test")]);
  for (const { store } of [one, other]) await store.confirm();
  expect(nodes.map((each) => each.others().map(({ name }) => name))).toEqual([["two"], ["one"]]);
});

it("warns of a setting that an operator may change one node after the other, and both run", async () => {
  const [one, other] = await two();
  await one.join("https://a.test", { ports: "443" });
  await other.join("https://a.test", { ports: "443,8443" });
  const warned = (node: Starting): string[] =>
    node.log.lines.filter(({ level }) => level === "warn").map(({ message }) => message);
  expect(warned(one)).toEqual([]);
  expect(warned(other)).toEqual([
    'PROOFWRIGHT_EGRESS_PORTS should be the same on all nodes: it is "443,8443" here, and "443" on the node one: what one refuses gets through by the other',
  ]);
});
