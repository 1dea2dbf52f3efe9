/** The documentation as the build makes it and the handlers serve it: policies, links, names of files, samples. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { apiRoutes, ROUTE_LIST } from "../../src/api.js";
import { API } from "../../src/console/browser/parts/api-calls.js";
import { typeScriptSample, type Operation } from "../../src/docs/browser/code-samples.js";
import { docsHandlers } from "../../src/docs/docs-handlers.js";
import type { Method } from "../../src/console/browser/parts/calls.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { Proofwright } from "../../src/sdk/proofwright.js";

type Handlers = Record<string, (request: { params: Record<string, string> }) => Answer>;
interface Answer {
  readonly status: number;
  readonly fixed: { readonly bytes: Uint8Array };
  readonly headers: Readonly<Record<string, string>>;
}

const ORIGIN = "http://host.example";
const handlers = docsHandlers() as unknown as Handlers;
const textOf = ({ fixed }: Answer): string => Buffer.from(fixed.bytes).toString("utf8");
const groups = JSON.parse(readFileSync(join(PACKAGE_ROOT, "src/docs/guides/pages.json"), "utf8")) as {
  readonly pages: Readonly<Record<string, string>>;
}[];
const guides = groups.flatMap(({ pages }) => Object.keys(pages));

/** What a browser would ask for: an answer of the handlers; undefined where no route is. */
function open(path: string): Answer | undefined {
  const found = Object.values(apiRoutes).flatMap((route) => {
    const pattern = new RegExp(`^${route.path.replaceAll(/:[a-z_]+/g, "([^/]+)")}$`);
    const value = route.path.startsWith("/docs") ? pattern.exec(path)?.[1] : undefined;
    return pattern.test(path) && route.path.startsWith("/docs") ? [{ id: route.id, value: value ?? "" }] : [];
  })[0];
  return found && handlers[found.id]?.({ params: { hash: found.value, guide: found.value } });
}

function linksOf(page: string, at: string): URL[] {
  return [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link = ""]) => new URL(link, ORIGIN + at));
}

describe("pages of the documentation", () => {
  const pages = ["/docs", "/docs/guides", ...guides.map((name) => `/docs/guides/${name}`)];

  it.each(pages)("%s has nothing inline, and links only to what is served", (path) => {
    const answer = open(path)!;
    const page = textOf(answer);
    expect(page).not.toMatch(/<script(?![^>]*src=)|<style|\son[a-z]+=|javascript:/i);
    for (const link of linksOf(page, path)) {
      if (link.origin !== ORIGIN || ["/", "/openapi.json"].includes(link.pathname)) continue;
      const target = open(link.pathname);
      expect(target?.status, link.href).toBe(200);
      if (link.hash !== "") expect(textOf(target!), link.href).toContain(`id="${link.hash.slice(1)}"`);
    }
    expect(page).not.toMatch(/(src|stylesheet)[^>]*="https?:/);
  });

  it.each(pages)("%s allows no script but the server's own, and no other host", (path) => {
    const policy = open(path)!.headers["Content-Security-Policy"]!;
    const rules: Record<string, string[]> = Object.fromEntries(
      policy.split("; ").map((rule) => [rule.split(" ")[0]!, rule.split(" ").slice(1)] as const),
    );
    expect(rules["default-src"]).toEqual(["'none'"]);
    expect(rules["script-src"] ?? ["'self'"]).toEqual(["'self'"]);
    for (const rule of ["base-uri", "form-action", "frame-ancestors"]) expect(rules[rule]).toEqual(["'none'"]);
    expect(policy).not.toMatch(/https?:|\*|eval/);
  });

  it("show the text of a guide as text, whatever it holds", () => {
    expect(textOf(open("/docs/guides/settings")!)).not.toMatch(/<(FILE|HOST|path|id)>/);
  });

  it("refuse hashes and guides that are not there, also names that every object has", () => {
    for (const path of [
      "/docs/script/0000",
      "/docs/style/constructor",
      "/docs/guides/constructor",
      "/docs/guides/none",
    ])
      expect(() => open(path), path).toThrow(expect.objectContaining({ code: "not_found" }) as Error);
  });

  it("say what to do when the documentation was not built", () => {
    const missing = docsHandlers(join(PACKAGE_ROOT, "dist", "none")) as unknown as Handlers;
    expect(() => missing.getDocs!({ params: {} })).toThrow(/npm run build/);
  });
});

describe("scripts and styles", () => {
  it("may be kept for ever, as their names change with their content", () => {
    const links = linksOf(textOf(open("/docs")!), "/docs").filter(({ pathname }) => pathname.startsWith("/docs/s"));
    expect(links).toHaveLength(3);
    for (const { pathname } of links) expect(open(pathname)!.headers["Cache-Control"]).toContain("immutable");
  });

  it("make no code of texts, which the policy would refuse", () => {
    const script = linksOf(textOf(open("/docs")!), "/docs").find(({ pathname }) => pathname.includes("/script/"))!;
    expect(textOf(open(script.pathname)!)).not.toMatch(/\bnew Function\b|\beval\(/);
  });
});

describe("samples in TypeScript", () => {
  const document = JSON.parse(readFileSync(join(PACKAGE_ROOT, "src/openapi.json"), "utf8")) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const samples = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([name, operation]) => {
      const method = name.toUpperCase() as Method;
      return { name: `${method} ${path}`, text: typeScriptSample(method, path, operation, ORIGIN) };
    }),
  );

  it("name methods that the SDK has, and routes that the API has", () => {
    const sdk = new Proofwright({ baseUrl: ORIGIN }) as unknown as Record<string, unknown>;
    const routes = new Set(ROUTE_LIST.map(({ method, path }) => `${method} ${path}`));
    let called = 0;
    for (const { name, text } of samples) {
      const names = /\bpw\.([A-Za-z.]+)\(/.exec(text)?.[1]?.split(".") ?? [];
      const endpoint = /\bpw\.request\("([^"]+)"/.exec(text)?.[1];
      if (endpoint !== undefined) expect(routes, name).toContain(endpoint);
      else if (names.length > 0) {
        const found = names.reduce<unknown>((at, member) => (at as Record<string, unknown>)[member], sdk);
        expect(typeof found, name).toBe("function");
        called += 1;
      } else expect(text, name).toContain("await fetch(");
    }
    expect(called).toBeGreaterThan(Object.keys(API).length / 2);
  });

  it("carry the example of the body", () => {
    expect(samples.find(({ name }) => name === "POST /api/v1/provers")?.text).toMatch(/provers\.create\(\{\n/);
  });
});
