/** The files that the server answers unchanged, as the build has made them: each has its forms, which hold the same. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ROUTE_LIST } from "../../src/api.js";
import { consoleHandlers } from "../../src/console/console-handlers.js";
import { docsHandlers } from "../../src/docs/docs-handlers.js";
import type { StaticBytes } from "../../src/platform/contract/static-bytes.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { readStaticFile } from "../../src/platform/files/static-file.js";

type Handlers = Record<string, (request: { params: Record<string, string> }) => { fixed: StaticBytes }>;
const handlers = { ...docsHandlers(), ...consoleHandlers() } as unknown as Handlers;
const namesIn = (folder: string, pattern: RegExp): string[] =>
  readdirSync(join(PACKAGE_ROOT, folder)).flatMap((name) => pattern.exec(name)?.[1] ?? []);

const hashes = {
  getConsoleScript: namesIn("dist/console", /^console-(\w+)\.js$/),
  getConsoleStyle: namesIn("dist/console", /^console-(\w+)\.css$/),
  getDocsScript: namesIn("dist/docs", /^\w+-(\w+)\.js$/),
  getDocsStyle: namesIn("dist/docs", /^\w+-(\w+)\.css$/),
};
const answered = Object.entries(hashes).flatMap(([id, all]) =>
  all.map((hash) => ({ name: `${id} ${hash}`, fixed: handlers[id]!({ params: { hash } }).fixed })),
);
const documents = namesIn("dist/openapi", /^(.*\.json)$/).map((name) => ({
  name: "the API's document",
  fixed: readStaticFile(join(PACKAGE_ROOT, "dist/openapi", name)),
}));

describe("files that are answered unchanged", () => {
  it.each([...answered, ...documents])("$name is the same in gzip and brotli, and shorter", async ({ fixed }) => {
    const zipped = await fixed.encoded("gzip");
    expect(gunzipSync(zipped).equals(fixed.bytes)).toBe(true);
    expect(await fixed.encoded("gzip")).toBe(zipped);
    // Too small to gain anything.
    if (fixed.bytes.length < 1024) return;
    expect(fixed.has("br")).toBe(true);
    const small = await fixed.encoded("br");
    expect(brotliDecompressSync(small).equals(fixed.bytes)).toBe(true);
    expect(small.length).toBeLessThan(zipped.length);
  });

  it("are all scripts, styles and pages of console and documentation", () => {
    expect(answered.length).toBeGreaterThan(5);
    const pages = ROUTE_LIST.filter(({ path }) => path === "/" || /^\/(docs|console)(\/|$)/.test(path));
    expect(pages.length).toBeGreaterThan(6);
    for (const { id, responses } of pages) expect(responses[200], id).toMatchObject({ fixed: true });
  });
});
