/** Sealing that holds on all nodes: who is told of it, and what who asked is answered. */
import { beforeEach, expect, it } from "vitest";
import { SealOrders } from "../../../src/vault/seal/seal-orders.js";
import { NodesInMemory } from "../../support/nodes-in-memory.js";
import { recordedLog } from "../../support/silent-log.js";

let cluster: NodesInMemory;
let sealed: string[];
beforeEach(() => {
  cluster = new NodesInMemory();
  sealed = [];
});

function node(name: string, options: { sealHere?: () => Promise<void>; waitMs?: number } = {}): SealOrders {
  const seal = (): Promise<void> => {
    sealed.push(name);
    return Promise.resolve();
  };
  return new SealOrders({ ...cluster.node(name), log: recordedLog(), sealHere: seal, ...options });
}

it("is answered when the others have sealed, each time", async () => {
  const first = node("a");
  for (const name of ["b", "c"]) node(name);
  expect(await first.give()).toEqual([]);
  expect(sealed.sort()).toEqual(["b", "c"]);
  expect(await first.give()).toEqual([]);
  expect(sealed).toHaveLength(4);
});

it("is answered to all who ask at once", async () => {
  const nodes = ["a", "b", "c"].map((name) => node(name));
  expect(await Promise.all(nodes.map(async (orders) => await orders.give()))).toEqual([[], [], []]);
  expect([...new Set(sealed)].sort()).toEqual(["a", "b", "c"]);
});

it("names the nodes that have not said that they are sealed", async () => {
  const first = node("a", { waitMs: 20 });
  node("b");
  node("hung", { sealHere: () => new Promise(() => undefined) });
  expect(await first.give()).toEqual(["hung"]);
  cluster.end("hung");
  expect(await first.give()).toEqual([]);
});

it("goes on without a node that ends while it is waited for", async () => {
  const first = node("a");
  node("hung", { sealHere: () => new Promise(() => undefined) });
  const given = first.give();
  await new Promise((resolve) => setImmediate(resolve));
  cluster.end("hung");
  expect(await given).toEqual([]);
});
