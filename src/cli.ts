#!/usr/bin/env node
/**
 * The `proofwright` command: finds the subcommand, parses its flags and runs it. A command's module loads on demand.
 */
import { parseArgs } from "node:util";
import { CEREMONY_HELP } from "./commands/ceremony/ceremony-help.js";
import { ConfigError, describeSettings, loadConfig, type Config } from "./platform/config.js";
import { AppError } from "./platform/errors.js";
import { loadFailureSentence, tooOldSentence } from "./platform/runtime-support.js";
import { StartError } from "./platform/start-error.js";

interface Command {
  readonly summary: string;
  readonly help: string;
  readonly run: (args: readonly string[]) => Promise<number>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  server: {
    summary: "serve the API (what `npm start` runs)",
    help: "Usage: proofwright server [settings]\n\nEvery setting may be a flag, an environment variable or a member of a config file; flags win, then the environment.\n\n",
    run: async (args) => {
      const config = configFrom(args);
      const { runServer } = await import("./main.js");
      return await runServer(config);
    },
  },
  quickstart: {
    summary: "register circuits, prove and verify over HTTP on a temporary server",
    help: "Usage: proofwright quickstart\n\nStarts a server on a free port with a temporary data folder, registers circuits, proves and verifies, and cleans up.\n",
    run: async (args) => {
      refuseArguments("quickstart", args);
      const { runQuickstart } = await import("./quickstart.js");
      return await runQuickstart();
    },
  },
  openapi: {
    summary: "print the OpenAPI 3.1 document",
    help: "Usage: proofwright openapi\n\nPrints the document that the server answers at /openapi.json.\n",
    run: async (args) => {
      refuseArguments("openapi", args);
      const { printOpenApi } = await import("./commands/openapi.js");
      return printOpenApi();
    },
  },
  settings: {
    summary: "print the reference of all settings as Markdown",
    help: "Usage: proofwright settings\n\nPrints the text of src/SETTINGS.md.\n",
    run: async (args) => {
      refuseArguments("settings", args);
      const { settingsMarkdown } = await import("./platform/settings-markdown.js");
      process.stdout.write(settingsMarkdown());
      return 0;
    },
  },
  backup: {
    summary: "copy the store and its artifacts to a folder, also while the server runs",
    help: "Usage: proofwright backup --to=FOLDER [--data-dir=DIR]\n\nThe copy is consistent and synced to disk; it holds wrapped keys, so guard it like the original.\n",
    run: async (args) => {
      const { values } = parseArgs({
        args: [...args],
        options: { to: { type: "string" }, "data-dir": { type: "string" } },
        strict: true,
      });
      if (values.to === undefined) throw new ConfigError("backup needs --to=FOLDER.");
      const config = loadConfig({
        flags: values["data-dir"] === undefined ? {} : { "data-dir": values["data-dir"] },
        env: process.env,
      });
      const { runBackup } = await import("./commands/backup.js");
      return await runBackup(config.data_dir, values.to);
    },
  },
  rekey: {
    summary: "give a stopped server's vault a new seal key",
    help: "Usage: proofwright rekey [settings]\n\nReads the old and the new phrase (24 words each) from the terminal without showing them, or as two lines from a pipe; with a seal provider\nthat has the key itself, only the new one. Wraps all master keys anew in one transaction and prints the new validation hash.\n",
    run: async (args) => {
      const config = configFrom(args);
      const { runRekey } = await import("./commands/rekey.js");
      return await runRekey(config);
    },
  },
  audit: {
    summary: "verify or export the audit log",
    help: "Usage: proofwright audit verify [--data-dir=DIR] [--key=FILE ...] [--anchor=NUMBER:MAC]\n       proofwright audit export [--data-dir=DIR]\n\n`verify` walks the log and names the first broken link (exit status 1); --key adds key files of earlier parts of the log, --anchor a record\nthat must exist. `export` prints one line of JSON per record.\n",
    run: async (args) => {
      const { values, positionals } = parseArgs({
        args: [...args],
        options: {
          "data-dir": { type: "string" },
          key: { type: "string", multiple: true },
          anchor: { type: "string" },
        },
        allowPositionals: true,
        strict: true,
      });
      const { data_dir: dataDir } = loadConfig({
        flags: values["data-dir"] === undefined ? {} : { "data-dir": values["data-dir"] },
        env: process.env,
      });
      const { runAuditExport, runAuditVerify } = await import("./commands/audit.js");
      const [action, ...more] = positionals;
      if (more.length > 0 || (action !== "verify" && action !== "export"))
        throw new ConfigError("audit needs `verify` or `export`; see `proofwright audit --help`.");
      return action === "export"
        ? await runAuditExport(dataDir)
        : await runAuditVerify({ dataDir, keyFiles: values.key ?? [], anchor: values.anchor });
    },
  },
  store: {
    summary: "check a proof about a store of notes or nullifiers, offline",
    help: "Usage: proofwright store verify FILE [--root=HEX]\n\nFILE is what the API has answered as JSON: an inclusion or consistency proof of a note store, a membership or non-membership proof of a\nnullifier store. No server is asked. Exits 1 when the proof does not hold, or leads to another root than --root.\n",
    run: async (args) => {
      const { values, positionals } = parseArgs({
        args: [...args],
        options: { root: { type: "string" } },
        allowPositionals: true,
        strict: true,
      });
      const [action, file, ...more] = positionals;
      if (action !== "verify" || file === undefined || more.length > 0)
        throw new ConfigError("store needs `verify FILE`; see `proofwright store --help`.");
      const { runStoreVerify } = await import("./commands/store.js");
      return await runStoreVerify({ file, root: values.root });
    },
  },
  receipt: {
    summary: "check a receipt without a server, or print the format of receipts",
    help: `Usage: proofwright receipt verify FILE --jwks=FILE [--proof=FILE] [--public-signals=FILE] [--issuer=URL] [--prover=ID] [--json]
       proofwright receipt schema

FILE is a receipt, or an answer of prove or verify that has one; --jwks is what GET /api/v1/provers/ID/jwks.json answered. --proof is the
proof in hex, or the answer of prove, whose public signals are then compared as well; --public-signals is a JSON list of decimals. Exit
status: 0 genuine, and the proof is valid; 1 not genuine, or of something else; 2 wrong use; 3 genuine, and it says that the proof is not valid.
`,
    run: async (args) => {
      const text = { type: "string" } as const;
      const { values, positionals } = parseArgs({
        args: [...args],
        options: {
          ...{ jwks: text, proof: text, "public-signals": text, issuer: text, prover: text },
          json: { type: "boolean" },
        },
        allowPositionals: true,
        strict: true,
      });
      const { printReceiptSchema, runVerifyReceipt } = await import("./commands/receipt.js");
      const [action, file, ...more] = positionals;
      if (action === "schema" && file === undefined) return printReceiptSchema();
      const { jwks, proof, "public-signals": publicSignals, issuer, prover, json = false } = values;
      if (action !== "verify" || file === undefined || more.length > 0)
        throw new ConfigError("receipt needs `verify FILE --jwks=FILE` or `schema`; see `proofwright receipt --help`.");
      if (jwks === undefined || jwks === "")
        throw new ConfigError("--jwks=FILE is missing: the prover's keys, from GET /api/v1/provers/ID/jwks.json.");
      return await runVerifyReceipt({ file, jwks, proof, publicSignals, issuer, prover, json });
    },
  },
  "create-admin": {
    summary: "create an administrator in a stopped server's store",
    help: "Usage: proofwright create-admin --email=ADDRESS [--first-name=NAME] [--last-name=NAME] [--promote] [--data-dir=DIR]\n\nReads the password from the terminal without showing it, or as a line from a pipe. With --promote the existing user of that\naddress becomes an administrator. The first administrator of a new installation can also be created while the server runs, with the token in\nDATA_DIR/bootstrap-token.\n",
    run: async (args) => {
      const { values } = parseArgs({
        args: [...args],
        options: {
          email: { type: "string" },
          "first-name": { type: "string" },
          "last-name": { type: "string" },
          promote: { type: "boolean" },
          "data-dir": { type: "string" },
        },
        strict: true,
      });
      if (values.email === undefined) throw new ConfigError("create-admin needs --email=ADDRESS.");
      const { data_dir: dataDir } = loadConfig({
        flags: values["data-dir"] === undefined ? {} : { "data-dir": values["data-dir"] },
        env: process.env,
      });
      const { runCreateAdmin } = await import("./commands/create-admin.js");
      return await runCreateAdmin({
        dataDir,
        email: values.email,
        firstName: values["first-name"] ?? "Site",
        lastName: values["last-name"] ?? "Administrator",
        promote: values.promote === true,
      });
    },
  },
  "rotate-keys": {
    summary: "activate the next token signing key, also while the server runs",
    help: "Usage: proofwright rotate-keys [--emergency] [settings]\n\nThe next key must have been published for 15 minutes. The old one verifies until its last token has expired. --emergency, for a leaked key,\nreplaces all keys at once and voids every access token.\n",
    run: async (args) => {
      const config = configFrom(args.filter((argument) => argument !== "--emergency"));
      const { runRotateKeys } = await import("./commands/rotate-keys.js");
      return await runRotateKeys(config, { emergency: args.includes("--emergency") });
    },
  },
  ceremony: {
    summary: "contribute to a ceremony for a proving key, or verify one offline",
    help: CEREMONY_HELP,
    run: async (args) => {
      const { runCeremonyCommand } = await import("./commands/ceremony/ceremony-command.js");
      return await runCeremonyCommand(args);
    },
  },
  scrub: {
    summary: "check every record and artifact of a stopped server's data folder",
    help: "Usage: proofwright scrub [--data-dir=DIR]\n\nReads everything and checks its integrity tags; exits 1 when something is damaged.\n",
    run: async (args) => {
      const config = configFrom(args);
      const { runScrub } = await import("./commands/scrub.js");
      return await runScrub(config.data_dir);
    },
  },
};

/** Commands of the client, parsed by commander in a module that the server's start does not load. */
const CLIENT_COMMANDS: Readonly<Record<string, string>> = {
  login: "log in to a server",
  logout: "end the session, and forget its tokens",
  whoami: "say who is logged in",
  circuit: "begin, check, deploy and list circuits",
  prove: "make a proof",
  verify: "verify a proof",
  artifacts: "download files of provers",
};

const USAGE = `Proofwright: zero-knowledge prover registry, key vault, chain and identity server

Usage: proofwright COMMAND [flags]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(14)}${summary}`)
  .join("\n")}

On a server, as its client:

${Object.entries(CLIENT_COMMANDS)
  .map(([name, summary]) => `  ${name.padEnd(14)}${summary}`)
  .join("\n")}

\`proofwright --version\` prints the version, \`proofwright COMMAND --help\` says more.
`;

/** Settings from `--name=value` or `--name value`. */
function configFrom(args: readonly string[]): Config {
  const { tokens } = parseArgs({ args: [...args], strict: false, tokens: true, allowPositionals: true });
  const flags: Record<string, string> = {};
  let file: string | undefined;
  let pending: string | undefined;
  for (const token of tokens) {
    if (token.kind === "option") {
      if (pending !== undefined) throw new ConfigError(`--${pending} needs a value.`);
      if (token.value === undefined) pending = token.name;
      else if (token.name === "config") file = token.value;
      else flags[token.name] = token.value;
    } else if (token.kind === "positional" && pending !== undefined) {
      if (pending === "config") file = token.value;
      else flags[pending] = token.value;
      pending = undefined;
    } else {
      throw new ConfigError(
        `"${token.kind === "positional" ? token.value : "--"}" is not a setting; settings look like --port=8080.`,
      );
    }
  }
  if (pending !== undefined) throw new ConfigError(`--${pending} needs a value.`);
  return loadConfig({ flags, env: process.env, file });
}

function refuseArguments(command: string, args: readonly string[]): void {
  if (args.length > 0) throw new ConfigError(`${command} takes no arguments, but got ${args.join(" ")}.`);
}

async function main(): Promise<number> {
  const tooOld = tooOldSentence(process.versions);
  if (tooOld !== undefined) throw new StartError(tooOld);
  const [name, ...args] = process.argv.slice(2);
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    process.stdout.write(USAGE);
    return name === undefined ? 2 : 0;
  }
  if (name === "--version" || name === "-V") {
    const { readFileSync } = await import("node:fs");
    const { PACKAGE_ROOT } = await import("./platform/files/package-root.js");
    const { version } = JSON.parse(readFileSync(`${PACKAGE_ROOT}/package.json`, "utf8")) as { version: string };
    process.stdout.write(`${version}\n`);
    return 0;
  }
  if (Object.hasOwn(CLIENT_COMMANDS, name)) {
    const { runClientCommand } = await import("./commands/client/client-program.js");
    return await runClientCommand([name, ...args]);
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) throw new ConfigError(`"${name}" is not a command; see \`proofwright --help\`.`);
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(command.help + (name === "server" ? `${describeSettings()}\n` : ""));
    return 0;
  }
  return await command.run(args);
}

main().then(
  // A pipe takes large output in parts: exit after the last one.
  (status) => {
    process.stdout.write("", () => {
      process.exit(status);
    });
  },
  (error: unknown) => {
    const expected =
      error instanceof StartError ||
      error instanceof AppError ||
      (error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS"));
    const loading = loadFailureSentence(error, {
      node: process.versions.node,
      platform: process.platform,
      arch: process.arch,
    });
    if (loading !== undefined) {
      process.stderr.write(`proofwright: ${loading}\n`);
      process.exit(2);
    }
    process.stderr.write(
      `proofwright: ${expected ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(expected ? 2 : 1);
  },
);
