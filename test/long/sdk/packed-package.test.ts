/** The packed package: what is in it, an app in Node on it, its server, its declarations, and what a bundler leaves out. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { build, transform } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { packedPackage, type PackedPackage } from "../../support/packed-package.js";
import { startServer, type TestServer } from "../../support/server.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { typeFaults } from "../../support/type-faults.js";

const run = promisify(execFile);
let packed: PackedPackage;
let server: TestServer;

beforeAll(async () => {
  packed = await packedPackage();
  // The server of the tarball, started as `npx proofwright server` would start it.
  server = await startServer({ program: join(packed.app, "node_modules/.bin/proofwright") });
});
afterAll(async () => {
  await server.dispose();
  removeFolder(packed.app);
});

/** Faults that TypeScript finds in files of the app, in its strictest form and with every declaration checked. */
function faultsOf(...files: string[]): string[] {
  const lib = ["es2023", "dom", "dom.asynciterable", "dom.iterable"];
  const faults = typeFaults(packed.app, files, { noEmit: true, skipLibCheck: false, lib, types: [] });
  return faults.filter((line) => !line.includes("/typebox/"));
}

/** The program that the README shows. */
function readmeBlock(): string {
  const [, block = ""] = /```ts\n([^]*?)```/.exec(readFileSync(join(PACKAGE_ROOT, "README.md"), "utf8")) ?? [];
  return block;
}

describe("the packed package", () => {
  it("holds what runs, and neither tests nor sources of the server", () => {
    expect(packed.files).toEqual(
      expect.arrayContaining([
        "dist/sdk/sdk/index.js",
        "dist/sdk/sdk/index.d.ts",
        "dist/src/cli.js",
        "README.md",
        "LICENSE",
      ]),
    );
    const others = packed.files.filter((path) => !/^(dist|circuits)\/|^[A-Z]+(\.md)?$|^package\.json$/.test(path));
    expect(others).toEqual(["src/prover/on-chain/verifier-registry.sol"]);
    expect(packed.files.filter((path) => /\.map$|^dist\/(bench|test)/.test(path))).toEqual([]);
    const manifest = readFileSync(join(packed.app, "node_modules/proofwright/package.json"), "utf8");
    expect(JSON.parse(manifest)).not.toHaveProperty("private");
  });

  it("runs an app in Node against the server that it holds", async () => {
    await build({
      ...{ absWorkingDir: packed.app, entryPoints: ["main.ts", "app.ts"], outdir: ".", format: "esm" },
      outExtension: { ".js": ".js" },
    });
    writeFileSync(join(packed.app, "package.json"), JSON.stringify({ type: "module" }));
    const { stdout } = await run(process.execPath, ["main.js", server.url], { cwd: packed.app });
    const found = JSON.parse(stdout) as Record<string, unknown>;
    expect(found).toMatchObject({
      provenAsJobs: ["7", "15", "constraints_unsatisfied"],
      ...{ status: "provisioned", verified: true, verifiedOffline: true, otherStatementOffline: false },
      ...{ receiptAction: "prove", storeProofHolds: true, names: ["my cubic"], refusal: "not_found" },
    });
    expect(found.steps).not.toEqual([]);
    expect(found.signature).toMatch(/^[0-9a-f]{130}$/);
    expect(found.eventSubject).not.toBe("");
  }, 120_000);

  it("does what the README says", async () => {
    const block = readmeBlock();
    expect(block).toContain('from "proofwright"');
    const { code } = await transform(block.replace("http://127.0.0.1:8080", server.url), { loader: "ts" });
    writeFileSync(join(packed.app, "readme.mjs"), code);
    const { stdout } = await run(process.execPath, ["readme.mjs"], { cwd: packed.app });
    expect(stdout).toContain("{ result: true, offline: true }\n");
    expect(stdout).toContain("100 % ");
    expect(stdout).toMatch(/provisioned\n404 not_found\n$/);
  }, 120_000);

  it("has declarations that hold, with the types of a browser alone too", () => {
    writeFileSync(join(packed.app, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(packed.app, "readme.ts"), readmeBlock());
    writeFileSync(
      join(packed.app, "wrong.ts"),
      'import { Proofwright } from "proofwright";\nexport const made = new Proofwright(7);\n',
    );
    // In one program: most of the time goes into the declarations of the package.
    expect(faultsOf("app.ts", "readme.ts", "wrong.ts")).toEqual([
      expect.stringMatching(/^wrong\.ts\(2,\d+\): error TS2345:/),
    ]);
  });

  it("costs an app only what it uses", async () => {
    const bytesOf = async (code: string): Promise<number> => {
      const { outputFiles } = await build({
        stdin: { contents: code, resolveDir: packed.app },
        ...{ bundle: true, minify: true, format: "esm", platform: "browser", write: false },
      });
      return outputFiles[0]!.contents.length;
    };
    const whole = await bytesOf(`export * from "proofwright";`);
    const client = await bytesOf(`import { Proofwright } from "proofwright"; console.log(Proofwright);`);
    const errors = await bytesOf(`import { ApiError } from "proofwright"; console.log(ApiError);`);
    expect(client).toBeLessThan(40_000);
    expect(errors).toBeLessThan(40_000);
    expect(whole).toBeGreaterThan(4 * client);
  });
});
