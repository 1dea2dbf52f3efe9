/** The app on the packed SDK in a real browser, on a page of another origin than the server's. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { packedPackage, type PackedPackage } from "../support/packed-package.js";
import { startServer, type TestServer } from "../support/server.js";
import { removeFolder } from "../support/temporary-folder.js";
import { Chromium } from "./chromium.js";

let packed: PackedPackage;
let server: TestServer;
let pages: Server;
let browser: Chromium;

beforeAll(async () => {
  packed = await packedPackage();
  const { outputFiles } = await build({
    stdin: { contents: `import { run } from "./app.js"; globalThis.run = run;`, resolveDir: packed.app },
    ...{ bundle: true, format: "esm", platform: "browser", write: false },
  });
  const script = outputFiles[0]!.text;
  pages = createServer((request, response) => {
    const isScript = request.url === "/app.js";
    response.setHeader("Content-Type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : `<!doctype html><title>app</title><script type="module" src="/app.js"></script>`);
  });
  await new Promise<void>((resolve) => {
    pages.listen(0, "127.0.0.1", resolve);
  });
  server = await startServer();
  browser = await Chromium.start();
});
afterAll(async () => {
  await browser.stop();
  await server.dispose();
  pages.close();
  removeFolder(packed.app);
});

it("proves and verifies from a page, on the server and offline", async () => {
  await browser.open(`http://127.0.0.1:${String((pages.address() as AddressInfo).port)}/`);
  await expect.poll(async () => await browser.run("typeof globalThis.run")).toBe("function");
  const found = await browser.run(`globalThis.run(${JSON.stringify(server.url)})`);
  expect(found).toMatchObject({
    provenAsJobs: ["7", "15", "constraints_unsatisfied"],
    ...{ status: "provisioned", verified: true, verifiedOffline: true, otherStatementOffline: false },
    ...{ receiptAction: "prove", storeProofHolds: true, names: ["my cubic"], refusal: "not_found" },
  });
  // The browser tells the console of the answer 404.
  expect(browser.complaints.filter((text) => !/favicon|404/.test(text))).toEqual([]);
});
