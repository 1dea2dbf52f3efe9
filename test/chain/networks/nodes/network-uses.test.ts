/** Networks that several nodes of the server use: one of them publishes their states, all forget what was changed. */
import { expect, it } from "vitest";
import { eventually } from "../../../support/eventually.js";
import { NodesInMemory } from "../../../support/nodes-in-memory.js";
import { ada, anvil, networks, setUpNetworks, SIGNAL, type Bench } from "../support.js";

setUpNetworks();

const ROUND_MS = 50;

function bench(cluster: NodesInMemory, name: string): Bench {
  const { store, nodes } = cluster.node(name);
  return networks(new Map(), ROUND_MS, store, nodes);
}

it("asks for and publishes the states of networks that other nodes use, before and after it began", async () => {
  const cluster = new NodesInMemory();
  cluster.holder = "publisher";
  const [publisher, user] = [bench(cluster, "publisher"), bench(cluster, "user")];
  const create = async (): Promise<string> => {
    const { service } = user.part;
    const { id } = await service.create(ada, { name: "x", config: { json_rpc_url: anvil.url } }, SIGNAL);
    service.rpc(service.find(ada, id));
    service.rpc(service.find(ada, id));
    return id;
  };
  const before = await create();
  await eventually(() => {
    expect(cluster.store.count(["chain_network_use"])).toBe(1);
  });
  for (const { part } of [publisher, user]) part.start();
  publisher.part.publish();
  const after = await create();
  await eventually(() => {
    expect(publisher.said.map(({ subject }) => subject).sort()).toEqual(
      [before, after].map((id) => `network.${id}.status`).sort(),
    );
  });
  await eventually(() => {
    expect(user.part.service.get(ada, after).stats).toMatchObject({ state: "running" });
  });
  expect(user.said).toEqual([]);
  for (const { part } of [publisher, user]) await part.stop();
});

it("forgets what a node knows of a network that another node has changed", async () => {
  const cluster = new NodesInMemory();
  const [one, other] = [bench(cluster, "one"), bench(cluster, "other")];
  const { id } = await one.part.service.create(ada, { name: "x", config: { json_rpc_url: anvil.url } }, SIGNAL);
  await one.part.handlers.getNetworkStatus({ params: { id }, principal: { subject: ada } } as never);
  expect(one.part.service.get(ada, id).stats).toMatchObject({ state: "running" });
  await other.part.service.update(ada, id, { enabled: false }, SIGNAL);
  expect(one.part.service.get(ada, id)).toMatchObject({ enabled: false, stats: null });
});
