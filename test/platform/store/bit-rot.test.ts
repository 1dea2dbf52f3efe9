import { describe, expect, it } from "vitest";
import { rotStore } from "../../support/store-rot.js";

describe("bits flip in the data file", () => {
  it("every answer is right or an error, never silently wrong (40 copies, 8 flips each)", async () => {
    const figures = await rotStore({ copies: 40, flips: 8 });
    expect(figures).toMatchObject({ wrong: 0, odd: 0 });
    expect(figures.refused).toBeGreaterThan(0);
  });
});
