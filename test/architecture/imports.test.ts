/** The direction of imports (src/ARCHITECTURE.md), checked by reading every import of every file. */
import { describe, expect, it } from "vitest";
import { circles, importsOf, reachable, readImports, sourceFiles, textOf, type Import } from "./source-tree.js";

const FEATURES = ["prover", "vault", "chain", "identity"];
/** Files that define routes and schemas, wherever they are. */
const DEFINITIONS = /(^|[/-])(routes|schemas)\.ts$/;
/** Named like one, but wraps the handlers of routes at start. */
const NO_DEFINITIONS = ["src/platform/audit/audited-routes.ts"];
/** What definitions may import besides each other: plain tables and patterns, each named. */
const DEFINITION_IMPORTS = [
  "typebox",
  "src/platform/contract/route.ts",
  "src/platform/events/subject-filter.ts",
  "src/engine/solidity/evm-versions.ts",
  "src/engine/analysis/analysis-report.ts",
  "src/engine/circuit/source-limits.ts",
  "src/chain/connectors/connector-lifecycle.ts",
  "src/prover/provisioning/lifecycle.ts",
  "src/vault/seal/seal-request.ts",
];
/** Packages with one importer: an exchange of the package, or of its version, touches one file. */
const ONE_IMPORTER: readonly (readonly [name: string, importerOrFolder: string])[] = [
  ["lmdb", "src/platform/store/lmdb/lmdb-environment.ts"],
  ["piscina", "src/platform/pool/thread-pool.ts"],
  ["snarkjs", "src/engine/backends/snarkjs.ts"],
  ["ffjavascript", "src/engine/backends/snarkjs.ts"],
  ["circom2", "src/engine/circuit/toolchain.ts"],
  ["solc", "src/engine/solidity/compile-solidity.ts"],
  ["@node-rs/argon2", "src/crypto/hashes/password.ts"],
  ["nodemailer", "src/platform/mail/smtp-mail.ts"],
  ["pino", "src/platform/log.ts"],
  ["prom-client", "src/platform/metrics.ts"],
];

const files = [...sourceFiles("src"), ...sourceFiles("workers")];
const imports = files.flatMap(importsOf);
const definitions = files.filter((file) => DEFINITIONS.test(file) && !NO_DEFINITIONS.includes(file));

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

  it.each(ONE_IMPORTER)("imports %s in %s and nowhere else", (name, importer) => {
    const importers = imports.filter(({ to }) => to === name || to.startsWith(`${name}/`)).map(({ from }) => from);
    expect([...new Set(importers)]).toEqual([importer.endsWith("/") ? expect.stringContaining(importer) : importer]);
  });

  it("imports pg in one driver of connectors and in one client of the cluster's database", () => {
    const importers = imports.filter(({ to, isTypeOnly }) => to === "pg" && !isTypeOnly).map(({ from }) => from);
    expect([...new Set(importers)].sort()).toEqual([
      "src/chain/connectors/drivers/postgres.ts",
      "src/platform/cluster/database-client.ts",
    ]);
  });

  it("imports ws in one client and in one server", () => {
    const importers = imports.filter(({ to }) => to === "ws").map(({ from }) => from);
    expect(importers.sort()).toEqual(["src/chain/rpc/web-socket.ts", "src/platform/http/drivers/node-sockets.ts"]);
  });

  it("has one importer for each package of which ARCHITECTURE.md says so", () => {
    const sentence = /([^.\n]*(?:\.js[^.\n]*)?)\seach have one importer/.exec(
      textOf("src/ARCHITECTURE.md").replaceAll(/\s+/g, " "),
    );
    const named = (sentence?.[1] ?? "").split(/,| and /).map((name) => name.trim());
    expect(named).toContain("lmdb");
    expect(named.filter((name) => !ONE_IMPORTER.some(([known]) => known === name))).toEqual([]);
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
      offenders(({ from, to, isTypeOnly }) => {
        const [a, b] = [featureOf(from), featureOf(to)];
        return a !== undefined && b !== undefined && a !== b && !isTypeOnly;
      }),
    ).toEqual([]);
  });

  it("keeps private keys away from the engine's arithmetic", () => {
    expect(offenders(({ from, to }) => /^src\/vault\//.test(from) && /^src\/engine\//.test(to))).toEqual([]);
  });

  it("keeps the platform free of features", () => {
    expect(offenders(({ from, to }) => from.startsWith("src/platform/") && featureOf(to) !== undefined)).toEqual([]);
  });

  it("lets only the composition root import the HTTP server", () => {
    expect(
      offenders(
        ({ from, to, isTypeOnly }) =>
          to.startsWith("src/platform/http/") &&
          !from.startsWith("src/platform/http/") &&
          !from.startsWith("src/app/") &&
          !isTypeOnly,
      ),
    ).toEqual([]);
  });

  it("finds every file of routes and schemas", () => {
    expect(definitions.length).toBeGreaterThan(30);
    const defining = files.filter((file) => /\bdefineRoute\(\{/.test(textOf(file)) && !file.includes("/contract/"));
    expect(defining.filter((file) => !definitions.includes(file))).toEqual([]);
  });

  it("keeps definitions of routes and schemas free of server code, also behind what they import", () => {
    expect(
      offenders(
        ({ from, to, isTypeOnly }) =>
          definitions.includes(from) && !isTypeOnly && !definitions.includes(to) && !DEFINITION_IMPORTS.includes(to),
      ),
    ).toEqual([]);
    const loaded = reachable(definitions, imports);
    const server = [...loaded].filter(([to]) => !to.startsWith("src/") && to !== "typebox");
    expect(server.map(([, way]) => way.join(" -> "))).toEqual([]);
  });

  it("keeps the SDK free of server code, but for types and checks offline", () => {
    const offline = [
      "src/verify-receipt.ts",
      "src/verify-store-proof.ts",
      "src/verify-tree-head.ts",
      "src/sdk/verify-proof.ts",
    ];
    expect(
      offenders(
        ({ from, to, isTypeOnly }) =>
          from.startsWith("src/sdk/") &&
          !offline.includes(from) &&
          !isTypeOnly &&
          !to.startsWith("src/sdk/") &&
          !offline.includes(to),
      ),
    ).toEqual([]);
    const loaded = [...reachable(["src/sdk/index.ts"], imports).keys()].filter((to) => !to.startsWith("src/"));
    // What the engine takes of Node has a stand-in in the SDK's build.
    const allowed = /^(@noble\/(hashes|curves)|jose$|typebox|node:(v8|fs|crypto)$)/;
    expect(loaded.filter((to) => !allowed.test(to))).toEqual([]);
    expect(
      offenders(
        ({ from, to }) =>
          to.startsWith("src/sdk/") && /^src\/(platform|prover|vault|chain|identity|engine|crypto|app)\//.test(from),
      ),
    ).toEqual([]);
  });

  it("keeps the offline check of receipts free of server code", () => {
    const loaded = [...reachable(["src/verify-receipt.ts", "src/verify-tree-head.ts"], imports).keys()].filter(
      (to) => !to.startsWith("src/"),
    );
    expect(loaded.filter((to) => !/^(@noble\/hashes|jose$|typebox)/.test(to))).toEqual([]);
  });

  it("has no circle, not even of types", () => {
    expect(circles(imports.filter(({ to }) => to.startsWith("src/")))).toEqual([]);
  });
});

describe("the reading of imports", () => {
  it.each([
    ['import { a } from "x";', "x", false],
    ['import type { a } from "x";', "x", true],
    ['import {\n  a,\n  b,\n} from "../../x.js";', "x.ts", false],
    ['export * from "../../x/y.js";', "x/y.ts", false],
    ['import "./x.js";', "src/y/x.ts", false],
    ['const x = await import("x");', "x", false],
    ['let x: typeof import("x");', "x", true],
    ['const { open } = createRequire(import.meta.url)("x") as X;', "x", false],
    ['const path = createRequire(import.meta.url).resolve("x/package.json");', "x/package.json", false],
    ['const x = require("x");', "x", false],
  ])("understands %s", (text, to, isTypeOnly) => {
    expect(readImports("src/y/file.ts", text)).toEqual([{ from: "src/y/file.ts", to, isTypeOnly }]);
  });
});

describe("the search for circles", () => {
  const edge = (from: string, to: string): Import => ({ from, to, isTypeOnly: false });

  it("finds each circle once, and none in a chain or a diamond", () => {
    expect(circles([edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d")])).toEqual([]);
    expect(
      circles([edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("c", "d"), edge("d", "e"), edge("e", "d")]),
    ).toEqual([
      ["d", "e"],
      ["a", "b", "c"],
    ]);
  });
});
