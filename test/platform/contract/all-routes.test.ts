/** Every route of the server: its schemas are compiled with its first request, so a test must compile them all. */
import { describe, expect, it } from "vitest";
import { ROUTE_LIST } from "../../../src/api.js";
import { compileRoute } from "../../../src/platform/contract/validate.js";
import { AppError } from "../../../src/platform/errors.js";

/** What comes of a check: a refusal is as good as an answer, but a schema that does not compile throws another error. */
function outcome(check: () => unknown): unknown {
  try {
    check();
    return "taken";
  } catch (error) {
    return error instanceof AppError ? "refused" : error;
  }
}

describe("the schemas of every route", () => {
  it.each(ROUTE_LIST.map((route) => [route.id, route] as const))("compile: %s", (_id, route) => {
    const validator = compileRoute(route);
    for (const check of [
      () => validator.params({}),
      () => validator.query(""),
      () => validator.query("x=1"),
      () => validator.body(undefined),
      () => validator.body({}),
    ])
      expect(["taken", "refused"]).toContain(outcome(check));
  });
});
