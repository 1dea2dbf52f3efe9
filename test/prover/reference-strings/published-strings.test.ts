/** Powers-of-tau files in the operator's folder: when they are checked, what is kept of them, and what is not. */
import { copyFileSync, existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import { loadKernelPairing } from "../../../src/engine/kernels/pairing/pairing.js";
import { checkPowersOfTau } from "../../../src/engine/powers-of-tau/check-powers.js";
import { openRangeFile } from "../../../src/engine/powers-of-tau/range-file.js";
import { systemClock } from "../../../src/platform/clock.js";
import { PowersRecords } from "../../../src/prover/reference-strings/powers-records.js";
import { PublishedStrings } from "../../../src/prover/reference-strings/published-strings.js";
import { recordedLog } from "../../support/silent-log.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { failureOf, openTestRegistry, type TestRegistry } from "../support.js";

let test: TestRegistry;
let folder: string;
let strings: PublishedStrings;
let small: Uint8Array;
let large: Uint8Array;
let plain: Uint8Array;
let checks: string[];
let used: Set<string>;
let isLost = false;
const folders: string[] = [];
const released: string[] = [];

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const put = (name: string, bytes: Uint8Array): void => writeFileSync(join(folder, name), bytes);
const statesOf = async (): Promise<(readonly [string, string])[]> =>
  (await strings.list()).map(({ file, state }) => [file, state] as const);

beforeAll(async () => {
  test = await openTestRegistry({ idle: true });
  [small, large, plain] = await Promise.all([
    makePowersOfTau(2, { isPrepared: true }),
    makePowersOfTau(3, { isPrepared: true }),
    makePowersOfTau(4, { isPrepared: false }),
  ]);
});
afterAll(async () => {
  await test.close();
});

beforeEach(async () => {
  for (const old of folders.splice(0)) removeFolder(old);
  folder = newFolder("ptau");
  folders.push(folder);
  [checks, used, isLost] = [[], new Set(), false];
  released.length = 0;
  const records = new PowersRecords({ store: test.store });
  for (const { file } of records.all()) await test.store.commit(records.deletion(file));
  strings = new PublishedStrings(
    { folder },
    {
      store: test.store,
      records,
      artifacts: test.artifacts,
      check: async (path) => {
        checks.push(path);
        if (isLost) return { ok: false, code: "crashed", message: "the task ended without an answer" };
        const file = openRangeFile(path);
        try {
          return { ok: true, value: await checkPowersOfTau(file, loadKernelPairing()) };
        } finally {
          file.close();
        }
      },
      keep: ({ sha256 }) => ({ puts: [{ key: ["kept", sha256], value: true }] }),
      release: ({ sha256 }) => {
        released.push(sha256);
        return { deletes: [["kept", sha256]] };
      },
      isUsed: (sha256) => used.has(sha256),
      clock: systemClock,
      log: recordedLog(),
    },
  );
});
afterAll(() => removeFolder(folder));

describe("published reference strings", () => {
  it("are found without being read, and checked when they are wanted, the smallest that fits first", async () => {
    put("large.ptau", large);
    put("small.ptau", small);
    put("notes.txt", small);
    mkdirSync(join(folder, "folder.ptau"));
    expect(await statesOf()).toEqual([
      ["large.ptau", "found"],
      ["small.ptau", "found"],
    ]);
    expect(checks).toEqual([]);
    const taken = await strings.take("BN254", 2);
    expect(taken).toMatchObject({ sha256: hashOf(small), power: 2, prepared: true, contributions_checked: true });
    expect(checks).toHaveLength(1);
    expect(await strings.take("BN254", 3)).toMatchObject({ sha256: hashOf(large) });
    expect(await strings.take("BN254", 2)).toMatchObject({ sha256: hashOf(small) });
    expect(await strings.take("BN254", 4)).toBeUndefined();
    expect(checks).toHaveLength(2);
    expect(test.artifacts.has(hashOf(small))).toBe(true);
    expect(strings.get(hashOf(small)).contributions).toMatchObject([{ name: "known secrets", kind: "contribution" }]);
  });

  it("are kept when their file is gone, and checked anew when it has changed", async () => {
    put("one.ptau", small);
    await strings.check("one.ptau");
    rmSync(join(folder, "one.ptau"));
    expect(await strings.list()).toMatchObject([{ state: "checked", sha256: hashOf(small) }]);
    put("one.ptau", large);
    expect(await statesOf()).toEqual([["one.ptau", "found"]]);
    expect(await strings.check("one.ptau")).toMatchObject({ state: "checked", string: { sha256: hashOf(large) } });
    expect(checks).toHaveLength(2);
  });

  it("of the same content are checked once", async () => {
    put("one.ptau", small);
    put("two.ptau", small);
    await Promise.all([strings.check("one.ptau"), strings.check("two.ptau"), strings.check("one.ptau")]);
    expect(checks).toHaveLength(1);
    utimesSync(join(folder, "one.ptau"), 1, 1);
    expect(await strings.check("one.ptau")).toMatchObject({ state: "checked" });
    expect(checks).toHaveLength(1);
  });

  it("that are refused leave their name and fault, and no copy", async () => {
    const wrong = small.slice();
    wrong.set([(wrong[200] ?? 0) ^ 1], 200);
    put("wrong.ptau", wrong);
    put("cut.ptau", large.subarray(0, large.length - 1));
    expect(await strings.take("BN254", 2)).toBeUndefined();
    expect(await strings.check("cut.ptau")).toMatchObject({ state: "refused", fault: "truncated" });
    expect(await strings.list()).toMatchObject([
      { file: "cut.ptau", state: "refused", sha256: null, error: { code: "truncated" } },
      { file: "wrong.ptau", state: "refused", sha256: null, error: { code: "point_not_on_curve" } },
    ]);
    expect(test.artifacts.has(hashOf(wrong))).toBe(false);
    // The next smallest is taken instead.
    put("sound.ptau", large);
    expect(await strings.take("BN254", 2)).toMatchObject({ sha256: hashOf(large) });
  });

  it("without Lagrange points are checked, but not kept or taken", async () => {
    put("plain.ptau", plain);
    expect(await strings.take("BN254", 2)).toBeUndefined();
    expect(await strings.check("plain.ptau")).toMatchObject({ state: "checked", string: { prepared: false } });
    expect(test.artifacts.has(hashOf(plain))).toBe(false);
    expect(await strings.take("BN254", 2)).toBeUndefined();
  });

  it("leave nothing behind when the check is lost, and are checked again", async () => {
    put("one.ptau", plain);
    isLost = true;
    expect(await failureOf(() => strings.check("one.ptau"))).toMatchObject({ code: "internal_error" });
    expect(await statesOf()).toEqual([["one.ptau", "found"]]);
    expect(test.artifacts.has(hashOf(plain))).toBe(false);
    isLost = false;
    expect(await strings.check("one.ptau")).toMatchObject({ state: "checked" });
  });

  it("are deleted unless the keys of a prover follow from them", async () => {
    put("one.ptau", small);
    await strings.check("one.ptau");
    used.add(hashOf(small));
    expect(await failureOf(() => strings.delete(hashOf(small)))).toMatchObject({ code: "conflict" });
    used.clear();
    await strings.delete(hashOf(small));
    expect(released).toEqual([hashOf(small)]);
    expect(existsSync(join(folder, "one.ptau"))).toBe(true);
    expect(test.artifacts.has(hashOf(small))).toBe(false);
    expect(await statesOf()).toEqual([["one.ptau", "found"]]);
    expect(await failureOf(() => strings.delete(hashOf(small)))).toMatchObject({ code: "not_found" });
  });

  it("are refused by name when no file has it, whatever the name says", async () => {
    copyFileSync("/dev/null", join(folder, "empty.ptau"));
    for (const name of ["none.ptau", "../one.ptau", "/etc/passwd", ""])
      expect(await failureOf(() => strings.requireFile(name))).toMatchObject({ code: "invalid_request" });
    expect(await strings.check("empty.ptau")).toMatchObject({ state: "refused", fault: "truncated" });
  });
});
