import { describe, expect, it } from "vitest";
import { killServer } from "../../support/http-crash.js";
import { seededRandom } from "../../support/seeded.js";

describe("kill -9 of the server under load", () => {
  it("loses nothing acknowledged over HTTP and leaves nothing half-written", async () => {
    const random = seededRandom();
    process.stdout.write(`seed ${String(random.seed)}\n`);
    const figures = await killServer({ rounds: 3, killAfterMs: [300, 900], random });
    expect(figures).toMatchObject({ rounds: 3, lost: 0, half: 0 });
    expect(figures.acknowledged).toBeGreaterThan(20);
  });
});
