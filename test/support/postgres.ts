/**
 * A real PostgreSQL for tests, on a Unix socket in a folder of its own, with its syncs as in production. It refuses to run
 * as root, so that root runs it as nobody.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { eventually } from "./eventually.js";
import { newFolder, removeFolder } from "./temporary-folder.js";

const DEBIAN = "/usr/lib/postgresql";
const NOBODY = 65534;
const PORT = 5432;
const FLAGS = ["listen_addresses=", "shared_buffers=16MB", "max_connections=50", "autovacuum=off"];

export class Postgres {
  /** Folder of the socket. */
  readonly socketFolder: string;
  readonly #folder: string;
  readonly #data: string;
  #server: ChildProcess | undefined;
  #databases = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#data = join(folder, "data");
    this.socketFolder = join(folder, "socket");
  }

  /** Makes a server in a temporary folder and starts it. */
  static async start(): Promise<Postgres> {
    const folder = newFolder("postgres");
    const postgres = new Postgres(folder);
    mkdirSync(postgres.#data, { mode: 0o700 });
    mkdirSync(postgres.socketFolder, { mode: 0o755 });
    if (isRoot()) {
      // The run's folder is root's alone; nobody has to pass through it.
      chmodSync(tmpdir(), 0o711);
      for (const path of [folder, postgres.#data, postgres.socketFolder]) chownSync(path, NOBODY, NOBODY);
    }
    const [command, args] = asServer("initdb", [
      "-D",
      postgres.#data,
      "-U",
      "proofwright",
      "-A",
      "trust",
      "-E",
      "UTF8",
    ]);
    execFileSync(command, [...args, "--no-locale", "--no-sync"], { stdio: "ignore" });
    await postgres.restart();
    return postgres;
  }

  /** URL of a database, over the real socket or one of a proxy in another folder. */
  urlOf(database: string, socketFolder = this.socketFolder): string {
    return `postgres://proofwright@localhost/${database}?host=${encodeURIComponent(socketFolder)}`;
  }

  /** Makes an empty database. Returns its name. */
  async newDatabase(): Promise<string> {
    this.#databases += 1;
    const name = `test${String(this.#databases)}`;
    await this.query("postgres", `CREATE DATABASE ${name}`);
    return name;
  }

  /** Runs one statement. */
  async query(database: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ host: this.socketFolder, port: PORT, user: "proofwright", database });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Runs a statement in a transaction that stays open. Returns what ends it. */
  async hold(database: string, text: string): Promise<() => Promise<void>> {
    const client = new pg.Client({ host: this.socketFolder, port: PORT, user: "proofwright", database });
    await client.connect();
    await client.query("BEGIN");
    await client.query(text);
    return async () => {
      await client.query("ROLLBACK");
      await client.end();
    };
  }

  /** Ends the server as a crash does: nothing is flushed, the log is recovered at the next start. */
  async crash(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGQUIT");
    await ended;
  }

  /** Starts the server again, and waits until it answers. */
  async restart(): Promise<void> {
    const settings = [...FLAGS, `unix_socket_directories=${this.socketFolder}`].flatMap((setting) => ["-c", setting]);
    const [command, args] = asServer("postgres", ["-D", this.#data, "-p", String(PORT), ...settings]);
    this.#server = spawn(command, args, { stdio: "ignore" });
    await eventually(async () => await this.query("postgres", "SELECT 1"));
  }

  /** Ends the server and removes its folder. */
  async dispose(): Promise<void> {
    await this.crash();
    removeFolder(this.#folder);
  }
}

/** Returns the command line that runs a program of PostgreSQL as a user that it accepts. */
function asServer(program: string, args: readonly string[]): readonly [command: string, args: string[]] {
  const path = join(binaries(), program);
  if (!isRoot()) return [path, [...args]];
  const user = `--reuid=${String(NOBODY)}`;
  return ["setpriv", [user, `--regid=${String(NOBODY)}`, "--clear-groups", path, ...args]];
}

/** The folder of the newest version that Debian installed, which is not on the path. */
function binaries(): string {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(a) - Number(b)) : [];
  const newest = versions.at(-1);
  if (newest === undefined) throw new Error(`these tests need PostgreSQL in ${DEBIAN}: apt-get install postgresql`);
  return join(DEBIAN, newest, "bin");
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
