/** Limits that nodes of a cluster count together: exact over all of them, and refusals in their own words. */
import { beforeEach, describe, expect, it } from "vitest";
import { createHourlyLimits, type HourlyLimits } from "../../../src/identity/login/hourly-limit.js";
import { LoginThrottle } from "../../../src/identity/login/login-throttle.js";
import { ThrottleCounters } from "../../../src/identity/login/throttle-counters.js";
import { systemClock } from "../../../src/platform/clock.js";
import { StoreConflict, type Store } from "../../../src/platform/store/store.js";
import { NodesInMemory } from "../../support/nodes-in-memory.js";

let cluster: NodesInMemory;
beforeEach(() => {
  cluster = new NodesInMemory();
});

function limitsOn(store: Store): { readonly hourly: HourlyLimits; readonly logins: LoginThrottle } {
  const parts = { store, clock: systemClock, counters: new ThrottleCounters({ store, clock: systemClock }) };
  return {
    hourly: createHourlyLimits({ signupsPerHourMax: 10 }, parts),
    logins: new LoginThrottle({ accountFailuresMax: 4, addressFailuresMax: 100 }, parts),
  };
}

describe("two nodes", () => {
  it("let through as many requests of an hour together as one does", async () => {
    const nodes = ["a", "b"].map((name) => limitsOn(cluster.node(name).store));
    const asked = await Promise.allSettled(
      Array.from({ length: 30 }, async (_, index) => await nodes[index % 2]?.hourly.signup.count("address")),
    );
    expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
    for (const { hourly } of nodes)
      await expect(hourly.signup.count("address")).rejects.toMatchObject({ code: "too_many_requests" });
  });

  it("count wrong passwords of one account together", async () => {
    const nodes = ["a", "b"].map((name) => limitsOn(cluster.node(name).store).logins);
    const attempt = { email: "a@example.com", address: "192.0.2.1" };
    for (let index = 0; index < 4; index += 1) {
      const throttle = nodes[index % 2];
      const reservation = await throttle?.reserve(attempt);
      if (reservation !== undefined) await throttle?.fail(reservation);
    }
    for (const throttle of nodes)
      await expect(throttle.reserve(attempt)).rejects.toMatchObject({ code: "too_many_requests" });
  });
});

it("a counter that others always change first refuses as too many requests, with the time to wait", async () => {
  const { store } = cluster.node("a");
  let tries = 0;
  store.commit = () => {
    tries += 1;
    return Promise.reject(new StoreConflict(["throttle"], { isShared: true }));
  };
  const { hourly, logins } = limitsOn(store);
  const refused = { code: "too_many_requests", retryAfterSec: 1 };
  await expect(hourly.signup.count("address")).rejects.toMatchObject(refused);
  await expect(logins.reserve({ email: "a@example.com", address: "192.0.2.1" })).rejects.toMatchObject(refused);
  expect(tries).toBeGreaterThan(8);
});
