/** The templates of the trees fix all that they say: our own analysis, at small sizes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { analyzed } from "../../support/analyzed-circuits.js";

const read = (path: string): string => readFileSync(join(PACKAGE_ROOT, "circuits", path), "utf8");
const SHARED = Object.fromEntries(
  ["dense_tree.circom", "nullifier_tree.circom"].map((name) => [name, read(name)] as const),
);
const ofFile = (file: string, call: string): string =>
  `pragma circom 2.1.0;\ninclude "${file}";\ncomponent main = ${call};`;

describe("signals of the templates of trees", () => {
  it.each([
    ["NoteInclusion", ofFile("dense_tree.circom", "NoteInclusion(3)")],
    ["TreeConsistency", ofFile("dense_tree.circom", "TreeConsistency(3)")],
    ["NullifierMembership", ofFile("nullifier_tree.circom", "NullifierMembership(3)")],
    ["NullifierAbsence", ofFile("nullifier_tree.circom", "NullifierAbsence(3)")],
  ])("are all fixed by the inputs of %s", async (_name, main) => {
    const report = await analyzed({ files: { ...SHARED, "main.circom": main }, main: "main.circom" });
    expect(report.verdict).toBe("determined");
    expect(report.counts).toMatchObject({ conditional: 0, open: 0 });
  });
});
