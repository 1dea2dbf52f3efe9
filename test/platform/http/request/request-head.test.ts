/** How long a request head may be. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rawExchange, requestText, startFront, type Front } from "../support.js";

let front: Front;
beforeAll(async () => {
  front = await startFront();
});
afterAll(async () => {
  await front.server.stop({ graceMs: 1000 });
});

describe("a request head", () => {
  const headOf = (bytes: number): string => {
    const rest = requestText("GET /api/v1/things", ["X-Filler: "]).length;
    return requestText("GET /api/v1/things", [`X-Filler: ${"a".repeat(bytes - rest)}`]);
  };

  it.each([
    [4096, 200],
    [8192, 200],
    [8193, 431],
    [20_000, 431],
  ])("of %i bytes gets %i", async (bytes, status) => {
    const head = headOf(bytes);
    expect(head.length).toBe(bytes);
    for (const pieces of [[head], [head.slice(0, 100), head.slice(100)]])
      expect(await rawExchange(front.port, ...pieces)).toMatch(new RegExp(`^HTTP/1\\.1 ${String(status)} `));
  });
});
