/** Limits that two nodes of a cluster share: by an equal part for each, or by counters of the store that all have. */
import { describe, expect, it } from "vitest";
import { HourlyLimit } from "../../../src/identity/login/hourly-limit.js";
import { LoginThrottle } from "../../../src/identity/login/login-throttle.js";
import { ThrottleCounters } from "../../../src/identity/login/throttle-counters.js";
import { RateLimiter, type RateKind } from "../../../src/platform/http/limits/rate-limit.js";
import { shareOfLimit } from "../../../src/platform/nodes/share-of-limit.js";
import { NodesInMemory } from "../../support/nodes-in-memory.js";
import { HeldClock } from "../auth/support.js";

const NAMES = ["one", "two"] as const;

describe("the rate of a caller over two nodes", () => {
  const limiters = ({ readsPerSec = 10, writesPerSec = 5 } = {}) => {
    const [clock, cluster] = [new HeldClock(), new NodesInMemory()];
    const serving = { serving: 2 };
    const rates = NAMES.map((name) => {
      // What a node knows of the others changes while it runs.
      const { nodes } = cluster.node(name);
      const seen = new Proxy(nodes, {
        get: (target, member) => (member === "serving" ? serving.serving : (Reflect.get(target, member) as unknown)),
      });
      return new RateLimiter({ readsPerSec, writesPerSec }, { clock, nodes: seen });
    });
    const drain = (kind: RateKind, of = rates): number => {
      let taken = 0;
      for (const each of of) while (each.take("user:1", kind) === 0) taken += 1;
      return taken;
    };
    return { clock, rates, serving, drain };
  };

  it("is together that of a single server, in bursts and after them", () => {
    const { clock, drain } = limiters();
    expect([drain("read"), drain("write")]).toEqual([20, 10]);
    clock.advanceSec(1);
    expect([drain("read"), drain("write")]).toEqual([10, 4]);
    clock.advanceSec(3600);
    expect([drain("read"), drain("write")]).toEqual([20, 10]);
  });

  it("says how long to wait at the node that was asked", () => {
    const { rates, drain } = limiters();
    drain("read");
    expect(rates[0]!.take("user:1", "read")).toBeCloseTo(1 / 5);
  });

  it("goes to the node that is left, and is shared again with one that comes", () => {
    const { clock, rates, serving, drain } = limiters();
    drain("read");
    serving.serving = 1;
    clock.advanceSec(3600);
    expect(drain("read", [rates[0]!])).toBe(20);
    clock.advanceSec(3600);
    // What the single one has saved up it does not keep.
    serving.serving = 2;
    expect(drain("read", [rates[0]!])).toBe(10);
  });

  it("is one request a second at least on each node", () => {
    const { clock, drain } = limiters({ readsPerSec: 1, writesPerSec: 1 });
    drain("read");
    clock.advanceSec(1);
    expect(drain("read")).toBe(2);
  });
});

describe("a count that each node keeps by itself", () => {
  it("is an equal share, rounded up", () => {
    const shares = [1, 2, 3, 10, 11].map((serving) => shareOfLimit(10, { serving }));
    expect(shares).toEqual([10, 5, 4, 1, 1]);
    expect(shareOfLimit(10, undefined)).toBe(10);
  });
});

describe("limits of the store over two nodes", () => {
  const nodesWith = <Part>(make: (parts: ConstructorParameters<typeof LoginThrottle>[1]) => Part) => {
    const [clock, cluster] = [new HeldClock(), new NodesInMemory()];
    const parts = NAMES.map((name) => {
      const { store } = cluster.node(name);
      return make({ store, clock, counters: new ThrottleCounters({ store, clock }) });
    });
    return { clock, one: parts[0]!, two: parts[1]! };
  };

  it("count the accounts of an hour together, also when both count at once", async () => {
    const { clock, one, two } = nodesWith(
      (parts) => new HourlyLimit({ kind: "signup", perHourMax: 6, message: "too many" }, parts),
    );
    await one.count("address");
    await two.count("address");
    await Promise.all([one.count("address"), two.count("address")]);
    await one.count("address");
    await two.count("address");
    for (const limit of [one, two])
      await expect(limit.count("address")).rejects.toMatchObject({ code: "too_many_requests", retryAfterSec: 3600 });
    await one.count("another");
    clock.advanceSec(3600);
    await two.count("address");
  });

  it("count the wrong passwords of an account together", async () => {
    const { clock, one, two } = nodesWith((parts) => new LoginThrottle({}, parts));
    const attempt = { email: "ada@example.com", address: "192.0.2.1" };
    for (let failures = 0; failures < 5; failures += 1) {
      const node = failures % 2 === 0 ? one : two;
      await node.fail(await node.reserve(attempt));
    }
    for (const node of [one, two])
      await expect(node.reserve(attempt)).rejects.toMatchObject({ code: "too_many_requests" });
    // The last failure's second of waiting goes before the hour.
    clock.advanceSec(3601);
    await one.reserve(attempt);
    // One attempt at a time, wherever it is evaluated.
    await expect(two.reserve(attempt)).rejects.toMatchObject({ code: "too_many_requests", retryAfterSec: 1 });
  });
});
