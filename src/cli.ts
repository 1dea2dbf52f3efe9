#!/usr/bin/env node
/**
 * The `proofwright` command: finds the subcommand, parses its flags and runs it. A command's module loads on demand.
 */
import { parseArgs } from "node:util";
import { CEREMONY_HELP } from "./commands/ceremony/ceremony-help.js";
import { CLUSTER_HELP, WORKER_HELP } from "./commands/cluster/cluster-help.js";
import { CLIENT_GROUPS } from "./commands/client/client-groups.js";
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
  worker: {
    summary: "compute for a cluster, without taking requests",
    help: WORKER_HELP,
    run: async (args) => {
      const config = configFrom(args);
      const { runWorker } = await import("./main.js");
      return await runWorker(config);
    },
  },
  init: {
    summary: "set up a new installation: seal key, administrator, settings",
    help: "Usage: proofwright init [--issuer=URL] [--email=ADDRESS] [--first-name=NAME] [--last-name=NAME] [--seal-key-to=FILE] [--config-to=FILE]\n                        [--data-dir=DIR]\n\nAsks on a terminal for what no flag tells; the password comes without being shown, or as a line from a pipe. Shows the 24 words of the new seal\nkey on the terminal, or writes them to the new file of --seal-key-to (mode 0600), and nowhere else. --config-to writes the settings to a file.\nFor a seal key in a key management service, configure SEAL_UNSEAL_PROVIDER instead, and use create-admin.\n",
    run: async (args) => {
      const text = { type: "string" } as const;
      const { values } = parseArgs({
        args: [...args],
        options: {
          ...{ issuer: text, email: text, "first-name": text, "last-name": text, "data-dir": text },
          ...{ "seal-key-to": text, "config-to": text },
        },
        strict: true,
      });
      const { runInit } = await import("./commands/init.js");
      return await runInit({
        dataDir: dataDirOf(values),
        issuer: values.issuer,
        email: values.email,
        firstName: values["first-name"] ?? "Site",
        lastName: values["last-name"] ?? "Administrator",
        sealKeyTo: values["seal-key-to"],
        configTo: values["config-to"],
      });
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
  commands: {
    summary: "print the reference of the client's commands as Markdown",
    help: "Usage: proofwright commands\n\nPrints the text of src/commands/client/COMMANDS.md.\n",
    run: async (args) => {
      refuseArguments("commands", args);
      const { commandsMarkdown } = await import("./commands/client/commands-markdown.js");
      process.stdout.write(commandsMarkdown());
      return 0;
    },
  },
  backup: {
    summary: "copy a data folder to another folder, also while the server runs",
    help: "Usage: proofwright backup --to=FOLDER [--keys-to=FOLDER] [--data-dir=DIR]\n\nThe copy is consistent and synced to disk, and has a manifest of hashes. Of development mode it holds all keys, the seal key too. In\nproduction it holds no key that would unseal the vault or make tokens; --keys-to saves the server's own keys (of tokens and the audit log) to a\nfolder of their own, to be kept apart. Settings, and uploads that have not ended, are not in it. Of a cluster's node it holds all files, for\nwhich the cluster's settings are needed; `cluster leave` makes a single server of what `restore` has made of it.\n",
    run: async (args) => {
      const text = { type: "string" } as const;
      const { values } = parseArgs({
        args: [...args],
        options: { to: text, "keys-to": text, "data-dir": text },
        strict: true,
      });
      if (values.to === undefined || values.to === "") throw new ConfigError("backup needs --to=FOLDER.");
      const { runBackup } = await import("./commands/backup/backup.js");
      const cluster = loadConfig({ flags: {}, env: process.env });
      return await runBackup({ dataDir: dataDirOf(values), cluster, to: values.to, keysTo: values["keys-to"] });
    },
  },
  restore: {
    summary: "make a data folder of a backup",
    help: "Usage: proofwright restore --from=FOLDER [--keys=FOLDER] [--manifest-sha256=HEX] [--data-dir=DIR]\n\nThe data folder must be new or empty. Every file is compared with the manifest, every record is read, and nothing is left where something is\nwrong. --keys names what `backup --keys-to` wrote; --manifest-sha256 the hash that `backup` printed, which shows that nobody replaced the backup.\n",
    run: async (args) => {
      const text = { type: "string" } as const;
      const { values } = parseArgs({
        args: [...args],
        options: { from: text, keys: text, "manifest-sha256": text, "data-dir": text },
        strict: true,
      });
      if (values.from === undefined || values.from === "") throw new ConfigError("restore needs --from=FOLDER.");
      const { runRestore } = await import("./commands/backup/restore.js");
      return await runRestore({
        from: values.from,
        dataDir: dataDirOf(values),
        keysFrom: values.keys,
        manifestSha256: values["manifest-sha256"],
      });
    },
  },
  rekey: {
    summary: "give a stopped server's vault a new seal key",
    help: "Usage: proofwright rekey [settings]\n\nReads the old and the new phrase (24 words each) from the terminal without showing them, or as two lines from a pipe; with a seal provider\nthat has the key itself, only the new one. Wraps all master keys anew and prints the new validation hash: in one transaction for a stopped\nserver; with the settings of a cluster for all of its nodes, which may run and are sealed by it.\n",
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
    summary: "check a proof about a store of notes or nullifiers, or its signed tree head, offline",
    help: `Usage: proofwright store verify FILE [--root=HEX]
       proofwright store verify [FILE] --head=FILE --jwks=FILE [--store=ID] [--root=HEX]

FILE is what the API has answered as JSON: an inclusion or consistency proof of a note store, a membership or non-membership proof of a
nullifier store. --head is a signed tree head: what GET /api/v1/stores/ID/head answered, an entry of its heads, or the JWS alone; the proof
must then lead to its root. --jwks is what GET /api/v1/stores/ID/jwks.json answered, or one of its keys. No server is asked. Exits 1 when
the proof does not hold, leads to another root, or the head is not genuine, by a revoked key, or of another store.
`,
    run: async (args) => {
      const text = { type: "string" } as const;
      const { values, positionals } = parseArgs({
        args: [...args],
        options: { root: text, head: text, jwks: text, store: text },
        allowPositionals: true,
        strict: true,
      });
      const [action, file, ...more] = positionals;
      const { root, head, jwks, store } = values;
      if (action !== "verify" || (file === undefined && head === undefined) || more.length > 0)
        throw new ConfigError("store needs `verify FILE`; see `proofwright store --help`.");
      if (head === undefined && (jwks !== undefined || store !== undefined))
        throw new ConfigError("--jwks and --store are about a tree head: pass it as --head=FILE.");
      if (head !== undefined && jwks === undefined)
        throw new ConfigError("--jwks=FILE is missing: the store's keys, from GET /api/v1/stores/ID/jwks.json.");
      const { runStoreVerify } = await import("./commands/store.js");
      return await runStoreVerify({ file, root, head, jwks, store });
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
    summary: "create an administrator in a stopped server's store, or in a cluster",
    help: "Usage: proofwright create-admin --email=ADDRESS [--first-name=NAME] [--last-name=NAME] [--promote] [--data-dir=DIR]\n\nReads the password from the terminal without showing it, or as a line from a pipe. With --promote the existing user of that\naddress becomes an administrator. The first administrator of a new installation can also be created while the server runs, with the token in\nDATA_DIR/bootstrap-token.\nWith the settings of a cluster (PROOFWRIGHT_DATABASE_URL) the administrator is made there, while its nodes run.\n",
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
      const config = loadConfig({
        flags: values["data-dir"] === undefined ? {} : { "data-dir": values["data-dir"] },
        env: process.env,
      });
      const { runCreateAdmin } = await import("./commands/create-admin.js");
      return await runCreateAdmin({
        dataDir: config.data_dir,
        ...(config.database_url === undefined ? {} : { cluster: config }),
        email: values.email,
        firstName: values["first-name"] ?? "Site",
        lastName: values["last-name"] ?? "Administrator",
        promote: values.promote === true,
      });
    },
  },
  "rotate-keys": {
    summary: "activate the next token signing key, also while the server runs",
    help: "Usage: proofwright rotate-keys [--emergency] [settings]\n\nThe next key must have been published for 15 minutes. The old one verifies until its last token has expired. --emergency, for a leaked key,\nreplaces all keys at once and voids every access token. With the settings of a cluster (PROOFWRIGHT_DATABASE_URL) the keys are those of\nall its nodes, which have the new ones at once.\n",
    run: async (args) => {
      const config = configFrom(args.filter((argument) => argument !== "--emergency"));
      const { runRotateKeys } = await import("./commands/rotate-keys.js");
      return await runRotateKeys(config, { emergency: args.includes("--emergency") });
    },
  },
  cluster: {
    summary: "make a cluster of several servers over one PostgreSQL, and look at it",
    help: CLUSTER_HELP,
    run: async (args) => {
      const { runClusterCommand } = await import("./commands/cluster/cluster-command.js");
      return await runClusterCommand(args);
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

const USAGE = `Proofwright: zero-knowledge prover registry, key vault, chain and identity server

Usage: proofwright COMMAND [flags]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(14)}${summary}`)
  .join("\n")}

On a server, as its client:

${Object.entries(CLIENT_GROUPS)
  .map(([name, summary]) => `  ${name.padEnd(14)}${summary}`)
  .join("\n")}

\`proofwright --version\` prints the version, \`proofwright COMMAND --help\` says more.
`;

/** The data folder that a flag, the environment or the default names. */
function dataDirOf({ "data-dir": flag }: { readonly "data-dir"?: string | undefined }): string {
  return loadConfig({ flags: flag === undefined ? {} : { "data-dir": flag }, env: process.env }).data_dir;
}

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
  if (Object.hasOwn(CLIENT_GROUPS, name)) {
    const { runClientCommand } = await import("./commands/client/client-program.js");
    return await runClientCommand([name, ...args]);
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const { refuseCommand } = await import("./commands/client/client-program.js");
    return refuseCommand(name, [...Object.keys(COMMANDS), ...Object.keys(CLIENT_GROUPS)]);
  }
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
