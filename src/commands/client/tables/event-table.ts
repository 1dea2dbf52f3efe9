/** Following events, and the completion of commands in a shell. */
import type { CommandSpec } from "../command-spec.js";
import { SHELLS, completionScript, requireShell } from "../completion.js";

/** The command of events. */
export const EVENT_COMMANDS: readonly CommandSpec[] = [
  {
    usage: "events tail [subjects...]",
    summary:
      "print events as they happen, all that the token may see unless filters such as network.*.status are given",
    options: [
      { flag: "--from <event>", summary: "begin behind this event; 0 for all that are kept" },
      { flag: "--limit <number>", summary: "end after so many events" },
    ],
    run: async (input) => (await import("../event-commands.js")).runEventsTail(input),
  },
];

/**
 * The command of completion.
 * @param table all commands, this one too
 */
export function completionCommand(table: () => readonly CommandSpec[]): CommandSpec {
  return {
    usage: "completion <shell>",
    summary: "print the script for bash, zsh or fish; its first lines say where it goes",
    choices: SHELLS,
    run: async (input) => {
      process.stdout.write(completionScript(requireShell(input.argument(0)), table()));
      return await Promise.resolve(0);
    },
  };
}
