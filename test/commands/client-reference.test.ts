/** The table of the client's commands, and what is made from it. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CLIENT_GROUPS } from "../../src/commands/client/client-groups.js";
import { wordsOf } from "../../src/commands/client/command-spec.js";
import { COMMAND_TABLE } from "../../src/commands/client/command-table.js";
import { SHELLS, completionScript, requireShell } from "../../src/commands/client/completion.js";
import { commandsMarkdown } from "../../src/commands/client/commands-markdown.js";
import { waysToName } from "../../src/commands/client/naming/reference-words.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";

describe("the table of commands", () => {
  it("is what COMMANDS.md says; `npm run docs:commands` writes it anew", () => {
    expect(readFileSync(join(PACKAGE_ROOT, "src/commands/client/COMMANDS.md"), "utf8")).toBe(commandsMarkdown());
  });

  it("has commands for every first word that the help lists, no other words, and none twice", () => {
    const words = COMMAND_TABLE.map((spec) => wordsOf(spec));
    expect([...new Set(words.map(([first]) => first))].sort()).toEqual(Object.keys(CLIENT_GROUPS).sort());
    expect(new Set(words.map((path) => path.join(" "))).size).toBe(words.length);
    expect(words.filter((path) => path.length > 2)).toEqual([]);
  });

  it("takes no secret as an argument or the value of an option", () => {
    const takers = COMMAND_TABLE.flatMap(({ usage, options = [] }) => [usage, ...options.map(({ flag }) => flag)]);
    const secret =
      /<(?:password|phrase|words|token|value|secret-value)>|--(?:password|token|phrase|words|value|secret)\b(?!-file)/;
    expect(takers.filter((text) => secret.test(text))).toEqual([]);
  });

  it("explains every command and option", () => {
    for (const { usage, summary, options = [] } of COMMAND_TABLE) {
      expect(summary, usage).toMatch(/^[a-z].*[^.]$/);
      for (const option of options) expect(option.summary, `${usage} ${option.flag}`).toMatch(/^\S.*[^.]$/);
    }
  });
});

describe("completion in bash", () => {
  /** What the shell itself offers for the last of the words. */
  function offered(...words: readonly string[]): string[] {
    const script = `${completionScript("bash", COMMAND_TABLE)}
COMP_WORDS=("$@"); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _proofwright; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", script, "bash", "proofwright", ...words], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    return stdout.split("\n").filter((line) => line !== "");
  }

  it("offers the words of every place, the options of a command, and their values", () => {
    expect(offered("")).toEqual(Object.keys(CLIENT_GROUPS));
    expect(offered("va")).toEqual(["vault"]);
    for (const group of ["vault", "contract", "tx"])
      expect(offered(group, "")).toEqual(
        COMMAND_TABLE.map((spec) => wordsOf(spec)).flatMap(([first, second]) =>
          first === group && second !== undefined ? [second] : [],
        ),
      );
    expect(offered("vault", "delete", "some-id", "--re")).toEqual(["--recovery-days"]);
    expect(offered("sign", "v", "k", "--digest", "")).toEqual(["none", "keccak256", "sha256"]);
    expect(offered("completion", "")).toEqual([...SHELLS]);
  });

  it("leaves arguments to the shell, which knows files", () => {
    expect(offered("circuit", "deploy", "")).toEqual([]);
    expect(offered("nonsense", "x", "--json")).toEqual([]);
  });
});

describe("completion in zsh and fish", () => {
  it("names every word and option of the table, quoted so that no summary ends its text", () => {
    for (const shell of ["zsh", "fish"] as const) {
      const script = completionScript(shell, COMMAND_TABLE);
      for (const spec of COMMAND_TABLE) expect(script, shell).toContain(wordsOf(spec).join(" "));
      expect(script).toContain("derivation path of BIP39 keys, such as m/44'\\''/60'\\''/0'\\''/0/0");
    }
    expect(() => requireShell("powershell")).toThrow("bash, zsh, fish");
  });
});

describe("a word that is no command", () => {
  it.each([
    ["vualt", 'proofwright: "vualt" is not a command. Did you mean vault? See `proofwright --help`.\n'],
    ["sever", 'proofwright: "sever" is not a command. Did you mean server? See `proofwright --help`.\n'],
    ["xyzzy", 'proofwright: "xyzzy" is not a command. See `proofwright --help`.\n'],
  ])("%s is refused with the one that was probably meant", (word, errors) => {
    const program = join(PACKAGE_ROOT, "dist/src/cli.js");
    const outcome = spawnSync(process.execPath, [program, word], { encoding: "utf8" });
    expect([outcome.status, outcome.stderr]).toEqual([2, errors]);
  });
});

describe("what a command takes", () => {
  it("says how each record may be named, of arguments and of options", () => {
    for (const spec of COMMAND_TABLE)
      for (const word of ["vault", "key", "network", "contract", "prover", "user"])
        if (spec.usage.includes(`<${word}>`))
          expect(
            waysToName(spec).map(([name]) => name),
            spec.usage,
          ).toContain(word);
    const program = join(PACKAGE_ROOT, "dist/src/cli.js");
    const { stdout } = spawnSync(process.execPath, [program, "key", "list", "--help"], { encoding: "utf8" });
    expect(stdout).toMatch(/vault +a vault's name or id/);
  });
});
