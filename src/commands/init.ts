/**
 * `proofwright init`: a new installation in one go: its seal key, its first administrator and its settings. On a
 * terminal it asks for what no flag tells. The seal key is shown on the terminal alone, or written to the private file
 * that the operator names; it is never part of the data folder, and never written where output may be kept.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { createInterface } from "node:readline/promises";
import { SEAL_ENTROPY_BYTES, entropyPhrase, validationHash } from "../crypto/wallets/seal-phrase.js";
import { systemClock } from "../platform/clock.js";
import { isLoopback } from "../platform/config.js";
import { createPrivateFile } from "../platform/files/private-file.js";
import { createLog } from "../platform/log.js";
import { StartError } from "../platform/start-error.js";
import { openStore } from "../platform/store/lmdb/lmdb-store.js";
import { admitSealStart } from "../vault/seal/start-mode.js";
import { runCreateAdmin } from "./create-admin.js";
import { readPhrases } from "./read-phrases.js";

export interface InitInput {
  readonly dataDir: string;
  /** The URL at which clients reach the server; asked for on a terminal when absent, as the e-mail address is. */
  readonly issuer?: string | undefined;
  readonly email?: string | undefined;
  readonly firstName: string;
  readonly lastName: string;
  /** A new file for the 24 words, made with mode 0600. */
  readonly sealKeyTo?: string | undefined;
  /** A new file for the settings, which are no secret. */
  readonly configTo?: string | undefined;
}

/** Where the command reads and writes; the process's own streams, but in tests. */
export interface InitTerminal {
  /** Whether a person reads the output, and nothing keeps it. */
  readonly showsSecrets: boolean;
  /** Undefined where nobody can be asked. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  readonly readPassword: () => Promise<Uint8Array>;
  readonly write: (text: string | Uint8Array) => void;
}

interface Answers {
  readonly issuer: string;
  readonly email: string;
  readonly password: Uint8Array;
}

const OF_THE_VOLUME: ReadonlySet<string> = new Set(["lost+found"]);

/**
 * Sets up an empty or new data folder for production. Returns exit status 0; when it throws, nothing is left.
 * @throws StartError when the folder has data, an answer is missing or not valid, or a file exists already
 */
export async function runInit(input: InitInput, terminal: InitTerminal = processTerminal()): Promise<number> {
  const dataDir = resolve(input.dataDir);
  await requireNewPlaces(dataDir, input);
  if (input.sealKeyTo === undefined && !terminal.showsSecrets)
    throw new StartError(
      "the seal key is shown on a terminal only, because other output may be kept: name a new file for it with --seal-key-to=FILE.",
    );
  const answers = await answersOf(input, terminal);
  const entropy = randomBytes(SEAL_ENTROPY_BYTES);
  const phrase = entropyPhrase(entropy);
  entropy.fill(0);
  const written: string[] = [];
  try {
    const settings = settingsOf(dataDir, answers.issuer, `0x${Buffer.from(validationHash(phrase)).toString("hex")}`);
    await createStore({ ...input, dataDir }, answers, settings.seal_unseal_validation_hash);
    if (input.sealKeyTo !== undefined)
      await writeNew(input.sealKeyTo, Buffer.concat([phrase, Buffer.from("\n")]), written);
    if (input.configTo !== undefined)
      await writeNew(input.configTo, Buffer.from(`${JSON.stringify(settings, null, 2)}\n`), written);
    tell({ input, terminal, settings, phrase });
    return 0;
  } catch (error) {
    for (const path of written) await rm(path, { force: true });
    await emptyFolder(dataDir);
    throw error;
  } finally {
    phrase.fill(0);
    answers.password.fill(0);
  }
}

async function requireNewPlaces(dataDir: string, { sealKeyTo, configTo }: InitInput): Promise<void> {
  const present = existsSync(dataDir) ? (await readdir(dataDir)).filter((name) => !OF_THE_VOLUME.has(name)) : [];
  if (present.length > 0)
    throw new StartError(
      `${dataDir} is not empty (${present.slice(0, 3).join(", ")}): init sets up a new installation; to add an administrator, use create-admin.`,
    );
  for (const path of [sealKeyTo, configTo])
    if (path !== undefined && existsSync(path)) throw new StartError(`${path} exists already; name a new file.`);
  if (sealKeyTo !== undefined && resolve(sealKeyTo).startsWith(`${dataDir}${sep}`))
    throw new StartError(
      "--seal-key-to must not lie in the data folder: whoever copies that would have the key as well.",
    );
}

async function answersOf(input: InitInput, { ask, readPassword }: InitTerminal): Promise<Answers> {
  const told = async (value: string | undefined, flag: string, question: string): Promise<string> => {
    if (value !== undefined) return value;
    if (ask === undefined) throw new StartError(`--${flag} is missing, and nobody can be asked: this is no terminal.`);
    return (await ask(question)).trim();
  };
  const issuer = await told(
    input.issuer,
    "issuer",
    "URL at which clients reach the server, such as https://zk.example.com: ",
  );
  requireIssuer(issuer);
  const email = await told(input.email, "email", "e-mail address of the administrator: ");
  return { issuer, email, password: await readPassword() };
}

/** Tokens name the issuer, and clients compare it letter by letter (RFC 8414 section 2: no query, no fragment). */
function requireIssuer(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (url === undefined || !isSafe || url.search !== "" || url.hash !== "" || url.username !== "" || text.endsWith("/"))
    throw new StartError(
      `${JSON.stringify(text)} cannot be the issuer: it must be an https URL without a slash at its end, query or user.`,
    );
}

function settingsOf(dataDir: string, issuer: string, hash: string) {
  return { mode: "production", data_dir: dataDir, issuer, seal_unseal_validation_hash: hash } as const;
}

/** Makes the store with its administrator, and remembers that it is one of production. */
async function createStore(
  { dataDir, firstName, lastName }: InitInput,
  { email, password }: Answers,
  validationHashText: string,
): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const readPassword = (): Promise<Uint8Array> => Promise.resolve(password);
  await runCreateAdmin({ dataDir, email, firstName, lastName, promote: false, readPassword });
  const store = await openStore({ path: join(dataDir, "store") }, { log: createLog("error") });
  try {
    await admitSealStart(
      { mode: "production", makesOwnKey: false, dataDir, validationHash: validationHashText },
      { store, clock: systemClock },
    );
  } finally {
    await store.close();
  }
}

async function writeNew(path: string, content: Uint8Array, written: string[]): Promise<void> {
  try {
    if (!(await createPrivateFile(resolve(path), content)))
      throw new StartError(`${path} exists already; name a new file.`);
  } finally {
    content.fill(0);
  }
  written.push(path);
}

/** Removes what this run has made; the folder was empty before. */
async function emptyFolder(dataDir: string): Promise<void> {
  const names = existsSync(dataDir) ? await readdir(dataDir) : [];
  for (const name of names)
    if (!OF_THE_VOLUME.has(name)) await rm(join(dataDir, name), { recursive: true, force: true });
}

function tell({
  input: { sealKeyTo, configTo },
  terminal: { write },
  settings,
  phrase,
}: {
  readonly input: InitInput;
  readonly terminal: InitTerminal;
  readonly settings: ReturnType<typeof settingsOf>;
  readonly phrase: Uint8Array;
}): void {
  if (sealKeyTo === undefined) {
    write("\nThe seal key, 24 words. It is shown once and kept nowhere:\n\n");
    write(phrase);
    write("\n\nWrite it down and keep it where you keep your most valuable secrets.");
  } else
    write(
      `\nThe seal key, 24 words, is in ${resolve(sealKeyTo)}. Move it to where you keep your most valuable secrets, away from this machine.`,
    );
  write(" Who has it opens the vault; without it the vault is lost for good.\n\n");
  write(
    configTo === undefined
      ? `Settings, none of them secret:\n\nPROOFWRIGHT_MODE=${settings.mode}\nPROOFWRIGHT_DATA_DIR=${settings.data_dir}\nPROOFWRIGHT_ISSUER=${settings.issuer}\nSEAL_UNSEAL_VALIDATION_HASH=${settings.seal_unseal_validation_hash}\n`
      : `The settings, none of them secret, are in ${resolve(configTo)}: start with \`proofwright server --config=${configTo}\`.\n`,
  );
  write(
    "\nAfter each start, unseal with POST /api/v1/unseal. Then try a backup: `proofwright backup --to=FOLDER --keys-to=FOLDER`.\n",
  );
}

function processTerminal(): InitTerminal {
  const isTerminal = process.stdin.isTTY;
  return {
    showsSecrets: process.stdout.isTTY,
    ask: isTerminal ? askOnTerminal : undefined,
    readPassword: async () => {
      const [first, second] = await readPhrases(
        isTerminal ? ["password of the administrator", "the password again"] : ["password of the administrator"],
      );
      if (first === undefined) throw new StartError("a password is needed.");
      if (second !== undefined && Buffer.compare(first, second) !== 0)
        throw new StartError("the two passwords are not the same.");
      second?.fill(0);
      return first;
    },
    write: (text) => process.stdout.write(text),
  };
}

async function askOnTerminal(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}
