/** What routes that create something promise to whoever repeats a request under its Idempotency-Key. */
import { expect, it } from "vitest";
import { ROUTE_LIST } from "../../src/api.js";

it("keep what they do in the commit by which they do it, so that the repeat of a cut-off request is answered", () => {
  const creating = ROUTE_LIST.filter(({ creates }) => creates === true);
  expect(creating.length).toBeGreaterThan(30);
  // How a handler does it: src/platform/contract/once.ts.
  expect(creating.filter(({ keepsOnce }) => keepsOnce !== true).map(({ id }) => id)).toEqual([]);
});
