/** Rules of the house that no linter checks: rooms, names, headers, references. */
import { basename, dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { parseCLI } from "vitest/node";
import { filesIn, sourceFiles, textOf } from "./source-tree.js";

const LINES_MAX = 600;
const FILES_OF_A_FOLDER_MAX = 22;
/** Names that each room of the platform may have at its root; a feature has them once. */
const PART_NAMES = ["routes.ts", "handlers.ts", "schemas.ts", "service.ts", "repository.ts"];
/** A chapter of a document that the repository does not have. */
const FOREIGN_DOCUMENT = /\b(SPEC|interoperability|security(\.md)?)( section)? \d/;

const files = [...sourceFiles("src"), ...sourceFiles("workers")];

/** Feature or other top folder of src; undefined for files of src itself. */
function areaOf(file: string): string | undefined {
  return /^(src\/[^/]+)\//.exec(file)?.[1];
}

function isPartOfPlatformRoom(file: string): boolean {
  return /^src\/platform\/[^/]+\/[^/]+$/.test(file) && PART_NAMES.includes(basename(file));
}

function groupedBy(list: readonly string[], keyOf: (file: string) => string): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const file of list) groups.set(keyOf(file), [...(groups.get(keyOf(file)) ?? []), file]);
  return groups;
}

describe("house rules", () => {
  it(`keeps files under ${String(LINES_MAX)} lines`, () => {
    expect(files.filter((file) => textOf(file).split("\n").length > LINES_MAX)).toEqual([]);
  });

  it("starts every source file with a comment that says what it is for", () => {
    expect(files.filter((file) => !/^(#!.*\n)?\/[*/]/.test(textOf(file)))).toEqual([]);
  });

  it(`has no folder with more than ${String(FILES_OF_A_FOLDER_MAX)} files of its own`, () => {
    const full = [...groupedBy(filesIn("src", [""]), dirname)].filter(([, own]) => own.length > FILES_OF_A_FOLDER_MAX);
    expect(full.map(([folder, own]) => `${folder}: ${String(own.length)}`)).toEqual([]);
  });

  it("makes temporary folders of tests by the one helper that knows how they end", () => {
    const makers = sourceFiles("test").filter((file) => /\bmkdtemp/.test(textOf(file)));
    expect(makers).toEqual(["test/support/temporary-folder.ts"]);
  });

  it("runs with each npm script the folders of tests that it names, and no others", () => {
    const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };
    for (const script of Object.values(scripts).filter((command) => command.startsWith("vitest ")))
      expect(parseCLI(script).filter, script).toEqual(script.match(/\btest\/\S+/g) ?? []);
  });

  it("has no two files of the same name in one area", () => {
    const named = files.filter((file) => areaOf(file) !== undefined && !isPartOfPlatformRoom(file));
    const twice = [...groupedBy(named, (file) => `${areaOf(file) ?? ""} ${basename(file)}`).values()].filter(
      (same) => same.length > 1,
    );
    expect(twice).toEqual([]);
  });

  it("refers to no document that the repository does not have", () => {
    const texts = ["src", "test", "bench", "workers"].flatMap((folder) => filesIn(folder, [".ts", ".mjs", ".md"]));
    const found = texts.flatMap((file) =>
      textOf(file)
        .split("\n")
        .flatMap((line, index) => (FOREIGN_DOCUMENT.test(line) ? [`${file}:${String(index + 1)}`] : [])),
    );
    expect(found).toEqual([]);
  });
});
