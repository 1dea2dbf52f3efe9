import { describe, expect, it } from "vitest";
import { systemClock } from "../../../../src/platform/clock.js";
import { Exchange } from "../../../../src/platform/http/request/exchange.js";
import { InFlight } from "../../../../src/platform/http/limits/in-flight.js";
import type { RequestHead } from "../../../../src/platform/http/request/request-head.js";
import type { RawResponse } from "../../../../src/platform/http/drivers/driver.js";
import { seededRandom } from "../../../support/seeded.js";

const PER_ADDRESS_MAX = 40;

function exchangeFrom(address: string): Exchange {
  return new Exchange({
    response: {} as RawResponse,
    head: {} as RequestHead,
    requestId: "",
    address,
    startedMs: 0,
    deadlineAtMs: Infinity,
    onDone: () => undefined,
  });
}

function inFlight(): InFlight {
  return new InFlight(
    { stallMs: 1000, perAddressMax: PER_ADDRESS_MAX },
    { clock: systemClock, onDeadline: () => undefined, onStalledBody: () => undefined },
  );
}

describe("requests in flight", () => {
  it("come and go in any order, as in a set, each counted for its address", () => {
    const random = seededRandom();
    console.log(`requests in flight: PROOFWRIGHT_TEST_SEED=${String(random.seed)}`);
    const held = inFlight();
    const model = new Set<Exchange>();
    const gone: Exchange[] = [];
    const countOf = (address: string): number => [...model].filter((exchange) => exchange.address === address).length;
    for (let step = 0; step < 3000; step += 1) {
      if (random.chance(0.52)) {
        const exchange = exchangeFrom(random.pick(["a", "b"]));
        model.add(exchange);
        expect(held.add(exchange)).toBe(countOf(exchange.address) <= PER_ADDRESS_MAX);
      } else if (gone.length > 0 && random.chance(0.2)) {
        held.remove(random.pick(gone));
      } else if (model.size > 0) {
        const exchange = random.pick([...model]);
        held.remove(exchange);
        model.delete(exchange);
        gone.push(exchange);
      }
      expect(held.size).toBe(model.size);
    }
    expect(new Set(held.list())).toEqual(model);
    expect(held.list().length).toBe(model.size);
    held.stop();
  });

  it("tell when the last of them is gone, and not when one is removed twice", async () => {
    const held = inFlight();
    const [one, other] = [exchangeFrom("a"), exchangeFrom("a")];
    for (const exchange of [one, other]) held.add(exchange);
    held.remove(one);
    held.remove(one);
    expect(held.size).toBe(1);
    const empty = held.empty(10_000);
    held.remove(other);
    expect(await empty).toBe(true);
    expect(held.list()).toEqual([]);
    held.stop();
  });
});
