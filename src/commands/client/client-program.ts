/** The parser of the client's commands: commander, filled from their table. */
import { Command, CommanderError, Option } from "commander";
import { AppError } from "../../platform/errors.js";
import { StartError } from "../../platform/start-error.js";
import {
  ApiError,
  ConnectionError,
  JobError,
  ProvisioningError,
  StreamEndedError,
  TimeoutError,
  TransactionError,
} from "../../sdk/errors.js";
import { CLIENT_GROUPS } from "./client-groups.js";
import { COMMON_OPTIONS, wordsOf, type CommandSpec, type OptionSpec } from "./command-spec.js";
import { COMMAND_TABLE, EXIT_STATUSES } from "./command-table.js";
import { NameError, withIdsForNames } from "./naming/named-records.js";
import { withoutControls } from "./print-result.js";
import { wayToName, waysToName } from "./naming/reference-words.js";
import { NotSignedInError, wayToLogIn, type ClientFlags } from "./signed-in.js";

/** Exit statuses, as EXIT_STATUSES explains them. */
const EXIT = { failed: 1, usage: 2, refused: 3, notSignedIn: 4, unreachable: 5 } as const;
const EXIT_HELP = `
Exit status:
${EXIT_STATUSES.map(([status, meaning]) => `  ${String(status)}  ${meaning}`).join("\n")}`;

/**
 * Runs a command of the client, and returns its exit status. What fails is one sentence on standard error.
 * @param args the command's name and what follows
 */
export async function runClientCommand(args: readonly string[]): Promise<number> {
  let status = 0;
  const program = createProgram((result) => {
    status = result;
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return status;
  } catch (error) {
    // Commander has printed its own sentence, or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.usage;
    const known = exitStatus(error);
    if (known === undefined) throw error;
    process.stderr.write(`proofwright: ${withoutControls(sentenceOf(error, flagsOf(args)))}\n`);
    return known;
  }
}

/** Returns the exit status of a failure; undefined for one that nobody has designed. */
export function exitStatus(error: unknown): number | undefined {
  if (error instanceof NotSignedInError || error instanceof StreamEndedError) return EXIT.notSignedIn;
  if (error instanceof ProvisioningError || error instanceof TransactionError || error instanceof JobError)
    return EXIT.failed;
  if (error instanceof ConnectionError || error instanceof TimeoutError) return EXIT.unreachable;
  if (error instanceof ApiError) {
    if (error.status === 401 || error.code === "invalid_grant") return EXIT.notSignedIn;
    return error.status === 429 || error.status >= 500 ? EXIT.unreachable : EXIT.refused;
  }
  if (error instanceof NameError) return EXIT.refused;
  if (error instanceof StartError || error instanceof AppError) return EXIT.usage;
  return error instanceof Error && "code" in error && "syscall" in error ? EXIT.usage : undefined;
}

/** Tokens that are not accepted any more; a wrong password has a sentence of its own. */
const ENDED_CODES: readonly string[] = ["unauthorized", "invalid_grant"];

/** The profile that a command line names, for the sentence of its failure. */
function flagsOf(args: readonly string[]): ClientFlags {
  const at = args.findIndex((arg) => arg === "--profile" || arg.startsWith("--profile="));
  const profile = args[at]?.split("=")[1] ?? args[at + 1];
  return at < 0 || profile === undefined ? {} : { profile };
}

function sentenceOf(error: unknown, flags: ClientFlags): string {
  if (error instanceof ProvisioningError) return error.errors.map(({ message }) => message).join("\n");
  const hasEnded = error instanceof ApiError && error.status === 401 && ENDED_CODES.includes(error.code);
  const text = hasEnded ? wayToLogIn(flags) : error instanceof Error ? error.message : String(error);
  const id = error instanceof ApiError && error.requestId !== undefined ? ` (request ${error.requestId})` : "";
  return `${text.replace(/\.$/, "")}${id}.`;
}

function createProgram(settle: (status: number) => void): Command {
  const program = new Command("proofwright").exitOverride();
  program.configureHelp({ showGlobalOptions: false });
  // As all other sentences begin; the commands below take this over.
  program.configureOutput({
    outputError: (text, write) => {
      write(text.replace(/^error: /, "proofwright: "));
    },
  });
  const groups = new Map<string, Command>();
  for (const spec of COMMAND_TABLE) {
    const [first = "", second] = wordsOf(spec);
    if (second === undefined) {
      add(program, spec.usage, spec, settle);
      continue;
    }
    const group =
      groups.get(first) ?? withHint(program.command(first).description(CLIENT_GROUPS[first] ?? ""), [first]);
    groups.set(first, group);
    add(group, spec.usage.slice(first.length + 1), spec, settle);
  }
  return program;
}

function add(parent: Command, usage: string, spec: CommandSpec, settle: (status: number) => void): void {
  const command = parent
    .command(usage)
    .description(spec.summary)
    .allowExcessArguments(false)
    .addHelpText("after", EXIT_HELP);
  withHint(command, wordsOf(spec));
  for (const argument of command.registeredArguments)
    argument.description = wayToName(argument.name()) ?? argument.description;
  for (const option of [...(spec.options ?? []), ...COMMON_OPTIONS]) command.addOption(optionOf(withWays(option)));
  command.action(async () => {
    settle(await spec.run(await withIdsForNames(spec, command.processedArgs, command.opts())));
  });
}

/** Has the sentence about wrong use followed by where to read on. */
function withHint(command: Command, words: readonly string[]): Command {
  return command.showHelpAfterError(`See \`proofwright ${words.join(" ")} --help\`.`);
}

/** Says of an option that takes a record how that may be named. */
function withWays(option: OptionSpec): OptionSpec {
  const [way] = waysToName({ usage: option.flag });
  return way === undefined ? option : { ...option, summary: `${option.summary} (${way[1]})` };
}

/**
 * Prints that there is no such command, and which one may have been meant. Returns the exit status.
 * @param words the first words of all commands
 */
export function refuseCommand(name: string, words: readonly string[]): number {
  const program = new Command("proofwright").exitOverride().showSuggestionAfterError();
  program.configureOutput({ writeErr: () => undefined });
  for (const word of words) program.command(word);
  try {
    program.parse([name], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const meant = /\(Did you mean (.*)\?\)/.exec(error.message)?.[1];
    const guess = meant === undefined ? "" : ` Did you mean ${meant}?`;
    process.stderr.write(
      `proofwright: "${withoutControls(name)}" is not a command.${guess} See \`proofwright --help\`.\n`,
    );
  }
  return EXIT.usage;
}

function optionOf({ flag, summary, isRequired = false, byDefault, values }: OptionSpec): Option {
  const option = new Option(flag, summary).makeOptionMandatory(isRequired);
  if (byDefault !== undefined) option.default(byDefault);
  return values === undefined ? option : option.choices(values);
}
