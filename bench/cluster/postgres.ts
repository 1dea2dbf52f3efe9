/** A PostgreSQL of the bench's own, on a Unix socket in a temporary folder, with its syncs as in production. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";

const DEBIAN = "/usr/lib/postgresql";
/** PostgreSQL refuses to run as root. */
const NOBODY = 65534;
const TRIES = 200;
const TRY_MS = 50;

export interface BenchPostgres {
  /** Of the process whose children do the work. */
  readonly pid: number;
  /** Makes an empty database. Returns its URL. */
  newDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** Starts one; undefined where its programs are not installed. */
export async function startPostgres(): Promise<BenchPostgres | undefined> {
  const programs = programsFolder();
  if (programs === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-postgres-"));
  const [data, socket] = [join(folder, "data"), join(folder, "socket")];
  for (const path of [data, socket]) mkdirSync(path, { mode: 0o700 });
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    chmodSync(folder, 0o711);
    for (const path of [data, socket]) chownSync(path, NOBODY, NOBODY);
  }
  const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const initArgs = ["-D", data, "-U", "proofwright", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"];
  execFileSync(join(programs, "initdb"), initArgs, { stdio: "ignore", cwd: "/", ...user });
  const flags = ["-D", data, "-c", "listen_addresses=", "-c", `unix_socket_directories=${socket}`];
  const server = spawn(join(programs, "postgres"), [...flags, "-c", "max_connections=200"], {
    stdio: "ignore",
    cwd: "/",
    ...user,
  });
  const stopNow = (): void => {
    server.kill("SIGQUIT");
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  process.once("exit", stopNow);
  const urlOf = (database: string): string =>
    `postgres://proofwright@localhost/${database}?host=${encodeURIComponent(socket)}`;
  await untilItAnswers(socket, server);
  let databases = 0;
  return {
    pid: server.pid ?? 0,
    newDatabase: async () => {
      databases += 1;
      const name = `bench${String(databases)}`;
      await query(socket, `CREATE DATABASE ${name}`);
      return urlOf(name);
    },
    stop: async () => {
      const ended = once(server, "exit");
      server.kill("SIGINT");
      await ended;
      process.off("exit", stopNow);
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

async function query(socket: string, text: string): Promise<void> {
  const client = new pg.Client({ host: socket, user: "proofwright", database: "postgres" });
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

async function untilItAnswers(socket: string, server: ChildProcess): Promise<void> {
  for (let tries = 0; tries < TRIES && server.exitCode === null; tries += 1) {
    const answers = await query(socket, "SELECT 1").then(
      () => true,
      () => false,
    );
    if (answers) return;
    await delay(TRY_MS);
  }
  throw new Error("PostgreSQL did not start");
}

/** The folder of the newest version: Debian's is not on the path. */
function programsFolder(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(a) - Number(b)) : [];
  const newest = versions.at(-1);
  const onPath = (process.env.PATH ?? "").split(":").find((folder) => existsSync(join(folder, "initdb")));
  return newest === undefined ? onPath : join(DEBIAN, newest, "bin");
}
