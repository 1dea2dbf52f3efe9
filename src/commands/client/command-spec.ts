/**
 * A command of the client as one row of a table, from which parser, help, shell completion and COMMANDS.md are made.
 */
import type { Pages } from "../../sdk/pages.js";
import type { Proofwright } from "../../sdk/proofwright.js";
import { printResult } from "./print-result.js";
import { recordLines } from "./print-records.js";
import type { ClientFlags } from "./signed-in.js";

export interface OptionSpec {
  /** As commander writes it: `--email <address>`, `--no-browser`, `--argument <value...>`. */
  readonly flag: string;
  readonly summary: string;
  readonly isRequired?: boolean;
  readonly byDefault?: string;
  /** The only values that it takes. */
  readonly values?: readonly string[];
}

export interface CommandSpec {
  /** Words and arguments, as commander writes them: `vault show <vault>`. */
  readonly usage: string;
  /** What it does, in one sentence. */
  readonly summary: string;
  readonly options?: readonly OptionSpec[];
  /** The only values of its first argument. */
  readonly choices?: readonly string[];
  /** Returns the exit status. */
  readonly run: (input: CommandInput) => Promise<number>;
}

/** The flags that every command takes. */
export const COMMON_OPTIONS: readonly OptionSpec[] = [
  { flag: "--profile <name>", summary: "the login to use (default: default)" },
  { flag: "--server <url>", summary: "the server; that of the profile unless given" },
  { flag: "--json", summary: "print JSON for machines" },
];

/** The words of a command, without its arguments: `["vault", "show"]`. */
export function wordsOf({ usage }: Pick<CommandSpec, "usage">): readonly string[] {
  return usage.split(" ").filter((word) => !/^[<[]/.test(word));
}

/** What a command is called with, as commander parsed it. */
export class CommandInput {
  readonly flags: ClientFlags;
  readonly #arguments: readonly unknown[];
  readonly #options: Readonly<Record<string, unknown>>;

  constructor(args: readonly unknown[], options: Readonly<Record<string, unknown>>) {
    this.#arguments = args;
    this.#options = options;
    this.flags = options;
  }

  /** Returns an argument by its place; the empty text where it was left out. */
  argument(place: number): string {
    const value = this.#arguments[place];
    return typeof value === "string" ? value : "";
  }

  /** Returns the arguments of a place that takes any number of them. */
  arguments(place: number): readonly string[] {
    return textsOf(this.#arguments[place]);
  }

  /** Returns the value of an option by its name in camel case; undefined where it was left out. */
  text(name: string): string | undefined {
    const value = this.#options[name];
    return typeof value === "string" ? value : undefined;
  }

  /** Returns the value of an option that is required, or has a default. */
  required(name: string): string {
    return this.text(name) ?? "";
  }

  /** Returns the values of an option that may have several. */
  texts(name: string): readonly string[] {
    return textsOf(this.#options[name]);
  }

  /** Returns whether an option without a value was given; of `--no-browser`, `isSet("browser")` is false. */
  isSet(name: string): boolean {
    return this.#options[name] === true;
  }

  /**
   * Returns the options that were given as members of a request.
   * @param names member of the request by name of the option
   */
  members<Member extends string>(names: Readonly<Record<string, Member>>): Partial<Record<Member, string>> {
    const members: Partial<Record<Member, string>> = {};
    for (const [name, member] of Object.entries(names)) {
      const value = this.text(name);
      if (value !== undefined) members[member] = value;
    }
    return members;
  }
}

/**
 * Returns what runs a command that asks the server for one thing and prints it.
 * @param call asks the server, as the profile's user
 * @param show lines for people; by default all members of the answer
 */
export function answering<T>(
  call: (client: Proofwright, input: CommandInput) => Promise<T>,
  show: (value: T) => readonly string[] = recordLines,
): CommandSpec["run"] {
  return async (input) => {
    const { signedIn } = await import("./signed-in.js");
    const value = await call(await signedIn(input.flags), input);
    printResult(input.flags, value ?? {}, () => show(value));
    return 0;
  };
}

/** Results that a list shows unless told otherwise. */
const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 100_000;

/** The option of commands that list. */
export const LIMIT: OptionSpec = {
  flag: "--limit <number>",
  summary: "results at most",
  byDefault: String(LIMIT_DEFAULT),
};

/**
 * Reads the first results of a list, as many as --limit allows.
 * @throws StartError when --limit is no such number
 */
export async function limited<T>(pages: Pages<T>, input: CommandInput): Promise<T[]> {
  const limit = await wholeNumber(input.text("limit") ?? String(LIMIT_DEFAULT), "--limit", { min: 1, max: LIMIT_MAX });
  const items: T[] = [];
  for await (const item of pages) {
    items.push(item);
    if (items.length === limit) break;
  }
  return items;
}

/**
 * Reads the whole number that an option has.
 * @throws StartError that names the option
 */
export async function wholeNumber(
  text: string,
  option: string,
  { min, max }: { readonly min: number; readonly max: number },
): Promise<number> {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (number >= min && number <= max) return number;
  const { StartError } = await import("../../platform/start-error.js");
  throw new StartError(`${option} takes a whole number from ${String(min)} to ${String(max)}, not "${text}".`);
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
