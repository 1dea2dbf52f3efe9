/** What callers are told of a commit that the cluster's database did not take. */
import { describe, expect, it } from "vitest";
import { groupFailure } from "../../../src/platform/cluster/log/commit-failures.js";
import { DatabaseRefused, DatabaseUnreachable } from "../../../src/platform/cluster/log/log-database.js";

const refused = (code: string): DatabaseRefused => new DatabaseRefused(code, undefined);

describe("a group that was not written", () => {
  it.each(["40001", "40P01", "55P03", "57014"])("may be written later after SQLSTATE %s", (code) => {
    expect(groupFailure(refused(code), { isUnknown: false })).toMatchObject({
      ...{ isLasting: false, isFatal: false },
      failure: { code: "store_unreachable" },
    });
  });

  it("is lost to a full disk or a statement that will never pass", () => {
    for (const [code, told] of [
      ["53100", "storage_full"],
      ["23514", "storage_failed"],
    ] as const)
      expect(groupFailure(refused(code), { isUnknown: false })).toMatchObject({
        ...{ isLasting: true, isFatal: false },
        failure: { code: told },
      });
  });

  it("has an unknown outcome where its row may be in the log", () => {
    for (const error of [refused("55P03"), new DatabaseUnreachable("gone", undefined)])
      expect(groupFailure(error, { isUnknown: true }).failure.code).toBe("outcome_unknown");
  });
});
