import { describe, expect, it } from "vitest";
import { killServer } from "../../support/http-crash.js";
import { seededRandom } from "../../support/seeded.js";

describe("kill -9 of the server under load, at length", () => {
  it("loses none of 3,000 and more acknowledged requests over 60 rounds and leaves nothing half-written", async () => {
    const random = seededRandom();
    process.stdout.write(`seed ${String(random.seed)}\n`);
    const figures = await killServer({ rounds: 60, killAfterMs: [300, 1500], random });
    process.stdout.write(`${JSON.stringify({ test: "http-crash", ...figures })}\n`);
    expect(figures).toMatchObject({ rounds: 60, lost: 0, half: 0 });
    expect(figures.acknowledged).toBeGreaterThanOrEqual(3_000);
  });
});
