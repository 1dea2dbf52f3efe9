/** COMMANDS.md: the reference of the client's commands, generated from their table. */
import { CLIENT_GROUPS } from "./client-groups.js";
import { COMMON_OPTIONS, wordsOf, type CommandSpec, type OptionSpec } from "./command-spec.js";
import { COMMAND_TABLE, EXIT_STATUSES } from "./command-table.js";
import { waysToName } from "./naming/reference-words.js";

const HEADER = `# The client's commands

Generated from the table in \`src/commands/client/tables\` by \`npm run docs:commands\`; do not edit.

\`proofwright\` is also a client of a server. \`proofwright login\` begins; \`proofwright COMMAND --help\` says what a command takes, and
\`proofwright completion bash\` (or \`zsh\`, \`fish\`) prints a script that completes commands in a shell.

Vaults, keys, secrets, networks, contracts and provers are named by their ids or their names, users by their ids or email addresses,
accounts and contracts also by their addresses on the network (0x and 40 hex digits), and provers also by \`name:tag\`. Where several
records have a name, the sentence of the failure lists their ids.

No secret is taken on the command line, where other users of the machine could read it: passwords, the 24 words of a seal key and
the values of secrets are asked for without showing them, read from a pipe, or from the file that an option names.

Tokens lie in \`$XDG_CONFIG_HOME/proofwright/profiles.json\` (else \`~/.config\`), which only its user may read. Commands that run at
once take turns at renewing a token. For continuous integration set \`PW_SERVER\` and \`PW_TOKEN\`, a personal access token.

\`circuit deploy\` finds a prover that was made from the same source with the same options by \`deployed_sha256\` in its free data, and
changes nothing then; a change of description or tags alone deploys nothing. All \`.circom\` files of the folder are sent, but those in
hidden folders and in \`node_modules\`; the server has circomlib.`;

/** Returns the text of COMMANDS.md. */
export function commandsMarkdown(): string {
  const groups = Object.entries(CLIENT_GROUPS).map(([group, summary]) => {
    const commands = COMMAND_TABLE.filter((spec) => wordsOf(spec)[0] === group);
    return [`## ${group}: ${summary}`, ...commands.map(commandText)].join("\n\n");
  });
  const common = ["## Of every command", COMMON_OPTIONS.map(optionLine).join("\n")].join("\n\n");
  const statuses = EXIT_STATUSES.map(([status, meaning]) => `| ${String(status)} | ${meaning} |`);
  const exit = ["## Exit status", ["| status | meaning |", "| --- | --- |", ...statuses].join("\n")].join("\n\n");
  return `${[HEADER, ...groups, common, exit].join("\n\n")}\n`;
}

function commandText(spec: CommandSpec): string {
  const { usage, summary, options = [] } = spec;
  const title = `\`proofwright ${usage}\`: ${summary}`;
  const lines = [...waysToName(spec).map(([word, way]) => `- \`<${word}>\`: ${way}`), ...options.map(optionLine)];
  return lines.length === 0 ? title : `${title}\n\n${lines.join("\n")}`;
}

function optionLine({ flag, summary, isRequired = false, byDefault, values }: OptionSpec): string {
  const notes = [
    ...(isRequired ? ["required"] : []),
    ...(values === undefined ? [] : [`one of ${values.map((value) => `\`${value}\``).join(", ")}`]),
    ...(byDefault === undefined ? [] : [`\`${byDefault}\` unless given`]),
  ];
  return `- \`${flag}\`: ${summary}${notes.length === 0 ? "" : ` (${notes.join("; ")})`}`;
}
