import { describe, expect, it } from "vitest";
import { retryOnConflict } from "../../../src/platform/store/commits.js";
import { StoreConflict } from "../../../src/platform/store/store.js";

/** Counts the attempts of a commit that always conflicts. */
async function attemptsOf(isShared: boolean, attemptsMax?: number): Promise<number> {
  let attempts = 0;
  const failing = retryOnConflict(
    () => {
      attempts += 1;
      return Promise.reject(new StoreConflict(["record"], { isShared }));
    },
    attemptsMax === undefined ? {} : { attemptsMax },
  );
  await expect(failing).rejects.toMatchObject({ code: "conflict" });
  return attempts;
}

describe("a commit that conflicts", () => {
  it("is tried eight times, or as often as said, and twice that where other nodes write", async () => {
    expect([await attemptsOf(false), await attemptsOf(true)]).toEqual([8, 16]);
    expect([await attemptsOf(false, 3), await attemptsOf(true, 3)]).toEqual([3, 6]);
  });

  it("succeeds with the first attempt that does, and ends with any other failure", async () => {
    let attempts = 0;
    const attempt = (): Promise<number> => {
      attempts += 1;
      return attempts < 3 ? Promise.reject(new StoreConflict(["record"], { isShared: true })) : Promise.resolve(7);
    };
    expect(await retryOnConflict(attempt)).toBe(7);
    await expect(retryOnConflict(() => Promise.reject(new Error("the disk")))).rejects.toThrow("the disk");
  });
});
