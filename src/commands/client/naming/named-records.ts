/** Lets people name records where the server takes ids: a vault by its name, a user by email, an account by address. */
import type { Proofwright } from "../../../sdk/proofwright.js";
import { CommandInput, type CommandSpec } from "../command-spec.js";
import { PLACEHOLDER } from "./reference-words.js";
import type { ClientFlags } from "../signed-in.js";

/** No record has the name that was given, or more than one. */
export class NameError extends Error {
  override readonly name = "NameError";
}

interface NamedRecord {
  readonly id: string;
  readonly name?: string | null;
  readonly email?: string;
  readonly address?: string | null;
}

interface Kind {
  /** The command that shows what there is. */
  readonly list: string;
  /**
   * Records that may have the name.
   * @param vault id of the vault that the command names before it
   */
  readonly find: (client: Proofwright, name: string, vault: string) => readonly AsyncIterable<NamedRecord>[];
  /** Names that the server itself takes. */
  readonly leaves?: RegExp;
}

/** Of an account or a contract on its network. */
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const AMBIGUOUS_SHOWN = 5;

/** By the word that the usage of a command has for it. */
const KINDS: Readonly<Record<string, Kind>> = {
  vault: { list: "vault list", find: (client, name) => [client.vaults.list({ name })] },
  key: { list: "key list VAULT", find: (client, name, vault) => [client.keys.list(vault, { name })] },
  secret: { list: "secret list VAULT", find: (client, name, vault) => [client.secrets.list(vault, { name })] },
  network: {
    list: "network list",
    find: ({ networks }, name) => [networks.list({ name }), networks.list({ name, public: true })],
  },
  account: { list: "account list", find: ({ accounts }) => [accounts.list()] },
  contract: {
    list: "contract list",
    find: ({ contracts }, name) => [ADDRESS.test(name) ? contracts.list() : contracts.list({ name })],
  },
  // `name:tag` is the server's own way.
  prover: { list: "circuit list", find: (client, name) => [client.provers.list({ name })], leaves: /:/ },
  user: { list: "admin users", find: (client, email) => [client.users.list({ email })] },
  session: { list: "admin tokens", find: ({ tokens }) => [tokens.list()] },
};

/**
 * Returns what a command is called with, with ids in place of names.
 * @throws NameError when no record has a name, or several do
 */
export async function withIdsForNames(
  spec: CommandSpec,
  args: readonly unknown[],
  options: Readonly<Record<string, unknown>>,
): Promise<CommandInput> {
  const search = new NameSearch(options);
  const words = [...spec.usage.matchAll(PLACEHOLDER)].map(([, word = ""]) => word);
  const found: unknown[] = [];
  // One after the other: a key is looked for in the vault before it.
  for (const [place, value] of args.entries()) found.push(await search.idOf(words[place] ?? "", value));
  const chosen: Record<string, unknown> = { ...options };
  for (const { flag } of spec.options ?? []) {
    const [, name = "", word = ""] = /^--([\w-]+) <([\w-]+)>$/.exec(flag) ?? [];
    if (name in chosen) chosen[name] = await search.idOf(word, chosen[name]);
  }
  return new CommandInput(found, chosen);
}

function isNamed({ name: own, email, address }: NamedRecord, name: string): boolean {
  if (ADDRESS.test(name)) return address?.toLowerCase() === name.toLowerCase();
  return email === undefined ? own === name : email.toLowerCase() === name.toLowerCase();
}

class NameSearch {
  readonly #flags: ClientFlags;
  #vault = "";

  constructor(flags: ClientFlags) {
    this.#flags = flags;
  }

  /** Returns the id where the value is the name of a record, and otherwise the value. */
  async idOf(word: string, value: unknown): Promise<unknown> {
    const kind = Object.hasOwn(KINDS, word) ? KINDS[word] : undefined;
    if (kind === undefined || typeof value !== "string") return value;
    const isName = value !== "" && !UUID.test(value) && kind.leaves?.test(value) !== true;
    const id = isName ? await this.#find(word, kind, value) : value;
    if (word === "vault") this.#vault = id;
    return id;
  }

  async #find(word: string, { list, find }: Kind, name: string): Promise<string> {
    const { signedIn } = await import("../signed-in.js");
    const ids = new Set<string>();
    for (const records of find(await signedIn(this.#flags), name, this.#vault)) {
      for await (const record of records) if (isNamed(record, name)) ids.add(record.id);
      if (ids.size > 0) break;
    }
    const [id, ...others] = ids;
    if (id === undefined)
      throw new NameError(`there is no ${word} "${name}"; \`proofwright ${list}\` shows what there is`);
    if (others.length === 0) return id;
    const shown = [...ids].slice(0, AMBIGUOUS_SHOWN).join(", ");
    const more = ids.size > AMBIGUOUS_SHOWN ? ", ..." : "";
    throw new NameError(`${String(ids.size)} of the name "${name}" are there: use an id of ${shown}${more}`);
  }
}
