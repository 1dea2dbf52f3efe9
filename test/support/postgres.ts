/**
 * A real PostgreSQL for tests, on a Unix socket in a folder of its own, with its syncs as in production. It refuses to run
 * as root, so that root runs it as nobody.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
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

  private constructor() {
    const folder = newFolder("postgres");
    this.#folder = folder;
    this.#data = join(folder, "data");
    this.socketFolder = join(folder, "socket");
  }

  /** Makes a server in a temporary folder and starts it. */
  static async start(): Promise<Postgres> {
    const postgres = new Postgres();
    postgres.#makeFolders();
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

  /**
   * Makes and starts a standby, which follows this server through the socket in a folder.
   * @param sourceFolder folder of this server's socket, or of a proxy before it
   */
  async startStandby(sourceFolder = this.socketFolder): Promise<Postgres> {
    const standby = new Postgres();
    standby.#makeFolders();
    const source = ["-h", sourceFolder, "-p", String(PORT), "-U", "proofwright"];
    const [command, args] = asServer("pg_basebackup", [...source, "-D", standby.#data, "-R", "-X", "stream"]);
    const copy = spawn(command, [...args, "-c", "fast", "--no-sync"], { stdio: "ignore" });
    const [status] = (await once(copy, "exit")) as [number | null];
    if (status !== 0) throw new Error(`pg_basebackup ended with status ${String(status)}`);
    await standby.restart();
    return standby;
  }

  /** Makes each commit wait until a standby has it on its disk. */
  async waitForStandbys(): Promise<void> {
    await this.query("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'");
    await this.query("postgres", "SELECT pg_reload_conf()");
    await eventually(async () => {
      const rows = await this.query("postgres", "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
      if (rows.length === 0) throw new Error("no standby is waited for yet");
    });
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    await this.query("postgres", "SELECT pg_promote(true)");
  }

  #makeFolders(): void {
    mkdirSync(this.#data, { mode: 0o700 });
    mkdirSync(this.socketFolder, { mode: 0o755 });
    if (!isRoot()) return;
    // The run's folder is root's alone; nobody has to pass through it.
    chmodSync(tmpdir(), 0o711);
    for (const path of [this.#folder, this.#data, this.socketFolder]) chownSync(path, NOBODY, NOBODY);
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
