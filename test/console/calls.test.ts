/** Actions as curl and as code of the SDK, against the routes of the API and a real shell. */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { ROUTE_LIST } from "../../src/api.js";
import { API } from "../../src/console/browser/parts/api-calls.js";
import { asCode, asCurl, queryText, route } from "../../src/console/browser/parts/calls.js";

const ORIGIN = "https://host.example";

describe("the calls of the console", () => {
  it("are routes of the API", () => {
    const known = new Set(ROUTE_LIST.map(({ method, path }) => `${method} ${path.replaceAll(/:[a-z_]+/g, ":")}`));
    const own = Object.values(API).map((maker) => maker());
    const unknown = own.filter(
      ({ method, template }) => !known.has(`${method} ${template.replaceAll(/:[a-z_]+/g, ":")}`),
    );
    expect(own.length).toBeGreaterThan(50);
    expect(unknown.map(({ template }) => template)).toEqual([]);
  });

  it("fill in ids, so that none leads to another route", () => {
    expect(API.artifact(["a/b", "../x y"]).path).toBe("/api/v1/provers/a%2Fb/artifacts/..%2Fx%20y");
  });

  it("leave out members of the query without a value, and repeat lists", () => {
    expect(queryText({ a: undefined, b: "", c: 0, d: false, e: ["x", "y&z"] })).toBe("?c=0&d=false&e=x&e=y%26z");
    expect(queryText({})).toBe("");
  });
});

describe("a call as curl", () => {
  it("reaches the program word by word, whatever stands in the body", () => {
    const body = { text: `it's "quoted" $HOME \`id\` \\ end`, list: [1, true, null] };
    const command = asCurl(API.createKey(["7"], body), ORIGIN).replace(/^curl/, "printf '%s\\n---\\n'");
    const words = execFileSync("sh", ["-c", command], { env: { TOKEN: "secret" }, encoding: "utf8" }).split("\n---\n");
    expect(words.slice(0, 6)).toEqual([
      "-X",
      "POST",
      `${ORIGIN}/api/v1/vaults/7/keys`,
      "-H",
      "Authorization: Bearer secret",
      "-H",
    ]);
    expect(JSON.parse(words[8] ?? "")).toEqual(body);
  });

  it("hides secrets, as the code does", () => {
    const call = API.unseal([], { key: "legal winner" });
    for (const text of [asCurl(call, ORIGIN), asCode(call, ORIGIN)]) {
      expect(text).not.toContain("legal");
      expect(text).toContain("…");
    }
    expect(call.body).toEqual({ key: "legal winner" });
  });
});

describe("a call as code", () => {
  const lastLine = (text: string): string => text.split("\n\n").at(-1) ?? "";

  it("gives ids first and then the body, without quotes about names", () => {
    const code = lastLine(asCode(API.sign(["v", "k"], { message: "00", options: { format: "raw" } }), ORIGIN));
    expect(code).toBe(
      'const answer = await pw.keys.sign("v", "k", {\n  message: "00",\n  options: {\n    format: "raw"\n  }\n});',
    );
  });

  it("pages through lists, with their filters apart", () => {
    const call = API.provers([], undefined, { status: "failed", page: 2, rpp: 50 });
    expect(lastLine(asCode(call, ORIGIN))).toBe(
      'const { items, total } = await pw.provers.list({\n  status: "failed"\n}).page({\n  page: 2,\n  rpp: 50\n});',
    );
  });

  it("uses the common request where a route has no method of its own", () => {
    const call = route("GET", "/api/v1/networks/:id/stats")(["n"], undefined, { page: 1 });
    expect(lastLine(asCode(call, ORIGIN))).toBe(
      'const { body } = await pw.request("GET /api/v1/networks/:id/stats", { params: {\n  id: "n"\n}, query: {\n  page: 1\n} });',
    );
  });

  it("is TypeScript for every route", async () => {
    const { transform } = await import("esbuild");
    for (const maker of Object.values(API)) {
      const call = maker(["one", "two"], { "odd name": 1, plain: ["a"] }, { page: 1 });
      await expect(transform(asCode(call, ORIGIN), { loader: "ts" })).resolves.toBeDefined();
    }
  });
});
