/** How people may name a record, by the word that a command's usage has for it; for help and COMMANDS.md. */
import type { CommandSpec } from "../command-spec.js";

/** Words of a usage or a flag that stand for what people fill in. */
export const PLACEHOLDER = /[<[]([\w-]+)(?:\.\.\.)?[>\]]/g;

/** What named-records.ts resolves for each word. */
const WAYS: Readonly<Record<string, string>> = {
  vault: "a vault's name or id",
  key: "a key's name or id",
  secret: "a secret's name or id",
  network: "a network's name or id",
  account: "an account's address or id",
  contract: "a contract's name, address or id",
  prover: "a prover's name, `name:tag` or id",
  user: "a user's email address or id",
  session: "the id of a token or session, or a token's name",
};

/** Returns how the record of a word may be named; undefined where it is no record's. */
export function wayToName(word: string): string | undefined {
  return Object.hasOwn(WAYS, word) ? WAYS[word] : undefined;
}

/** Returns the words of a command, arguments first, with how each may be filled in. */
export function waysToName({
  usage,
  options = [],
}: Pick<CommandSpec, "usage" | "options">): (readonly [string, string])[] {
  const texts = [usage, ...options.map(({ flag }) => flag)];
  const words = texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)].map(([, word = ""]) => word));
  return [...new Set(words)].flatMap((word) => {
    const way = wayToName(word);
    return way === undefined ? [] : [[word, way] as const];
  });
}
