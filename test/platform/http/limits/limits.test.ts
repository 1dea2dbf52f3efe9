/** Throttling and connection limits over sockets; the buckets themselves with a clock that stands still. */
import net from "node:net";
import { describe, expect, it } from "vitest";
import type { Clock } from "../../../../src/platform/clock.js";
import { RateLimiter } from "../../../../src/platform/http/limits/rate-limit.js";
import { BEARER, errorOf, startFront, until } from "../support.js";

function heldClock(): Clock & { advance(ms: number): void } {
  let ms = 1_000_000;
  return {
    nowMs: () => ms,
    monotonicMs: () => ms,
    advance: (by) => {
      ms += by;
    },
  };
}

describe("token buckets", () => {
  const limiter = (callersMax?: number): { clock: ReturnType<typeof heldClock>; rates: RateLimiter } => {
    const clock = heldClock();
    return {
      clock,
      rates: new RateLimiter(
        { readsPerSec: 10, writesPerSec: 5, ...(callersMax === undefined ? {} : { callersMax }) },
        { clock },
      ),
    };
  };
  const drain = (rates: RateLimiter, caller: string, kind: "read" | "write"): number => {
    let taken = 0;
    while (rates.take(caller, kind) === 0) taken += 1;
    return taken;
  };

  it("lets a burst of two seconds through, then exactly the rate", () => {
    const { clock, rates } = limiter();
    expect(drain(rates, "a", "read")).toBe(20);
    clock.advance(1000);
    expect(drain(rates, "a", "read")).toBe(10);
    clock.advance(3_600_000);
    expect(drain(rates, "a", "read")).toBe(20);
  });

  it("says how long to wait, to the fraction of a token", () => {
    const { clock, rates } = limiter();
    drain(rates, "a", "write");
    expect(rates.take("a", "write")).toBeCloseTo(0.2);
    clock.advance(199);
    expect(rates.take("a", "write")).toBeGreaterThan(0);
    clock.advance(2);
    expect(rates.take("a", "write")).toBe(0);
  });

  it("keeps callers and kinds apart", () => {
    const { rates } = limiter();
    drain(rates, "a", "read");
    expect(rates.take("a", "write")).toBe(0);
    expect(rates.take("b", "read")).toBe(0);
  });

  it("forgets the longest idle caller when there are too many", () => {
    const { rates } = limiter(2);
    drain(rates, "a", "read");
    drain(rates, "b", "read");
    rates.take("a", "read");
    rates.take("c", "read");
    expect(rates.take("a", "read")).toBeGreaterThan(0);
    expect(rates.take("b", "read")).toBe(0);
  });

  it("does not count backwards when the clock does", () => {
    const { clock, rates } = limiter();
    drain(rates, "a", "read");
    clock.advance(-5000);
    expect(rates.take("a", "read")).toBeGreaterThan(0);
  });
});

describe("throttling", () => {
  it("answers 429 with Retry-After over the rate, per subject, after 401 and 403", async () => {
    const clock = heldClock();
    const front = await startFront({ clock, limits: { rateLimits: true, readsPerSec: 2, writesPerSec: 1 } });
    const get = async (token: string): Promise<Response> =>
      await fetch(`${front.url}/api/v1/things`, { headers: { Authorization: `bearer ${token}` } });
    for (let n = 0; n < 4; n += 1) expect((await get("user-read")).status).toBe(200);
    const refused = await get("user-read");
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect((await errorOf(refused)).errors[0]?.code).toBe("too_many_requests");
    expect((await get("nobody")).status).toBe(401);
    expect((await get("user-none")).status).toBe(403);
    expect((await get("app-read")).status).toBe(200);
    clock.advance(500);
    expect((await get("user-read")).status).toBe(200);
    await front.server.stop({ graceMs: 0 });
  });

  it("throttles public routes by address", async () => {
    const front = await startFront({ clock: heldClock(), limits: { rateLimits: true, writesPerSec: 1 } });
    const statuses: number[] = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await fetch(`${front.url}/api/v1/open`, { method: "POST" })).status);
    expect(statuses).toEqual([200, 200, 429]);
    await front.server.stop({ graceMs: 0 });
  });

  it("throttles the clients behind a trusted proxy one by one, and ignores the header of an untrusted one", async () => {
    const throttled = async (trustedProxies: readonly string[]): Promise<number[]> => {
      const front = await startFront({
        clock: heldClock(),
        limits: { rateLimits: true, writesPerSec: 1 },
        server: { trustedProxies },
      });
      const statuses: number[] = [];
      for (let n = 0; n < 3; n += 1)
        statuses.push(
          (
            await fetch(`${front.url}/api/v1/open`, {
              method: "POST",
              headers: { "X-Forwarded-For": `203.0.113.${String(n)}` },
            })
          ).status,
        );
      await front.server.stop({ graceMs: 0 });
      return statuses;
    };
    expect(await throttled(["127.0.0.1"])).toEqual([200, 200, 200]);
    expect(await throttled(["10.0.0.0/8"])).toEqual([200, 200, 429]);
  });
});

describe("connections", () => {
  it("closes connections over the limit and takes new ones when old ones end", async () => {
    const front = await startFront({ limits: { connectionsMax: 2 } });
    const open = async (): Promise<net.Socket> =>
      await new Promise((resolve) => {
        const socket = net.connect(front.port, "127.0.0.1", () => {
          resolve(socket);
        });
        socket.on("error", () => undefined);
      });
    const first = await open();
    const second = await open();
    const third = await open();
    await until(() => third.closed || third.readableEnded || third.destroyed);
    expect([first.destroyed, second.destroyed]).toEqual([false, false]);
    first.destroy();
    second.destroy();
    let status = 0;
    while (status !== 200)
      status = await fetch(`${front.url}/api/v1/things`, { headers: { ...BEARER, Connection: "close" } }).then(
        (response) => response.status,
        () => 0,
      );
    await front.server.stop({ graceMs: 0 });
  });

  it("refuses too many requests at once from one address", async () => {
    const front = await startFront({ limits: { rateLimits: true, requestsPerAddressMax: 1 } });
    const slow = fetch(`${front.url}/api/v1/slow`, { method: "POST", headers: BEARER });
    await front.entered();
    expect((await fetch(`${front.url}/api/v1/things`, { headers: BEARER })).status).toBe(429);
    front.openGate();
    expect((await slow).status).toBe(200);
    expect((await fetch(`${front.url}/api/v1/things`, { headers: BEARER })).status).toBe(200);
    await front.server.stop({ graceMs: 0 });
  });
});
