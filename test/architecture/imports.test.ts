/** The direction of imports (src/ARCHITECTURE.md), kept by reading every import of every file. */
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FEATURES = ["prover", "vault", "chain", "identity"];

interface Import {
  readonly from: string;
  /** Repository path for our own files, package name for others. */
  readonly to: string;
  readonly typeOnly: boolean;
}

function sourceFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".d.ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const found: Import[] = [];
  for (const match of text.matchAll(
    /^\s*(?:import|export)\s+(type\s+)?[^;"']*?\bfrom\s+["']([^"']+)["']|^\s*import\s+["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/gm,
  )) {
    const specifier = match[2] ?? match[3] ?? match[4];
    if (specifier === undefined) continue;
    const to = specifier.startsWith(".")
      ? relative(ROOT, resolve(ROOT, dirname(file), specifier)).replace(/\.js$/, ".ts")
      : specifier;
    found.push({ from: file, to, typeOnly: match[1] !== undefined });
  }
  return found;
}

const files = [...sourceFiles("src"), ...sourceFiles("workers")];
const imports = files.flatMap(importsOf);

function offenders(rule: (edge: Import) => boolean): string[] {
  return imports.filter(rule).map(({ from, to }) => `${from} -> ${to}`);
}

function featureOf(path: string): string | undefined {
  return FEATURES.find((feature) => path.startsWith(`src/${feature}/`));
}

describe("direction of imports", () => {
  it("reads the tree", () => {
    expect(files.length).toBeGreaterThan(50);
    expect(imports.length).toBeGreaterThan(200);
  });

  it.each([
    ["solc", /^src\/engine\/solidity\/compile\.ts$/, /^solc$/],
    ["uWebSockets.js", /^src\/platform\/http\/uws\.ts$/, /^uWebSockets\.js$/],
    ["piscina", /^src\/platform\/pool\/thread-pool\.ts$/, /^piscina$/],
    ["lmdb", /^src\/platform\/store\/lmdb\/lmdb-environment\.ts$/, /^lmdb$/],
    ["snarkjs and ffjavascript", /^src\/engine\/backends\/snarkjs\.ts$/, /^(snarkjs|ffjavascript)$/],
    ["circom2", /^src\/engine\/circuit\/[a-z-]+\.ts$/, /^circom2$/],
  ])("imports %s in one place", (_name, place, specifier) => {
    expect(offenders(({ from, to }) => specifier.test(to) && !place.test(from))).toEqual([]);
  });

  it("keeps engine and crypto free of the platform and of features", () => {
    expect(
      offenders(({ from, to }) => /^src\/(engine|crypto)\//.test(from) && /^src\/(?!engine\/|crypto\/)/.test(to)),
    ).toEqual([]);
    expect(offenders(({ from, to }) => from.startsWith("src/crypto/") && to.startsWith("src/engine/"))).toEqual([]);
  });

  it("lets crypto import only node, noble, scure, the password hash and a cache", () => {
    const allowed = /^(node:|@noble\/|@scure\/|@node-rs\/argon2$|lru-cache$|src\/crypto\/)/;
    expect(offenders(({ from, to }) => from.startsWith("src/crypto/") && !allowed.test(to))).toEqual([]);
  });

  it("keeps features apart, but for the types of a service", () => {
    expect(
      offenders(({ from, to, typeOnly }) => {
        const [a, b] = [featureOf(from), featureOf(to)];
        return a !== undefined && b !== undefined && a !== b && !typeOnly;
      }),
    ).toEqual([]);
  });

  it("keeps the platform free of features", () => {
    expect(offenders(({ from, to }) => from.startsWith("src/platform/") && featureOf(to) !== undefined)).toEqual([]);
  });

  it("lets only the composition root import the HTTP front", () => {
    expect(
      offenders(
        ({ from, to, typeOnly }) =>
          to.startsWith("src/platform/http/") &&
          !from.startsWith("src/platform/http/") &&
          from !== "src/app.ts" &&
          !typeOnly,
      ),
    ).toEqual([]);
  });

  it("keeps route definitions free of server code", () => {
    const allowed =
      /^(typebox$|src\/platform\/(contract\/(route|schemas)|auth\/permissions|errors)\.ts$|src\/[a-z]+\/([a-z-]+\/){0,2}[a-z-]+\.ts$|src\/platform\/service\/[a-z-]+\.ts$)/;
    const server = /(service|repository|handlers|store|worker)\.ts$/;
    expect(
      offenders(
        ({ from, to, typeOnly }) =>
          /\/(routes|schemas)\.ts$/.test(from) && !typeOnly && (!allowed.test(to) || server.test(to)),
      ),
    ).toEqual([]);
  });

  it("keeps the typed client free of server code", () => {
    expect(
      offenders(
        ({ from, to, typeOnly }) => from === "src/client.ts" && !typeOnly && !to.startsWith("src/platform/contract/"),
      ),
    ).toEqual([]);
  });

  it("has no cycle", () => {
    const edges = new Map<string, string[]>();
    for (const { from, to, typeOnly } of imports) {
      if (!typeOnly && to.startsWith("src/")) edges.set(from, [...(edges.get(from) ?? []), to]);
    }
    const done = new Set<string>();
    const walk = (file: string, path: readonly string[]): void => {
      const start = path.indexOf(file);
      expect(start, `cycle: ${[...path.slice(start), file].join(" -> ")}`).toBe(-1);
      if (done.has(file)) return;
      for (const next of edges.get(file) ?? []) walk(next, [...path, file]);
      done.add(file);
    };
    for (const file of edges.keys()) walk(file, []);
  });
});

describe("house rules", () => {
  it("keeps files under 600 lines", () => {
    const long = files.filter((file) => readFileSync(join(ROOT, file), "utf8").split("\n").length > 600);
    expect(long).toEqual([]);
  });

  it("starts every source file with a comment that says what it is for", () => {
    expect(files.filter((file) => !/^(#!.*\n)?\/[*/]/.test(readFileSync(join(ROOT, file), "utf8")))).toEqual([]);
  });
});
