import { describe, expect, it } from "vitest";
import { killStoreWriters } from "../../support/store-crash.js";

describe("kill -9 while sixteen writers commit", () => {
  it("loses no acknowledged commit and leaves none half-written (10 rounds)", async () => {
    const figures = await killStoreWriters({ rounds: 10, killAfterMs: [20, 150] });
    expect(figures).toMatchObject({ rounds: 10, lost: 0, half: 0 });
    expect(figures.acknowledged).toBeGreaterThan(100);
  });
});
