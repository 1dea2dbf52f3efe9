/** The README tells the truth: its settings are the settings, and its commands do what they say when pasted. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { SETTINGS } from "../../src/platform/settings.js";
import { startAnvil } from "../support/anvil.js";
import { startServer } from "../support/server.js";

const README = readFileSync(join(PACKAGE_ROOT, "README.md"), "utf8");
const run = promisify(execFile);

/** Shell blocks that belong to the walk-through: those that call the API. */
const WALK_THROUGH = [...README.matchAll(/```sh\n([^]*?)```/g)]
  .map((match) => match[1] ?? "")
  .filter((block) => block.includes("curl"));

/** What its answers say, among other things. */
const EXPECTED = [
  '{"result":true}',
  '{"result":false}',
  '"status":"provisioned"',
  '"protocol":"groth16"',
  '{"data":"attack at dawn"}',
  '"response":"12"',
  '"count":"12"',
  '"access_token":"ppt_',
];

describe("README", () => {
  it("lists every setting with its flag, default and purpose", () => {
    // The formatter pads the cells of tables.
    const text = README.replaceAll(/ +\|/g, " |");
    for (const { env, flag, description, ...setting } of Object.values(SETTINGS)) {
      const fallback = setting.default === undefined || setting.default === "" ? "" : `\`${String(setting.default)}\``;
      expect(text).toContain(
        `| \`${env}\` | \`--${flag}\` |${fallback === "" ? "" : ` ${fallback}`} | ${description} |`,
      );
    }
  });

  it("names only npm scripts that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    for (const [, name] of README.matchAll(/npm run ([a-z:]+)/g)) expect(Object.keys(scripts)).toContain(name);
  });

  it("holds a walk-through that runs as pasted", async () => {
    const started = await Promise.allSettled([startServer(), startAnvil()]);
    const [server, node] = started;
    try {
      if (server.status === "rejected" || node.status === "rejected")
        throw new Error("a server did not start", { cause: started });
      const script = WALK_THROUGH.join("\n")
        .replaceAll("http://127.0.0.1:8080", server.value.url)
        .replaceAll("http://127.0.0.1:8545", node.value.url)
        .replace("-o product.zkey", "-o /dev/null");
      const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], {
        env: { PATH: process.env.PATH },
        timeout: 110_000,
      });
      for (const text of EXPECTED) expect(stdout).toContain(text);
      expect(stdout).toMatch(/"signature":"[0-9a-f]{130}"/);
    } finally {
      if (server.status === "fulfilled") await server.value.dispose();
      if (node.status === "fulfilled") await node.value.stop();
    }
  }, 120_000);
});
