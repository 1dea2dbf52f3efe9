import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { SETTING_GROUPS, settingsMarkdown } from "../../src/platform/settings-markdown.js";
import { SETTINGS } from "../../src/platform/settings.js";

describe("SETTINGS.md", () => {
  it("is what the table of settings gives (otherwise run `npm run docs:settings`)", () => {
    expect(readFileSync(join(PACKAGE_ROOT, "src", "SETTINGS.md"), "utf8")).toBe(settingsMarkdown());
  });

  it("has every setting in one group", () => {
    const names = SETTING_GROUPS.flatMap((group) => group.names);
    expect([...names].sort()).toEqual(Object.keys(SETTINGS).sort());
  });

  it("shows environment variable, flag, member, default, unit and purpose, and no table cell that breaks", () => {
    expect(settingsMarkdown()).toContain(
      "| `PROOFWRIGHT_COMPILE_SECONDS` | `--compile-seconds` | `compile_seconds` | `120` | seconds | processor time that one compilation of a circuit may take; the clock allows five times as much |",
    );
    for (const { description } of Object.values(SETTINGS)) expect(description).not.toMatch(/[|\n]/);
  });
});
