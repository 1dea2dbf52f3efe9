/** Powers-of-tau files in the operator's folder: when they are checked, what is kept of them, and what is not. */
import { copyFileSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import { loadKernelPairing } from "../../../src/engine/kernels/pairing/pairing.js";
import { checkPowersOfTau } from "../../../src/engine/powers-of-tau/check-powers.js";
import { openRangeFile } from "../../../src/engine/powers-of-tau/range-file.js";
import { systemClock } from "../../../src/platform/clock.js";
import type { ProcessTaskFailure } from "../../../src/platform/pool/process-task.js";
import { PowersRecords } from "../../../src/prover/reference-strings/powers-records.js";
import { readClaim } from "../../../src/prover/reference-strings/powers-folder.js";
import type { ToldFile } from "../../../src/prover/reference-strings/node-folders.js";
import {
  PublishedStrings,
  type PublishedStringsDependencies,
} from "../../../src/prover/reference-strings/published-strings.js";
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
/** How the process of a check ends, and for which files. */
let failure: { readonly code: ProcessTaskFailure["code"]; readonly of?: string } | undefined;
let duringCheck: (() => Promise<void>) | undefined;
/** What other nodes have told of their folders. */
let others: ToldFile[];
const folders: string[] = [];

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
  folder = anotherFolder();
  [checks, used, failure, others] = [[], new Set(), undefined, []];
  const records = new PowersRecords({ store: test.store });
  for (const { file } of records.all()) await test.store.commit({ deletes: [["powers_of_tau", file]] });
  strings = stringsOn(folder);
});
afterAll(() => removeFolder(folder));

function anotherFolder(): string {
  const made = newFolder("ptau");
  folders.push(made);
  return made;
}

/** The strings of a node with this folder. */
function stringsOn(path: string): PublishedStrings {
  return new PublishedStrings({ folder: path }, partsOf());
}

function partsOf(): PublishedStringsDependencies {
  return {
    store: test.store,
    records: new PowersRecords({ store: test.store }),
    artifacts: test.artifacts,
    check: async (file) => {
      checks.push(file);
      await duringCheck?.();
      if (failure !== undefined && (failure.of === undefined || file.endsWith(failure.of)))
        return { ok: false, code: failure.code, message: "the task ended without an answer" };
      const opened = openRangeFile(file);
      try {
        return { ok: true, value: await checkPowersOfTau(opened, loadKernelPairing()) };
      } finally {
        opened.close();
      }
    },
    keep: ({ sha256 }) => ({ puts: [{ key: ["kept", sha256], value: true }] }),
    isUsed: (sha256) => used.has(sha256),
    forget: () => ({}),
    uploads: { found: () => [], waiting: () => [], remove: async () => undefined },
    folders: { others: () => others, hasElsewhere: () => false, isFor: () => true, tell: async () => undefined },
    clock: systemClock,
    log: recordedLog(),
  };
}

describe("files of other nodes' folders", () => {
  it("are listed and may be asked to be checked, and are not taken here", async () => {
    const claim = { curve: "BN254", power: 2, prepared: true } as const;
    others = [{ file: "far.ptau", bytes: 9, identity: "far", claim }];
    put("near.ptau", small);
    const without = new PublishedStrings({ folder: undefined }, partsOf());
    expect([without.hasFiles, await statesOf()]).toEqual([
      true,
      [
        ["far.ptau", "found"],
        ["near.ptau", "found"],
      ],
    ]);
    expect(await strings.requireFile("far.ptau")).toMatchObject({ file: "far.ptau", bytes: 9, state: "found" });
    expect((await failureOf(() => strings.requireNoFile("far.ptau"))).code).toBe("conflict");
    expect([await without.take("BN254", 2), checks]).toEqual([undefined, []]);
  });

  it("are listed once where this folder has one of the name, or a string of the name was checked", async () => {
    put("same.ptau", small);
    others = [{ file: "same.ptau", bytes: 9, identity: "far", claim: null }];
    expect(await statesOf()).toEqual([["same.ptau", "found"]]);
    await strings.check("same.ptau");
    rmSync(join(folder, "same.ptau"));
    expect(await statesOf()).toEqual([["same.ptau", "checked"]]);
  });
});

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
    expect(await failureOf(() => strings.get(hashOf(plain)))).toMatchObject({ code: "not_found" });
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

  it("that several nodes have in folders of their own are checked once, and stay so on each", async () => {
    const others = [anotherFolder(), anotherFolder()];
    put("one.ptau", small);
    for (const [at, other] of others.entries()) {
      writeFileSync(join(other, "one.ptau"), small);
      utimesSync(join(other, "one.ptau"), 1, 100 + at);
    }
    const nodes = [strings, ...others.map(stringsOn)];
    for (const round of [1, 2])
      for (const [at, node] of nodes.entries()) {
        expect(await node.check("one.ptau"), `node ${String(at)}, round ${String(round)}`).toMatchObject({
          state: "checked",
          string: { sha256: hashOf(small) },
        });
      }
    for (const node of [...nodes, ...others.map(stringsOn)])
      expect(await node.list()).toMatchObject([{ file: "one.ptau", state: "checked", sha256: hashOf(small) }]);
    expect(checks).toHaveLength(1);
    expect(test.artifacts.has(hashOf(small))).toBe(true);
    expect(nodes.map((node) => [node.hasFile("one.ptau"), node.hasFile("two.ptau")])).toEqual(
      nodes.map(() => [true, false]),
    );
  });

  it("that several nodes have and that are refused are refused once for what they are, and once on each for its limits", async () => {
    const wrong = small.slice();
    wrong.set([(wrong[200] ?? 0) ^ 1], 200);
    const other = anotherFolder();
    put("wrong.ptau", wrong);
    writeFileSync(join(other, "wrong.ptau"), wrong);
    put("slow.ptau", large);
    writeFileSync(join(other, "slow.ptau"), large);
    failure = { code: "deadline", of: hashOf(large) };
    const nodes = [strings, stringsOn(other), strings, stringsOn(other)];
    for (const node of nodes) expect(await node.take("BN254", 2)).toBeUndefined();
    expect(checks.filter((path) => path.endsWith(hashOf(wrong)))).toHaveLength(1);
    expect(checks.filter((path) => path.endsWith(hashOf(large)))).toHaveLength(2);
    expect([test.artifacts.has(hashOf(wrong)), test.artifacts.has(hashOf(large))]).toEqual([false, false]);
    // Put there again, a file is checked again: the limit may be another one.
    failure = undefined;
    utimesSync(join(other, "slow.ptau"), 1, 7);
    expect(await stringsOn(other).take("BN254", 2)).toMatchObject({ sha256: hashOf(large) });
    expect(await strings.list()).toMatchObject([{ state: "checked" }, { state: "refused" }]);
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

  it("without Lagrange points are taken where there is no prepared one, of any size", async () => {
    put("plain.ptau", plain);
    expect(await strings.take("BN254", 2)).toMatchObject({ sha256: hashOf(plain), prepared: false });
    expect(test.artifacts.has(hashOf(plain))).toBe(true);
    put("large.ptau", large);
    expect(await strings.take("BN254", 2)).toMatchObject({ sha256: hashOf(large), prepared: true });
    expect(await strings.take("BN254", 4)).toMatchObject({ sha256: hashOf(plain) });
  });

  it("leave nothing behind when the check is lost, and are checked again", async () => {
    await test.artifacts.remove(hashOf(plain));
    put("one.ptau", plain);
    failure = { code: "crashed" };
    expect(await failureOf(() => strings.check("one.ptau"))).toMatchObject({ code: "internal_error" });
    expect(await statesOf()).toEqual([["one.ptau", "found"]]);
    expect(test.artifacts.has(hashOf(plain))).toBe(false);
    failure = undefined;
    expect(await strings.check("one.ptau")).toMatchObject({ state: "checked" });
  });

  it("are refused when their check meets a limit, and not checked again", async () => {
    put("one.ptau", small);
    for (const [code, fault] of [
      ["deadline", "check_too_long"],
      ["memory", "check_too_large"],
      ["output", "check_too_large"],
    ] as const) {
      utimesSync(join(folder, "one.ptau"), 1, checks.length + 1);
      failure = { code };
      expect(await strings.take("BN254", 2)).toBeUndefined();
      expect(await strings.list()).toMatchObject([{ state: "refused", error: { code: fault } }]);
      const before = checks.length;
      expect(await strings.take("BN254", 2)).toBeUndefined();
      expect(checks).toHaveLength(before);
    }
    expect(test.artifacts.has(hashOf(small))).toBe(false);
  });

  it("are passed over when their check is lost or they cannot be read, as long as another one will do", async () => {
    put("lost.ptau", small);
    put("sound.ptau", large);
    failure = { code: "crashed", of: hashOf(small) };
    expect(await strings.take("BN254", 2)).toMatchObject({ sha256: hashOf(large) });
    expect(await statesOf()).toContainEqual(["lost.ptau", "found"]);
    // Without another one the caller tries again instead of doing without.
    rmSync(join(folder, "sound.ptau"));
    await test.store.commit({ deletes: [["powers_of_tau", "sound.ptau"]] });
    expect(await failureOf(() => strings.take("BN254", 2))).toMatchObject({ code: "internal_error" });
    expect(readClaim(join(folder, "gone.ptau"))).toBeUndefined();
    expect(readClaim(folder)).toBeUndefined();
  });

  it("are not waited for by a caller who has gone", async () => {
    put("one.ptau", small);
    let finish: (() => void) | undefined;
    const begun = new Promise<void>((resolve) => {
      duringCheck = async () => {
        resolve();
        await new Promise<void>((end) => {
          finish = end;
        });
      };
    });
    const first = strings.check("one.ptau");
    await begun;
    const gone = new AbortController();
    const second = strings.take("BN254", 2, { signal: gone.signal });
    gone.abort(new Error("the prover was deleted"));
    await expect(second).rejects.toThrow("the prover was deleted");
    finish?.();
    duringCheck = undefined;
    expect(await first).toMatchObject({ state: "checked" });
    expect(checks).toHaveLength(1);
  });

  it("are refused by name when no file has it, whatever the name says", async () => {
    copyFileSync("/dev/null", join(folder, "empty.ptau"));
    for (const name of ["none.ptau", "../one.ptau", "/etc/passwd", ""])
      expect(await failureOf(() => strings.requireFile(name))).toMatchObject({ code: "invalid_request" });
    expect(await strings.check("empty.ptau")).toMatchObject({ state: "refused", fault: "truncated" });
  });
});
