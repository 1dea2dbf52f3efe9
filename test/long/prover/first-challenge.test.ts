import { expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { computeFirstChallenge, firstChallenge } from "../../../src/engine/powers-of-tau/ceremony-challenge.js";

// 2^26, 2^27 and 2^28 take half a minute to two minutes each, by the same loop.
it("knows the first challenge of a ceremony of 2^25 as it is computed", () => {
  expect(firstChallenge(BN254, 25)).toEqual(computeFirstChallenge(BN254, 25));
});
