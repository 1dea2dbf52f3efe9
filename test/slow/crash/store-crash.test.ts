import { describe, expect, it } from "vitest";
import { killStoreWriters } from "../../support/store-crash.js";

describe("kill -9 while sixteen writers commit, at length", () => {
  it("loses none of 40,000 and more acknowledged commits over 200 rounds and leaves none half-written", async () => {
    const figures = await killStoreWriters({ rounds: 200, killAfterMs: [150, 400] });
    expect(figures).toMatchObject({ rounds: 200, lost: 0, half: 0 });
    expect(figures.acknowledged).toBeGreaterThanOrEqual(40_000);
  });
});
