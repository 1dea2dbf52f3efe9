import { describe, expect, it } from "vitest";
import { rotStore } from "../../support/store-rot.js";

describe("bits flip in the data file, at length", () => {
  it.each([
    [100, 8],
    [600, 1],
  ])("no answer is silently wrong in %i copies with %i flips each", async (copies, flips) => {
    expect(await rotStore({ copies, flips })).toMatchObject({ wrong: 0, odd: 0 });
  });
});
