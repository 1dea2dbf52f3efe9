/** The README tells the truth: its settings are the settings, and its commands do what they say when pasted. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../src/platform/package-root.js";
import { SETTINGS } from "../../src/platform/settings.js";
import { startAnvil, type Anvil } from "../support/anvil.js";
import { startServer, type TestServer } from "../support/server.js";

const README = readFileSync(join(PACKAGE_ROOT, "README.md"), "utf8");
const run = promisify(execFile);

/** Shell blocks that belong to the walk-through: those that call the API. */
const WALK_THROUGH = [...README.matchAll(/```sh\n([^]*?)```/g)].map((match) => match[1] ?? "").filter((block) => block.includes("curl"));

describe("README", () => {
  it("lists every setting with its flag, default and purpose", () => {
    for (const { env, flag, description, ...setting } of Object.values(SETTINGS)) {
      const fallback = setting.default === undefined || setting.default === "" ? "" : `\`${String(setting.default)}\``;
      expect(README).toContain(`| \`${env}\` | \`--${flag}\` | ${fallback} | ${description} |`);
    }
  });

  it("names only npm scripts that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };
    for (const [, name] of README.matchAll(/npm run ([a-z:]+)/g)) expect(Object.keys(scripts)).toContain(name);
  });

  describe("walk-through", () => {
    let server: TestServer;
    let node: Anvil;
    beforeAll(async () => { [server, node] = await Promise.all([startServer(), startAnvil()]); });
    afterAll(async () => { await Promise.all([server.dispose(), node.stop()]); });

    it("runs as pasted", async () => {
      const script = WALK_THROUGH.join("\n").replaceAll("http://127.0.0.1:8080", server.url).replaceAll("http://127.0.0.1:8545", node.url).replace("-o product.zkey", "-o /dev/null");
      const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], { env: { PATH: process.env.PATH }, timeout: 110_000 });
      expect(stdout).toContain('{"result":true}');
      expect(stdout).toContain('{"result":false}');
      expect(stdout).toContain('"status":"provisioned"');
      expect(stdout).toContain('"protocol":"groth16"');
      expect(stdout).toContain('{"data":"attack at dawn"}');
      expect(stdout).toContain('"response":"12"');
      expect(stdout).toContain('"count":"12"');
      expect(stdout).toContain('"access_token":"ppt_');
      expect(stdout).toMatch(/"signature":"[0-9a-f]{130}"/);
    }, 120_000);
  });
});
